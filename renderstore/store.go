package renderstore

import (
	"context"
	"time"
)

// Store is an object store that keeps the renders of all Releases. It may be used concurrently.
type Store struct {
	bucket Bucket // nil if the store is disabled
}

// Option changes how a Store is opened.
type Option func(*options)

type options struct {
	observe Observer
	wrap    func(Bucket) Bucket
}

// WithObserver tells an Observer about each operation on the object store.
func WithObserver(observe Observer) Option {
	return func(o *options) { o.observe = observe }
}

// WithBucket puts a bucket of the caller's around the one that the URL names.
func WithBucket(wrap func(Bucket) Bucket) Option {
	return func(o *options) { o.wrap = wrap }
}

// Open opens the object store that a gocloud blob URL names: mem://, file:///directory, s3://bucket, gs://bucket or
// azblob://container, with the query parameters of each driver. It does not connect to an object store in the network. An empty URL
// gives a disabled store. An error never shows the query or the userinfo of the URL.
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	if url == "" {
		return &Store{}, nil
	}
	o := options{
		observe: func(string, time.Duration, error) {},
		wrap:    func(b Bucket) Bucket { return b },
	}
	for _, opt := range opts {
		opt(&o)
	}
	bucket, err := openBucket(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Store{bucket: &guardedBucket{next: o.wrap(bucket), observe: o.observe}}, nil
}

// Enabled says whether there is an object store.
func (s *Store) Enabled() bool { return s.bucket != nil }

// Close releases what the store holds. The store and its archives are not used afterwards.
func (s *Store) Close() error {
	if !s.Enabled() {
		return nil
	}
	return s.bucket.Close()
}

// Archive is the part of the store that belongs to the Release of a namespace and name, whether it has renders or not. If they cannot
// be the namespace and the name of a Kubernetes object, every method of the archive returns an error that says so.
func (s *Store) Archive(namespace, name string) *Archive {
	keys, err := newReleaseKeys(namespace, name)
	return &Archive{bucket: s.bucket, keys: keys, release: namespace + "/" + name, invalid: err}
}
