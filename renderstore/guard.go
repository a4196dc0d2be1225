package renderstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// OperationTimeout is how long each operation on the object store may take. A caller may set a shorter deadline, and a longer one
	// for what takes several operations.
	OperationTimeout = 30 * time.Second

	// answerGrace is how long after its deadline an operation may still say what went wrong.
	answerGrace = time.Second
)

// The operations on the object store, as an Observer sees them.
const (
	OpRead   = "read"
	OpSize   = "size"
	OpWrite  = "write"
	OpList   = "list"
	OpDelete = "delete"
)

// Observer is told about each operation on the object store: which one (one of the Op constants), how long it took, and why it failed.
// That a key exists already, or does not exist, is an answer and no failure. It is called concurrently and must not block.
type Observer func(op string, took time.Duration, failure error)

// guardedBucket gives every operation of a bucket a deadline that holds whatever the bucket does, an observer, and errors that may be
// shown.
type guardedBucket struct {
	next    Bucket
	observe Observer
}

func (b *guardedBucket) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	return guard(ctx, b, OpRead, func(ctx context.Context) ([]byte, error) { return b.next.Read(ctx, key, limit) })
}

func (b *guardedBucket) Size(ctx context.Context, key string) (int64, error) {
	return guard(ctx, b, OpSize, func(ctx context.Context) (int64, error) { return b.next.Size(ctx, key) })
}

func (b *guardedBucket) Create(ctx context.Context, key string, data []byte) error {
	return guardVoid(ctx, b, OpWrite, func(ctx context.Context) error { return b.next.Create(ctx, key, data) })
}

func (b *guardedBucket) Replace(ctx context.Context, key string, data []byte) error {
	return guardVoid(ctx, b, OpWrite, func(ctx context.Context) error { return b.next.Replace(ctx, key, data) })
}

func (b *guardedBucket) List(ctx context.Context, prefix string) ([]string, error) {
	return guard(ctx, b, OpList, func(ctx context.Context) ([]string, error) { return b.next.List(ctx, prefix) })
}

func (b *guardedBucket) Delete(ctx context.Context, key string) error {
	return guardVoid(ctx, b, OpDelete, func(ctx context.Context) error { return b.next.Delete(ctx, key) })
}

func (b *guardedBucket) Close() error { return plain(b.next.Close()) }

// guardVoid is guard for an operation that returns nothing but an error.
func guardVoid(ctx context.Context, b *guardedBucket, op string, call func(context.Context) error) error {
	_, err := guard(ctx, b, op, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// guard runs one operation, unless the context has ended. At the deadline it leaves an operation that does not end, such as a write to
// a volume that hangs.
func guard[T any](ctx context.Context, b *guardedBucket, op string, call func(context.Context) (T, error)) (T, error) {
	var r result[T]
	if err := ctx.Err(); err != nil {
		return r.value, err
	}
	ctx, cancel := context.WithTimeout(ctx, OperationTimeout)
	defer cancel()
	start := time.Now()
	done := make(chan result[T], 1)
	go func() { done <- recovered(ctx, call) }()
	select {
	case r = <-done:
	case <-ctx.Done():
		select {
		case r = <-done:
		case <-time.After(answerGrace):
			r.err = ctx.Err()
		}
	}
	r.err = plain(r.err)
	b.observe(op, time.Since(start), failure(r.err))
	return r.value, r.err
}

// result is what an operation returned.
type result[T any] struct {
	value T
	err   error
}

// recovered runs a call of a driver. Drivers have been seen to panic on answers that they do not understand.
func recovered[T any](ctx context.Context, call func(context.Context) (T, error)) (r result[T]) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("the driver of the object store panicked: %v", p)
		}
	}()
	r.value, r.err = call(ctx)
	return r
}

// failure is the error of an operation that failed; nil for one that answered.
func failure(err error) error {
	if errors.Is(err, ErrExists) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
