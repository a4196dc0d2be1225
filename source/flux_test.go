package source

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// fluxStatus is an object of Flux with this status.
func fluxStatus(kind v1alpha1.FromKind, status map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	obj.SetGroupVersionKind(FluxVersion.WithKind(string(kind)))
	obj.SetNamespace(namespace)
	obj.SetName("app")
	return obj
}

// withArtifact is an object of Flux whose artifact is at a URL.
func withArtifact(kind v1alpha1.FromKind, url, revision string, content []byte) *unstructured.Unstructured {
	return fluxStatus(kind, map[string]any{"artifact": map[string]any{"url": url, "digest": sumOf(content), "revision": revision}})
}

func condition(status, message string) []any {
	return []any{map[string]any{"type": "Ready", "status": status, "reason": "Any", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}}
}

func TestTheArtifactOfEveryKindOfFluxIsASource(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, nil)
	for _, kind := range FluxKinds {
		w.cluster.set(withArtifact(kind, server.URL+"/a.tar.gz", "main@sha1:6b0c", content))
		a := w.fetch(fromRequest(kind, "app"))
		if want := string(kind) + "/app@main@sha1:6b0c"; a.Summary() != want {
			t.Errorf("summary %s, want %s", a.Summary(), want)
		}
		wantFiles(t, a.FS, appFiles)
	}
	server.wantCounts(t, 5, 5)
}

func TestAnArtifactOfFluxIsDownloadedOnce(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, nil)
	w.cluster.set(withArtifact(v1alpha1.FromGitRepository, server.URL+"/a.tar.gz", "main@sha1:1", content))
	req := fromRequest(v1alpha1.FromGitRepository, "app")
	w.fetch(req)
	server.set(nil, http.NotFound)
	w.fetch(req)
	w.restart()
	wantFiles(t, w.fetch(req).FS, appFiles)
	server.wantCounts(t, 1, 1)
}

func TestAChangedObjectOfFluxIsFollowedAtOnce(t *testing.T) {
	w := newWorldWithoutGit(t)
	old := tarFiles(t, appFiles)
	server := serveFile(t, old, nil)
	w.cluster.set(withArtifact(v1alpha1.FromBucket, server.URL+"/1.tar.gz", "1", old))
	req := fromRequest(v1alpha1.FromBucket, "app")
	req.MaxAge = time.Hour
	first := w.fetch(req)

	changed := map[string]string{"app.yaml": "version: 2\n"}
	w.cluster.set(withArtifact(v1alpha1.FromBucket, server.URL+"/2.tar.gz", "2", tarFiles(t, changed)))
	w.fail(req, "fetch Bucket/app: artifact 2: the digest of what the server sends is "+sumOf(old)) // not there yet
	server.set(tarFiles(t, changed), nil)
	w.cluster.set(withArtifact(v1alpha1.FromBucket, server.URL+"/3.tar.gz", "3", tarFiles(t, changed)))
	a := w.fetch(req)
	if a.Revision != "3" {
		t.Errorf("revision %s", a.Revision)
	}
	wantFiles(t, a.FS, changed)
	wantFiles(t, first.FS, appFiles)
}

func TestAnArtifactWithAnotherDigestIsRefused(t *testing.T) {
	w := newWorldWithoutGit(t)
	server := serveFile(t, tarFiles(t, map[string]string{"evil.yaml": "evil\n"}), nil)
	w.cluster.set(withArtifact(v1alpha1.FromGitRepository, server.URL+"/a.tar.gz", "1", tarFiles(t, appFiles)))
	w.fail(fromRequest(v1alpha1.FromGitRepository, "app"), "fetch GitRepository/app: artifact 1: the digest of what the server sends is sha256:")
	w.wantCached()
	w.wantNoLeftovers()
}

func TestAnObjectOfFluxWithoutAnArtifactIsNamedWithItsMessage(t *testing.T) {
	w := newWorldWithoutGit(t)
	artifact := func(url, digest, revision string) map[string]any {
		return map[string]any{"artifact": map[string]any{"url": url, "digest": digest, "revision": revision}}
	}
	const sum = "sha256:b8b6d9c85cc37db860f808ab6251044ae69d6f674f59bf645e0c09c1c315898d"
	notReady := artifact("http://source/a.tar.gz", sum, "1")
	notReady["conditions"] = condition("False", "failed to checkout:\nno such branch")
	for name, test := range map[string]struct {
		status map[string]any
		want   string
	}{
		"nothing yet":           {nil, "GitRepository team/app has no artifact yet"},
		"in progress":           {map[string]any{"conditions": condition("Unknown", "building artifact")}, "has no artifact yet: building artifact"},
		"failed":                {map[string]any{"conditions": condition("False", "no such branch")}, "GitRepository team/app is not ready: no such branch"},
		"failed, with an old":   {notReady, "GitRepository team/app is not ready: failed to checkout: no such branch"},
		"no digest":             {artifact("http://source/a.tar.gz", "", "1"), `an artifact with the digest "", and convoy checks sha256 alone`},
		"another algorithm":     {artifact("http://source/a.tar.gz", "blake3:12", "1"), `an artifact with the digest "blake3:12"`},
		"no revision":           {artifact("http://source/a.tar.gz", sum, ""), "has an artifact without a revision"},
		"a URL that is a file":  {artifact("file:///etc/passwd", sum, "1"), "the url must start with https:// or http://"},
		"a URL with a password": {artifact("http://bob:s3cr3t@source/a.tar.gz", sum, "1"), "the url must not contain credentials"},
		"no status of Flux":     {map[string]any{"artifact": "yes"}, "read the status of GitRepository team/app"},
	} {
		t.Run(name, func(t *testing.T) {
			w.cluster.set(fluxStatus(v1alpha1.FromGitRepository, test.status))
			err := w.failure(fromRequest(v1alpha1.FromGitRepository, "app"), "fetch GitRepository/app: ", test.want)
			if strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestAnObjectOfFluxInProgressKeepsItsLastArtifact(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, nil)
	obj := withArtifact(v1alpha1.FromOCIRepository, server.URL+"/a.tar.gz", "1", content)
	obj.Object["status"].(map[string]any)["conditions"] = condition("Unknown", "new revision")
	w.cluster.set(obj)
	wantFiles(t, w.fetch(fromRequest(v1alpha1.FromOCIRepository, "app")).FS, appFiles)
}

func TestAnObjectOfFluxThatCannotBeReadIsNamed(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	req := fromRequest(v1alpha1.FromHelmChart, "app")
	w.fail(req, "fetch HelmChart/app: HelmChart team/app does not exist")
	w.cluster.set(withArtifact(v1alpha1.FromHelmChart, "http://127.0.0.1:1/a", "1", content))
	other := req
	other.Namespace = "other"
	w.fail(other, "HelmChart other/app does not exist")
	w.fail(fromRequest(v1alpha1.FromBucket, "app"), "Bucket team/app does not exist")
	w.cluster.err = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: FluxVersion.Group, Kind: "HelmChart"}}
	w.fail(req, "the cluster does not have the kind HelmChart of source.toolkit.fluxcd.io/v1: is Flux installed?")
}

func TestAnArtifactOfFluxIsNotSharedBetweenNamespaces(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, nil)
	obj := withArtifact(v1alpha1.FromExternalArtifact, server.URL+"/a.tar.gz", "1", content)
	guess := obj.DeepCopy() // of one who knows the digest, and no more
	guess.SetNamespace("other")
	guess.Object["status"].(map[string]any)["artifact"].(map[string]any)["url"] = "http://127.0.0.1:1/a.tar.gz"
	w.cluster.set([]client.Object{obj, guess}...)
	w.fetch(fromRequest(v1alpha1.FromExternalArtifact, "app"))
	req := fromRequest(v1alpha1.FromExternalArtifact, "app")
	req.Namespace = "other"
	w.fail(req, "connection refused")
}
