package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/renderstore"
)

// patience is how long a test waits for what the manager should do by itself.
const patience = time.Minute

// team is a namespace with Releases, and a render store.
type team struct {
	*testing.T
	env       *testenv.Environment
	namespace string
	storeDir  string // of the render store
}

// newTeam makes a namespace. Its Releases do not outlive the test, or the managers of other tests would work on them.
func newTeam(t *testing.T) *team {
	t.Helper()
	env := testenv.Shared(t)
	w := &team{T: t, env: env, namespace: env.Namespace(t), storeDir: t.TempDir()}
	t.Cleanup(w.forget)
	return w
}

// forget takes the Releases of the team out of the cluster.
func (w *team) forget() {
	var releases v1alpha1.ReleaseList
	w.must(w.env.Client.List(context.Background(), &releases, client.InNamespace(w.namespace)))
	for _, release := range releases.Items {
		err := w.env.Client.Patch(context.Background(), &release, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		w.must(client.IgnoreNotFound(err))
		w.must(client.IgnoreNotFound(w.env.Client.Delete(context.Background(), &release)))
	}
}

func (w *team) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until check finds nothing wrong any more.
func (w *team) eventually(what string, check func() error) {
	w.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("waited for %s: %v", what, errors.Join(last, err))
	}
}

// setSource makes the ConfigMap "source" hold exactly these files.
func (w *team) setSource(files map[string]string) {
	w.Helper()
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "source"}}
	err := w.env.Client.Get(w.Context(), client.ObjectKeyFromObject(source), source)
	source.Data = files
	if apierrors.IsNotFound(err) {
		w.must(w.env.Client.Create(w.Context(), source))
		return
	}
	w.must(err)
	w.must(w.env.Client.Update(w.Context(), source))
}

// fromSource deploys what the ConfigMap "source" holds.
func fromSource(r *v1alpha1.Release) {
	r.Spec.Source = v1alpha1.Source{From: &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "source"}}
}

// create makes a Release after the changes.
func (w *team) create(name string, changes ...func(*v1alpha1.Release)) {
	w.Helper()
	release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	for _, change := range changes {
		change(release)
	}
	w.must(w.env.Client.Create(w.Context(), release))
}

// edit changes a Release as a user would.
func (w *team) edit(name string, change func(*v1alpha1.Release)) {
	w.Helper()
	release := w.get(name)
	base := release.DeepCopy()
	change(release)
	w.must(w.env.Client.Patch(w.Context(), release, client.MergeFrom(base)))
}

// get reads a Release.
func (w *team) get(name string) *v1alpha1.Release {
	w.Helper()
	release := &v1alpha1.Release{}
	w.must(w.env.Client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, release))
	return release
}

// value reads the key of a ConfigMap.
func (w *team) value(name string) (string, error) {
	cm := &corev1.ConfigMap{}
	err := w.env.Client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, cm)
	return cm.Data["key"], err
}

// awaitValue waits until a ConfigMap holds a value.
func (w *team) awaitValue(name, want string) {
	w.Helper()
	w.eventually(fmt.Sprintf("ConfigMap %s to hold %q", name, want), func() error {
		got, err := w.value(name)
		if err == nil && got != want {
			err = fmt.Errorf("it holds %q", got)
		}
		return err
	})
}

// awaitCondition waits until a condition of a Release says "status reason" for its present spec.
func (w *team) awaitCondition(name, condition, want string) *v1alpha1.Release {
	w.Helper()
	var release *v1alpha1.Release
	w.eventually(fmt.Sprintf("%s of Release %s to be %s", condition, name, want), func() error {
		release = w.get(name)
		c := meta.FindStatusCondition(release.Status.Conditions, condition)
		switch {
		case c == nil:
			return errors.New("it has no such condition")
		case string(c.Status)+" "+c.Reason != want || c.ObservedGeneration != release.Generation:
			return fmt.Errorf("it is %s %s for generation %d of %d: %s", c.Status, c.Reason, c.ObservedGeneration, release.Generation, c.Message)
		}
		return nil
	})
	return release
}

// awaitReleaseGone waits until a Release is not there.
func (w *team) awaitReleaseGone(name string) {
	w.Helper()
	w.eventually("Release "+name+" to be gone", func() error {
		err := w.env.Client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &v1alpha1.Release{})
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// storeURL is the render store in storeDir.
func (w *team) storeURL() string {
	return "file://" + filepath.ToSlash(w.storeDir) + "?no_tmp_dir=true"
}

// archive opens the part of the store that belongs to a Release.
func (w *team) archive(name string) *renderstore.Archive {
	w.Helper()
	store, err := renderstore.Open(w.Context(), w.storeURL())
	w.must(err)
	w.Cleanup(func() { w.must(store.Close()) })
	return store.Archive(w.namespace, name)
}

// configMap is the manifest of a ConfigMap with one key, in a wave.
func configMap(name, value string, wave int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  annotations: {convoy.dev/sync-wave: \"%d\"}\ndata: {key: %q}\n",
		name, wave, value)
}
