package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Defaults of Options.
const (
	DefaultCacheSize       = 2 << 30
	DefaultMaxArtifactSize = 256 << 20
	DefaultResolveTimeout  = 60 * time.Second
	DefaultDownloadTimeout = 5 * time.Minute
)

// Options are what a Fetcher needs to work.
type Options struct {
	// Reader reads ConfigMaps, Secrets and the objects of Flux, the latter unstructured. Required.
	Reader client.Reader

	// CacheDir is the folder for what was downloaded. It is created if need be, belongs to one process at a time, and what an
	// earlier process left there is used again. Required.
	CacheDir string

	// CacheSize is how many bytes the cache may hold on disk; artifacts in use stay whatever it says. Default 2 GiB.
	CacheSize int64

	// MaxArtifactSize is how many bytes the files of one artifact may hold together. Default 256 MiB.
	MaxArtifactSize int64

	// AllowFileURLs accepts file:// URLs, which are served by the git program of the machine. Default false.
	AllowFileURLs bool

	// Now is the clock. Default time.Now.
	Now func() time.Time

	// ResolveTimeout is how long a server, or Reader, may take to answer what it has. Default 60 s.
	ResolveTimeout time.Duration

	// DownloadTimeout is how long one download may take, with the unpacking. Default 5 min.
	DownloadTimeout time.Duration
}

// resolving is the time in which a server must say what it has.
func (o Options) resolving(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.ResolveTimeout, fmt.Errorf("no answer within %s", o.ResolveTimeout))
}

// downloading is the time in which a download must be complete.
func (o Options) downloading(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.DownloadTimeout, fmt.Errorf("the download is not complete within %s", o.DownloadTimeout))
}

// Request asks for the files of a source.
type Request struct {
	// Namespace is where the source's Secret, or the object that it is, is read.
	Namespace string

	Source v1alpha1.Source

	// MaxAge allows a revision that was resolved less than MaxAge ago to be used again without asking the outside. Zero always asks.
	MaxAge time.Duration
}

// Fetcher turns sources into artifacts. It is safe for concurrent use.
type Fetcher struct {
	objects objectReader
	git     *gitFetcher
	archive *archiveFetcher
	helm    *helmFetcher
	flux    *fluxFetcher
	oci     *ociFetcher
}

// NewFetcher opens the cache and returns a Fetcher on it. It fails if the cache cannot be read or written, or an option makes no
// sense.
func NewFetcher(o Options) (*Fetcher, error) {
	switch {
	case o.Reader == nil:
		return nil, errors.New("open source fetcher: no reader")
	case o.CacheDir == "":
		return nil, errors.New("open source fetcher: no cache directory")
	case o.CacheSize < 0 || o.MaxArtifactSize < 0 || o.ResolveTimeout < 0 || o.DownloadTimeout < 0:
		return nil, errors.New("open source fetcher: a size or timeout is negative")
	}
	o.CacheSize = cmp.Or(o.CacheSize, DefaultCacheSize)
	o.MaxArtifactSize = cmp.Or(o.MaxArtifactSize, DefaultMaxArtifactSize)
	o.ResolveTimeout = cmp.Or(o.ResolveTimeout, DefaultResolveTimeout)
	o.DownloadTimeout = cmp.Or(o.DownloadTimeout, DefaultDownloadTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	cache, err := openCache(o.CacheDir, o.CacheSize, o.Now)
	if err != nil {
		return nil, fmt.Errorf("open source cache %s: %w", o.CacheDir, err)
	}
	objects := objectReader{reader: o.Reader, timeout: o.ResolveTimeout}
	limits := limits{artifact: o.MaxArtifactSize, file: min(maxFileSize, o.MaxArtifactSize), entries: maxEntries}
	broker := newBroker(cache, o.Now)
	downloader := downloader{broker: broker, options: o, limits: limits, tmp: cache.path(tmpDir)}
	archive, oci := newArchiveFetcher(objects, downloader), &ociFetcher{downloader: downloader, objects: objects}
	return &Fetcher{
		objects: objects,
		git:     newGitFetcher(o, objects, broker, limits),
		archive: archive,
		helm:    newHelmFetcher(archive, oci),
		flux:    &fluxFetcher{downloader: downloader, objects: objects},
		oci:     oci,
	}, nil
}

// Fetch returns the files of the source at the revision that it has now. The caller closes the artifact.
//
// An error says what is wrong in a sentence fit for a status: it never holds a credential or a value of a Secret. A source that
// failed is not asked again for 5 s: until then the same request gets the same error. A changed request is not held up.
func (f *Fetcher) Fetch(ctx context.Context, req Request) (*Artifact, error) {
	switch src := req.Source; {
	case src.Git != nil:
		return f.git.fetch(ctx, req.Namespace, src.Git, req.MaxAge)
	case src.OCI != nil:
		return f.oci.fetch(ctx, req.Namespace, src.OCI, req.MaxAge)
	case src.Helm != nil:
		return f.helm.fetch(ctx, req.Namespace, src.Helm, req.MaxAge)
	case src.Archive != nil:
		return f.archive.fetch(ctx, req.Namespace, src.Archive, req.MaxAge)
	case src.From != nil && slices.Contains(FluxKinds, src.From.Kind):
		return f.flux.fetch(ctx, req.Namespace, src.From, req.MaxAge)
	case src.From != nil:
		return f.objects.fetch(ctx, req.Namespace, src.From)
	default:
		return nil, errors.New("fetch source: none of git, oci, archive and from is set")
	}
}

// ErrNoObject says that an object of the cluster is not there.
var ErrNoObject = errors.New("does not exist")

// ReadObject reads what a ConfigMap or Secret holds, by key. The error names the object, wraps ErrNoObject if it is not there, and never
// holds a value.
func ReadObject(ctx context.Context, reader client.Reader, namespace string, kind v1alpha1.FromKind, name string) (map[string][]byte, error) {
	objects := objectReader{reader: reader, timeout: DefaultResolveTimeout}
	return objects.files(ctx, namespace, &v1alpha1.FromSource{Kind: kind, Name: name})
}

// objectReader reads objects of the cluster, with a deadline.
type objectReader struct {
	reader  client.Reader
	timeout time.Duration
}

// get reads namespace/name into obj. kind is for messages.
func (r objectReader) get(ctx context.Context, kind, namespace, name string, obj client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s/%s %w", kind, namespace, name, ErrNoObject)
	}
	if err != nil {
		return fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
	}
	return nil
}
