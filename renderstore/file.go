package renderstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"gocloud.dev/blob"
)

// fileBucket is a Bucket over gocloud's driver for directories, which does two things that a Store cannot use: it lists a directory
// that it cannot read as an empty one, and it leaves empty directories behind.
type fileBucket struct {
	cloudBucket
	dir string
}

func newFileBucket(driver *blob.Bucket, dir string) *fileBucket {
	b := &fileBucket{dir: dir}
	b.cloudBucket = cloudBucket{driver: driver, probe: func(context.Context) error {
		root, err := b.open()
		if err != nil {
			return err
		}
		return root.Close()
	}}
	return b
}

func (b *fileBucket) Create(ctx context.Context, key string, data []byte) error {
	return withHint(b.cloudBucket.Create(ctx, key, data))
}

func (b *fileBucket) Replace(ctx context.Context, key string, data []byte) error {
	return withHint(b.cloudBucket.Replace(ctx, key, data))
}

// withHint adds the next move if the driver could not write its temporary file in the temporary directory, or not move it from there.
func withHint(err error) error {
	var file *fs.PathError
	inTemp := errors.As(err, &file) && filepath.Dir(file.Path) == filepath.Clean(os.TempDir())
	if inTemp || errors.Is(err, syscall.EXDEV) {
		return fmt.Errorf("%w: add no_tmp_dir=true to the URL of the render store", plain(err))
	}
	return err
}

// List walks the directory of the prefix. Links are not followed.
func (b *fileBucket) List(_ context.Context, prefix string) ([]string, error) {
	root, err := b.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var keys []string
	top := path.Clean(prefix)
	err = fs.WalkDir(root.FS(), top, func(key string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // no keys yet, or deleted meanwhile
		case err != nil:
			return err
		case key == top && !entry.IsDir():
			return &fs.PathError{Op: "list", Path: filepath.Join(b.dir, key), Err: syscall.ENOTDIR}
		case !entry.IsDir():
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Delete also removes the directories that it leaves empty, except those at the top: another Release may be about to write into one.
func (b *fileBucket) Delete(_ context.Context, key string) error {
	root, err := b.open()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(key); errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	} else if err != nil {
		return err
	}
	for dir := path.Dir(key); strings.Contains(dir, "/"); dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break // not empty
		}
	}
	return nil
}

// open opens the directory anew each time, since somebody may put another one in its place.
func (b *fileBucket) open() (*os.Root, error) {
	root, err := os.OpenRoot(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errNoBucket, err)
	}
	return root, err
}
