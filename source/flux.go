package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// FluxVersion is the API of Flux's sources.
var FluxVersion = schema.GroupVersion{Group: "source.toolkit.fluxcd.io", Version: "v1"}

// FluxKinds are the kinds of Flux whose objects have an artifact.
var FluxKinds = []v1alpha1.FromKind{
	v1alpha1.FromGitRepository, v1alpha1.FromOCIRepository, v1alpha1.FromBucket, v1alpha1.FromHelmChart, v1alpha1.FromExternalArtifact,
}

// fluxFetcher fetches the artifacts of Flux's sources for all Releases.
type fluxFetcher struct {
	downloader

	objects objectReader
}

// fluxObject is what convoy reads of an object of Flux.
type fluxObject struct {
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		Artifact   *struct {
			URL      string `json:"url"`
			Digest   string `json:"digest"`
			Revision string `json:"revision"`
		} `json:"artifact"`
	} `json:"status"`
}

// fluxArtifact is an artifact of Flux. That the object names it is the proof that its namespace may have it.
type fluxArtifact struct {
	fetcher *fluxFetcher
	object  string // <namespace>/<kind>/<name>
	from    string // the Artifact.Origin
	url     *url.URL
	digest  string // "sha256:<hex>"
	named   string // the revision
}

// fetch returns the files of the artifact that an object of Flux has now.
func (f *fluxFetcher) fetch(ctx context.Context, namespace string, src *v1alpha1.FromSource, maxAge time.Duration) (*Artifact, error) {
	origin := OriginOf(v1alpha1.Source{From: src})
	found, err := f.read(ctx, namespace, src)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", origin, err)
	}
	artifact, err := f.broker.artifact(ctx, found, maxAge)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: artifact %s: %w", origin, found.named, err)
	}
	return artifact, nil
}

// read finds the artifact in the status of the object.
func (f *fluxFetcher) read(ctx context.Context, namespace string, src *v1alpha1.FromSource) (fluxArtifact, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(FluxVersion.WithKind(string(src.Kind)))
	err := f.objects.get(ctx, string(src.Kind), namespace, src.Name, obj)
	if meta.IsNoMatchError(err) {
		return fluxArtifact{}, fmt.Errorf("the cluster does not have the kind %s of %s: is Flux installed?", src.Kind, FluxVersion)
	}
	if err != nil {
		return fluxArtifact{}, err
	}
	name := fmt.Sprintf("%s %s/%s", src.Kind, namespace, src.Name)
	var object fluxObject
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &object); err != nil {
		return fluxArtifact{}, fmt.Errorf("read the status of %s: %w", name, err)
	}
	found, err := object.artifact()
	if err != nil {
		return fluxArtifact{}, fmt.Errorf("%s %w", name, err)
	}
	found.fetcher, found.object, found.from = f, namespace+"/"+string(src.Kind)+"/"+src.Name, OriginOf(v1alpha1.Source{From: src})
	return found, nil
}

// artifact is the artifact that the status names, unless Flux says that the object is broken.
func (o fluxObject) artifact() (fluxArtifact, error) {
	reason := ""
	ready := meta.FindStatusCondition(o.Status.Conditions, "Ready")
	if ready != nil && ready.Message != "" {
		reason = ": " + clean(ready.Message, nil)
	}
	a := o.Status.Artifact
	switch {
	case ready != nil && ready.Status == metav1.ConditionFalse:
		return fluxArtifact{}, fmt.Errorf("is not ready%s", reason)
	case a == nil || a.URL == "":
		return fluxArtifact{}, fmt.Errorf("has no artifact yet%s", reason)
	case a.Revision == "":
		return fluxArtifact{}, errors.New("has an artifact without a revision")
	case !sha256Digest.MatchString(a.Digest):
		return fluxArtifact{}, fmt.Errorf("has an artifact with the digest %.100q, and convoy checks sha256 alone", a.Digest)
	}
	u, err := parseURL(a.URL, "http://source-controller.flux-system/a.tar.gz", schemeHTTPS, schemeHTTP)
	if err != nil {
		return fluxArtifact{}, fmt.Errorf("has an artifact that cannot be downloaded: %w", err)
	}
	return fluxArtifact{url: u, digest: a.Digest, named: clean(a.Revision, nil)}, nil
}

var sha256Digest = regexp.MustCompile("^sha256:[0-9a-f]{64}$")

// key implements remote. A changed object is another remote, which is not held up by what became of the one before.
func (a fluxArtifact) key() string {
	return fmt.Sprintf("flux %q %q %q %q", a.object, a.url, a.digest, a.named)
}

// origin implements remote.
func (a fluxArtifact) origin() string { return a.from }

// resolve implements remote. The object has said all.
func (a fluxArtifact) resolve(context.Context) (resolved, error) { return a, nil }

// revision implements resolved.
func (a fluxArtifact) revision() string { return a.named }

// contentKey implements resolved.
func (a fluxArtifact) contentKey() string {
	return filepath.Join(scopeKey("flux", a.object), strings.TrimPrefix(a.digest, sha256Prefix))
}

// download implements resolved.
func (a fluxArtifact) download(ctx context.Context, dir *os.Root) error {
	return a.fetcher.unpackExactly(ctx, download{url: a.url, what: "artifact"}, a.digest, dir)
}

// close implements resolved.
func (a fluxArtifact) close() {}
