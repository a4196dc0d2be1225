package source

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/lru"
)

const (
	// failureMemory is how long a failed request gets the same error, so that passes started by events do not hammer a server that
	// is down.
	failureMemory = 5 * time.Second

	// maxFailureMemory is how long a server can make us wait with Retry-After.
	maxFailureMemory = 10 * time.Minute

	// maxRemembered bounds how many requests and contents are remembered. Forgetting one costs a question or a download.
	maxRemembered = 10_000

	// maxUnpacking bounds how many packs, or lists of the files of archives, are in memory at the same time.
	maxUnpacking = 2
)

// remote is something outside of the cluster that a Release asks for, with everything that the answer depends on.
type remote interface {
	// key is equal for remotes that may share an answer. It stays in memory.
	key() string

	// origin is the Artifact.Origin.
	origin() string

	// resolve asks which revision the remote has now.
	resolve(ctx context.Context) (resolved, error)
}

// resolved is one revision of a remote, and the way to its files.
type resolved interface {
	revision() string

	// contentKey is where the cache keeps the files: a scope of those who may share them, and a hash of the content.
	contentKey() string

	// download writes the files of exactly this revision into an empty folder.
	download(ctx context.Context, dir *os.Root) error

	// close gives back what resolving took.
	close()
}

// broker answers the requests of all Releases: those that ask the same share one answer, and only what is new is downloaded.
type broker struct {
	cache *cache
	now   func() time.Time

	flights  singleflight.Group // by remote.key
	answers  *lru.Cache         // remote.key → answer: the last one
	rejected *lru.Cache         // resolved.contentKey → error: contents that are not accepted

	unpacking chan struct{}
}

// answer is what became of a request.
type answer struct {
	revision   string
	contentKey string
	err        error
	at         time.Time
}

func newBroker(cache *cache, now func() time.Time) *broker {
	return &broker{
		cache: cache, now: now, answers: lru.New(maxRemembered), rejected: lru.New(maxRemembered),
		unpacking: make(chan struct{}, maxUnpacking),
	}
}

// artifact returns the files of a remote.
func (b *broker) artifact(ctx context.Context, r remote, maxAge time.Duration) (*Artifact, error) {
	revision, files, err := b.obtain(ctx, r, maxAge)
	if err != nil {
		return nil, err
	}
	return &Artifact{Revision: revision, Origin: r.origin(), FS: newTree(files.root), release: files.Close}, nil
}

// obtain uses the last answer if it is young enough, and else gets a new one, together with all who ask the same now.
func (b *broker) obtain(ctx context.Context, r remote, maxAge time.Duration) (string, *lease, error) {
	key := r.key()
	for {
		if a, files := b.recall(key, maxAge); a.err != nil || files != nil {
			return a.revision, files, a.err
		}
		var led *lease // what this call gets if it is the one that asks
		flight := b.flights.DoChan(key, func() (any, error) {
			a, files := b.ask(context.WithoutCancel(ctx), r)
			b.answers.Add(key, a)
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
			if files := b.cache.acquire(a.contentKey); files != nil {
				return a.revision, files, nil
			}
			// Evicted since: ask again, and hold it.
		}
	}
}

// recall returns the last answer if it may be used again: a failure with its error, a success with the files.
func (b *broker) recall(key string, maxAge time.Duration) (answer, *lease) {
	value, ok := b.answers.Get(key)
	if !ok {
		return answer{}, nil
	}
	a := value.(answer)
	age := b.now().Sub(a.at)
	switch {
	case a.err != nil && age < memoryOf(a.err):
		return a, nil
	case a.err == nil && age < maxAge:
		return a, b.cache.acquire(a.contentKey)
	default:
		return answer{}, nil
	}
}

// ask asks for the revision, and downloads what the cache does not have.
func (b *broker) ask(ctx context.Context, r remote) (a answer, files *lease) {
	defer func() {
		// The decoders read what strangers wrote: a panic must not end the process for everybody else.
		if p := recover(); p != nil {
			logr.FromContextOrDiscard(ctx).Error(nil, "Panic while fetching", "url", r.origin(), "panic", p, "stack", string(debug.Stack()))
			a.err = errors.New("internal error; the log has the details")
		}
		if a.err != nil {
			a.at = b.now()
		}
	}()
	a.at = b.now()
	found, err := r.resolve(ctx)
	if err != nil {
		a.err = err
		return a, nil
	}
	defer found.close()
	a.revision, a.contentKey = found.revision(), found.contentKey()
	files, a.err = b.content(ctx, found)
	return a, files
}

// content returns the files of a revision, from the cache or the remote.
func (b *broker) content(ctx context.Context, found resolved) (*lease, error) {
	key := found.contentKey()
	if err, ok := b.rejected.Get(key); ok {
		return nil, err.(error)
	}
	files, err := b.cache.get(ctx, key, func(dir *os.Root) error { return found.download(ctx, dir) })
	if isContentError(err) {
		b.rejected.Add(key, err)
	}
	return files, err
}

// unpack waits until f may fill the memory, and runs it.
func (b *broker) unpack(ctx context.Context, f func() error) error {
	select {
	case b.unpacking <- struct{}{}:
		defer func() { <-b.unpacking }()
		return f()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// busyError is the error of a server that says when it wants to be asked again.
type busyError struct {
	error
	after time.Duration
}

// memoryOf is how long a request that failed gets the same error.
func memoryOf(err error) time.Duration {
	if busy, ok := errors.AsType[busyError](err); ok {
		return min(max(busy.after, failureMemory), maxFailureMemory)
	}
	return failureMemory
}
