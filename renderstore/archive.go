package renderstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/convoy-dev/convoy/render"
)

// Archive keeps the renders of one Release, and their history.
type Archive struct {
	bucket  Bucket // nil if the store is disabled
	keys    releaseKeys
	release string
	invalid error
}

// Put stores a render. A render that is stored already is not written again; only if what is stored under its name has another size,
// left by something that broke off, it is replaced. Without an object store it does nothing.
func (a *Archive) Put(ctx context.Context, r render.Render) error {
	if r.IsZero() {
		return fmt.Errorf("store a render of %s: there is none", a.release)
	}
	if err := a.put(ctx, a.keys.blob(r.Ref()), r.Bytes()); err != nil {
		return fmt.Errorf("store render %s of %s: %w", short(r.Ref()), a.release, err)
	}
	return nil
}

func (a *Archive) put(ctx context.Context, key string, data []byte) error {
	if err := a.usable(); err != nil {
		return unlessDisabled(err)
	}
	err := a.bucket.Create(ctx, key, data)
	if !errors.Is(err, ErrExists) {
		return err
	}
	size, err := a.bucket.Size(ctx, key)
	switch {
	case err == nil && size == int64(len(data)):
		return nil
	case err == nil, errors.Is(err, ErrNotFound):
		return a.bucket.Replace(ctx, key, data)
	}
	return err
}

// Get reads a render and verifies that it is the one that was stored. The error wraps ErrNotFound if the object store does not have it,
// ErrCorrupt if it is something else, ErrDisabled without an object store, and none of them if the object store could not be asked.
func (a *Archive) Get(ctx context.Context, ref render.Ref) (render.Render, error) {
	r, err := a.get(ctx, ref)
	if err != nil {
		return render.Render{}, fmt.Errorf("read render %s of %s: %w", short(ref), a.release, err)
	}
	return r, nil
}

func (a *Archive) get(ctx context.Context, ref render.Ref) (render.Render, error) {
	// One byte more than a render may have is enough to find a larger object corrupt.
	encoded, err := a.read(ctx, a.keys.blob(ref), render.MaxBytes+1)
	if err != nil {
		return render.Render{}, err
	}
	r, err := render.Decode(ref, encoded)
	if err != nil {
		return render.Render{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return r, nil
}

// Size returns the number of bytes of a stored render, which is not read and so not verified. The error is like that of Get, but never
// ErrCorrupt.
func (a *Archive) Size(ctx context.Context, ref render.Ref) (int64, error) {
	size, err := a.size(ctx, a.keys.blob(ref))
	if err != nil {
		return 0, fmt.Errorf("look up render %s of %s: %w", short(ref), a.release, err)
	}
	return size, nil
}

func (a *Archive) size(ctx context.Context, key string) (int64, error) {
	if err := a.usable(); err != nil {
		return 0, err
	}
	size, err := a.bucket.Size(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return 0, ErrNotFound // without what the driver said: it repeats the key
	}
	return size, err
}

// read reads one object of the Release.
func (a *Archive) read(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := a.usable(); err != nil {
		return nil, err
	}
	data, err := a.bucket.Read(ctx, key, limit)
	if errors.Is(err, ErrNotFound) {
		return nil, ErrNotFound // without what the driver said: it repeats the key
	}
	return data, err
}

// Purge deletes everything of the Release, whoever put it there. It deletes what it can, and may be called again. An object store
// without the bucket has nothing of the Release. Without an object store it does nothing.
func (a *Archive) Purge(ctx context.Context) error {
	if err := a.usable(); err != nil {
		return unlessDisabled(err)
	}
	keys, err := a.bucket.List(ctx, a.keys.all())
	if errors.Is(err, errNoBucket) {
		return nil
	}
	if err == nil {
		_, err = a.deleteAll(ctx, keys)
	}
	if err != nil {
		return fmt.Errorf("delete all renders of %s: %w", a.release, err)
	}
	return nil
}

// usable says why the archive cannot be used: ErrDisabled, or a Release that cannot be.
func (a *Archive) usable() error {
	if a.invalid != nil {
		return a.invalid
	}
	if a.bucket == nil {
		return ErrDisabled
	}
	return nil
}

// unlessDisabled is the error of a write: without an object store a write has nothing to do.
func unlessDisabled(err error) error {
	if errors.Is(err, ErrDisabled) {
		return nil
	}
	return err
}

// short is a ref for a message.
func short(ref render.Ref) string { return "sha256:" + ref.Short() + "…" }
