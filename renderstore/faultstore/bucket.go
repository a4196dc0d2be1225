package faultstore

import (
	"bytes"
	"cmp"
	"context"
	"io"

	"github.com/convoy-dev/convoy/renderstore"
)

// bucket is a renderstore.Bucket that breaks as its Faults say.
type bucket struct {
	next   renderstore.Bucket
	faults *Faults
}

func (b *bucket) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	return run(ctx, b.faults.next(renderstore.OpRead, key),
		func() ([]byte, error) { return b.next.Read(ctx, key, limit) }, spoilObject)
}

func (b *bucket) List(ctx context.Context, prefix string) ([]string, error) {
	return run(ctx, b.faults.next(renderstore.OpList, prefix),
		func() ([]string, error) { return b.next.List(ctx, prefix) }, spoilListing)
}

func (b *bucket) Size(ctx context.Context, key string) (int64, error) {
	return run(ctx, b.faults.next(renderstore.OpSize, key),
		func() (int64, error) { return b.next.Size(ctx, key) }, nil)
}

func (b *bucket) Create(ctx context.Context, key string, data []byte) error {
	return b.do(ctx, renderstore.OpWrite, key, func() error { return b.next.Create(ctx, key, data) })
}

func (b *bucket) Replace(ctx context.Context, key string, data []byte) error {
	return b.do(ctx, renderstore.OpWrite, key, func() error { return b.next.Replace(ctx, key, data) })
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	return b.do(ctx, renderstore.OpDelete, key, func() error { return b.next.Delete(ctx, key) })
}

func (b *bucket) Close() error { return b.next.Close() }

// do is run for an operation that returns nothing but an error.
func (b *bucket) do(ctx context.Context, op, key string, call func() error) error {
	_, err := run(ctx, b.faults.next(op, key), func() (struct{}, error) { return struct{}{}, call() }, nil)
	return err
}

// run runs an operation as a fault says; nil is no fault. spoil breaks what the operation returns; nil if that cannot be broken.
func run[T any](ctx context.Context, f *Fault, call func() (T, error), spoil func(*Fault, T) (T, error)) (T, error) {
	var nothing T
	switch {
	case f == nil:
		return call()
	case f.Effect == Hang:
		<-ctx.Done()
		return nothing, ctx.Err()
	case f.Effect == LoseAnswer:
		_, _ = call() // whatever came of it is lost
	case f.Effect != Fail && spoil != nil:
		whole, err := call()
		if err != nil {
			return nothing, err
		}
		return spoil(f, whole)
	}
	return nothing, f.err()
}

func spoilObject(f *Fault, data []byte) ([]byte, error) {
	if f.Effect == Half {
		return data[:len(data)/2], cmp.Or(f.Err, io.ErrUnexpectedEOF)
	}
	garbled := bytes.Clone(data)
	if len(garbled) > 0 {
		garbled[len(garbled)/2] ^= 1
	}
	return garbled, nil
}

func spoilListing(f *Fault, keys []string) ([]string, error) {
	if f.Effect == Half {
		return keys[:len(keys)/2], nil
	}
	return nil, f.err()
}

// err is what the broken operation fails with.
func (f *Fault) err() error { return cmp.Or(f.Err, ErrInjected) }
