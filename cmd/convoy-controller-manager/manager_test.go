package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

// serveGit serves a new repository, app.git, with these files.
func (w *team) serveGit(o gitserver.Options, files map[string]string) (*gitserver.Repository, *gitserver.Server) {
	w.Helper()
	root := w.TempDir()
	repo, err := gitserver.Init(filepath.Join(root, "app.git"))
	w.must(err)
	_, err = repo.Commit("first", files)
	w.must(err)
	server, err := gitserver.Start(root, o)
	w.must(err)
	w.Cleanup(func() { w.must(server.Stop()) })
	return repo, server
}

func TestFollowsAGitRepository(t *testing.T) {
	w := newTeam(t)
	repo, server := w.serveGit(gitserver.Options{}, map[string]string{"deploy/a.yaml": configMap("a", "one", 0), "README.md": "# App\n"})
	first, err := repo.Git("rev-parse", "HEAD")
	w.must(err)
	startManager(t, w.env.Kubeconfig, "--render-store-url="+w.storeURL())
	w.create("app", hourly, func(r *v1alpha1.Release) {
		r.Spec.Source.Git = &v1alpha1.GitSource{URL: server.URL("app.git"), Path: "deploy"}
	})
	release := w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	w.awaitValue("a", "one")
	if want := "main@sha1:" + first; release.Status.LastSuccessful.Revision != want {
		t.Errorf("revision %s, want %s", release.Status.LastSuccessful.Revision, want)
	}

	// A change of the spec asks the source again, however young the last answer is.
	second, err := repo.Commit("second", map[string]string{"deploy/a.yaml": configMap("a", "two", 0)})
	w.must(err)
	w.edit("app", func(r *v1alpha1.Release) { r.Spec.Timeout = metav1.Duration{Duration: time.Minute} })
	w.awaitValue("a", "two")
	w.awaitHistory("app", 2)
	entries, err := w.archive("app").History(t.Context())
	w.must(err)
	for i, commit := range []string{second, first} {
		got, err := w.archive("app").Summary(t.Context(), entries[i])
		w.must(err)
		if want := server.URL("app.git") + "@main@sha1:" + commit; got != want {
			t.Errorf("history entry %d: %s, want %s", i, got, want)
		}
	}
}

// awaitHistory waits until the status counts this many history entries.
func (w *team) awaitHistory(name string, count int32) {
	w.Helper()
	w.eventually(fmt.Sprint("a history of ", count), func() error {
		got := w.get(name).Status.ResolvedRetentionPolicy
		if got == nil || got.HistoryCount != count {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
}

func TestReactsToItsConfigMapAtOnce(t *testing.T) {
	w := newTeam(t)
	w.setSource(map[string]string{"a.yaml": configMap("a", "one", 0)})
	startManager(t, w.env.Kubeconfig)
	w.create("app", fromSource, hourly)
	w.awaitValue("a", "one")
	w.setSource(map[string]string{"a.yaml": configMap("a", "two", 0)})
	w.awaitValue("a", "two")
}

func TestReactsToItsSecretAtOnce(t *testing.T) {
	w := newTeam(t)
	startManager(t, w.env.Kubeconfig)
	w.create("app", hourly, func(r *v1alpha1.Release) {
		r.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromSecret, Name: "source"}
	})
	w.awaitCondition("app", v1alpha1.ConditionRendered, "False SourceFailed")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "source"}}
	secret.StringData = map[string]string{"a.yaml": configMap("a", "one", 0)}
	w.must(w.env.Client.Create(t.Context(), secret))
	w.awaitValue("a", "one")
	secret.StringData = map[string]string{"a.yaml": configMap("a", "two", 0)}
	w.must(w.env.Client.Update(t.Context(), secret))
	w.awaitValue("a", "two")
}

// hourly makes the interval so long that a test does not see its end.
func hourly(r *v1alpha1.Release) { r.Spec.Interval = metav1.Duration{Duration: time.Hour} }

// awaitWatched deletes a ConfigMap of a Release, and waits until it is back.
func (w *team) awaitWatched(name, value string) {
	w.Helper()
	w.must(w.env.Client.Delete(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}))
	w.awaitValue(name, value)
}

func TestPutsRightAtOnceWhatSomebodyChanges(t *testing.T) {
	w := newTeam(t)
	w.setSource(map[string]string{"a.yaml": configMap("a", "right", 0)})
	startManager(t, w.env.Kubeconfig)
	w.create("app", fromSource, hourly)
	w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}}
	patch := func(patch string) {
		t.Helper()
		w.must(w.env.Client.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("somebody")))
	}

	patch(`{"data":{"key":"wrong"}}`)
	w.awaitValue("a", "right")

	w.awaitWatched("a", "right")

	patch(`{"metadata":{"labels":null}}`)
	w.eventually("the owner labels to be back", func() error {
		err := w.env.Client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm)
		if err == nil && cm.Labels[v1alpha1.ReleaseNameLabel] != "app" {
			err = fmt.Errorf("its labels are %v", cm.Labels)
		}
		return err
	})
}
