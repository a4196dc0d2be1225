package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/lru"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const (
	// failureMemory is how long a failed request gets the same error, so that passes started by events do not hammer a server that
	// is down.
	failureMemory = 5 * time.Second

	// maxRemembered bounds how many requests and commits are remembered. Forgetting one costs a question or a download.
	maxRemembered = 10_000

	// maxUnpacking bounds how many packs are in memory at the same time.
	maxUnpacking = 2
)

// gitFetcher fetches Git repositories for all Releases.
type gitFetcher struct {
	objects objectReader
	cache   *cache
	options Options
	limits  limits
	dialer  dialer

	flights   singleflight.Group // by repository.key
	answers   *lru.Cache         // repository.key → answer: the last one
	rejected  *lru.Cache         // content key → error: commits whose content is not accepted
	unpacking chan struct{}
}

// repository is a request with everything that its answer depends on.
type repository struct {
	origin      string
	url         *url.URL
	ref         v1alpha1.GitRef
	credentials credentials
}

// key is equal for requests that may share an answer. It stays in memory.
func (r repository) key() string {
	return fmt.Sprintf("%q %q %s", r.origin, refString(r.ref), r.credentials.fingerprint)
}

// contentKey is where the cache keeps a commit. A commit that the server lists is shared by all who got it listed. Any other is
// shared by equal credentials alone, since nothing else proves that they may see it.
func (r repository) contentKey(t target) string {
	scope := r.origin
	if !t.tip {
		scope += "\n" + r.credentials.fingerprint
	}
	sum := sha256.Sum256([]byte(scope))
	return filepath.Join(hex.EncodeToString(sum[:]), t.commit.String())
}

// answer is what became of a request.
type answer struct {
	revision   string
	contentKey string
	err        error
	at         time.Time
}

func newGitFetcher(o Options, objects objectReader, cache *cache) *gitFetcher {
	limits := limits{artifact: o.MaxArtifactSize, file: min(maxFileSize, o.MaxArtifactSize), entries: maxEntries}
	return &gitFetcher{
		objects:   objects,
		cache:     cache,
		options:   o,
		limits:    limits,
		dialer:    dialer{limits: limits, tmp: cache.path(tmpDir)},
		answers:   lru.New(maxRemembered),
		rejected:  lru.New(maxRemembered),
		unpacking: make(chan struct{}, maxUnpacking),
	}
}

// fetch returns the files that a repository has at a reference.
func (g *gitFetcher) fetch(ctx context.Context, namespace string, src *v1alpha1.GitSource, maxAge time.Duration) (*Artifact, error) {
	u, err := parseGitURL(src.URL, g.options.AllowFileURLs)
	if err != nil {
		return nil, fmt.Errorf("fetch Git repository: %w", err)
	}
	repo := repository{origin: src.URL, url: u, ref: src.Ref}
	repo.credentials, err = g.objects.gitCredentials(ctx, namespace, u, src.SecretRef)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", repo.origin, err)
	}
	revision, files, err := g.obtain(ctx, repo, maxAge)
	if err != nil {
		return nil, fmt.Errorf("fetch %s at %s: %w", repo.origin, refString(repo.ref), err)
	}
	return &Artifact{Revision: revision, Origin: repo.origin, FS: newTree(files.root), release: files.Close}, nil
}

// obtain uses the last answer if it is young enough, and else gets a new one, together with all who ask the same now.
func (g *gitFetcher) obtain(ctx context.Context, repo repository, maxAge time.Duration) (string, *lease, error) {
	key := repo.key()
	for {
		if a, files := g.recall(key, maxAge); a.err != nil || files != nil {
			return a.revision, files, a.err
		}
		var led *lease // what this call gets if it is the one that asks
		flight := g.flights.DoChan(key, func() (any, error) {
			a, files := g.ask(context.WithoutCancel(ctx), repo)
			g.answers.Add(key, a)
			led = files
			return a, nil
		})
		select {
		case <-ctx.Done():
			go func() {
				<-flight
				led.Close()
			}()
			return "", nil, context.Cause(ctx)
		case result := <-flight:
			a := result.Val.(answer)
			if a.err != nil || led != nil {
				return a.revision, led, a.err
			}
			if files := g.cache.acquire(a.contentKey); files != nil {
				return a.revision, files, nil
			}
			// Evicted since: ask again, and hold it.
		}
	}
}

// recall returns the last answer if it may be used again: a failure with its error, a success with the files.
func (g *gitFetcher) recall(key string, maxAge time.Duration) (answer, *lease) {
	value, ok := g.answers.Get(key)
	if !ok {
		return answer{}, nil
	}
	a := value.(answer)
	age := g.options.Now().Sub(a.at)
	switch {
	case a.err != nil && age < failureMemory:
		return a, nil
	case a.err == nil && age < maxAge:
		return a, g.cache.acquire(a.contentKey)
	default:
		return answer{}, nil
	}
}

// ask asks the server for the revision, and downloads what the cache does not have.
func (g *gitFetcher) ask(ctx context.Context, repo repository) (a answer, files *lease) {
	defer func() {
		// The decoders read what strangers wrote: a panic must not end the process for everybody else.
		if r := recover(); r != nil {
			logr.FromContextOrDiscard(ctx).Error(nil, "Panic while fetching", "url", repo.origin, "panic", r, "stack", string(debug.Stack()))
			a.err = errors.New("internal error; the log has the details")
		}
		if a.err != nil {
			a.at = g.options.Now()
		}
	}()
	a.at = g.options.Now()
	talk, err := g.open(ctx, repo)
	if err != nil {
		a.err = err
		return a, nil
	}
	defer func() { _ = talk.Close() }()
	t, err := resolve(talk.adv, repo.ref)
	if err != nil {
		a.err = err
		return a, nil
	}
	a.revision, a.contentKey = t.revision(), repo.contentKey(t)
	files, a.err = g.content(ctx, repo, talk, t)
	return a, files
}
