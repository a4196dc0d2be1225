package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// blockSize is the unit in which a file system hands out space: a small file takes a whole one.
const blockSize = 4096

// summary is what the cache remembers of a folder: a hash over its names and contents, and about how many bytes it takes on disk.
type summary struct {
	Sum  string `json:"sum"`
	Size int64  `json:"size"`
}

// summarize reads a whole folder.
func summarize(dir string) (summary, error) {
	hash, size := sha256.New(), int64(0)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		content, length, err := contentOf(file, d)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		hash.Write(fmt.Appendf(nil, "%s %q %d\n", d.Type(), name, length))
		if _, err := io.CopyN(hash, content, length); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		size += (length/blockSize + 1) * blockSize
		return nil
	})
	return summary{Sum: hex.EncodeToString(hash.Sum(nil)), Size: size}, err
}

// contentOf is what a file holds or where a symlink points, and how many bytes that is; a folder has none.
func contentOf(file string, d fs.DirEntry) (io.ReadCloser, int64, error) {
	switch {
	case d.IsDir():
		return io.NopCloser(bytes.NewReader(nil)), 0, nil
	case d.Type() == fs.ModeSymlink:
		target, err := os.Readlink(file)
		return io.NopCloser(bytes.NewReader([]byte(target))), int64(len(target)), err
	}
	info, err := d.Info()
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(file)
	return f, info.Size(), err
}
