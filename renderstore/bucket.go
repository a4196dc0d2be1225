package renderstore

import (
	"context"
	"errors"
)

// Bucket is what a Store needs of an object store. Open makes one out of a gocloud driver; tests put others around it
// (WithBucket). All methods may be called concurrently.
//
// A missing object is an error that wraps ErrNotFound. It must be the answer of the object store: that the object store cannot be
// reached, refuses access or is itself gone is a different error. So is one that wraps fs.ErrNotExist, which is also what drivers
// say when a file with credentials is missing.
type Bucket interface {
	// Read returns an object, or its first limit bytes if it has more. A part of an object is an error.
	Read(ctx context.Context, key string, limit int64) ([]byte, error)

	// Size returns the size of an object in bytes.
	Size(ctx context.Context, key string) (int64, error)

	// Create writes an object, whole or not at all. If the key exists nothing is written, and the error wraps ErrExists.
	Create(ctx context.Context, key string, data []byte) error

	// Replace writes an object, whole or not at all, whether the key exists or not.
	Replace(ctx context.Context, key string, data []byte) error

	// List returns all keys that start with a prefix, which ends in a slash. It returns no keys with an error.
	List(ctx context.Context, prefix string) ([]string, error)

	// Delete removes an object.
	Delete(ctx context.Context, key string) error

	// Close releases what the bucket holds. No other method may be called afterwards.
	Close() error
}

// errNoBucket says that the object store answered, and that it has no bucket, container or directory of the name.
var errNoBucket = errors.New("the object store has no such bucket, container or directory")

// contentType of everything that a Store writes.
const contentType = "application/json"
