package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one path may go through.
const maxLinks = 40

// tree is the files of a source. It follows symbolic links that stay inside, and counts what is read.
type tree struct {
	fsys   fs.FS
	budget int64 // bytes that may still be read
}

func newTree(fsys fs.FS) *tree { return &tree{fsys: fsys, budget: maxInputBytes} }

// directory returns the path of an existing folder, without symbolic links.
func (t *tree) directory(dir string) (string, error) {
	cleaned := path.Clean("./" + dir)
	if path.IsAbs(dir) || !fs.ValidPath(cleaned) {
		return "", fmt.Errorf("path %q: want a folder of the source, relative to its root", dir)
	}
	resolved, info, err := t.resolve(cleaned)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("path %q does not exist in the source", dir)
	case err != nil:
		return "", fmt.Errorf("path %q: %w", dir, err)
	case !info.IsDir():
		return "", fmt.Errorf("path %q is a file: want the folder that holds it", dir)
	}
	return resolved, nil
}

// resolve follows the symbolic links of a path. It returns the path without links, and what is there. The error of a path that is
// not there is fs.ErrNotExist.
func (t *tree) resolve(name string) (string, fs.FileInfo, error) {
	root, err := fs.Stat(t.fsys, ".")
	if err != nil {
		return "", nil, fmt.Errorf("open the source: %w", withoutPath(err))
	}
	info := root
	resolved, rest := ".", strings.Split(path.Clean(name), "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(resolved, rest[0])
		if !info.IsDir() {
			return "", nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		if info, err = fs.Lstat(t.fsys, next); errors.Is(err, syscall.ENAMETOOLONG) {
			err = fs.ErrNotExist
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, withoutPath(err))
		}
		rest = rest[1:]
		if info.Mode()&fs.ModeSymlink == 0 {
			resolved = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, fmt.Errorf("%s: goes through more than %d symbolic links", name, maxLinks)
		}
		target, err := t.linkTarget(next)
		if err != nil {
			return "", nil, err
		}
		info, resolved, rest = root, ".", append(strings.Split(target, "/"), rest...)
	}
	return resolved, info, nil
}

// locate returns the folder of a path without symbolic links, and the name of the file in it; none if the path is a folder. A file
// keeps the name that leads to it, so that a kustomization file is seen as one even if it is a symbolic link.
func (t *tree) locate(name string) (dir, file string, err error) {
	resolved, info, err := t.resolve(name)
	switch {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return resolved, "", nil
	}
	dir, _, err = t.resolve(path.Dir(name))
	return dir, path.Base(name), err
}

// linkTarget returns the path in the tree that a symbolic link points to.
func (t *tree) linkTarget(link string) (string, error) {
	target, err := fs.ReadLink(t.fsys, link)
	if err != nil {
		return "", fmt.Errorf("%s: %w", link, withoutPath(err))
	}
	joined := path.Join(path.Dir(link), target)
	if path.IsAbs(target) || !fs.ValidPath(joined) {
		return "", fmt.Errorf("%s: is a symbolic link that leaves the source, to %s: commit the file itself", link, target)
	}
	return joined, nil
}

// isFile says whether a path is a file, through symbolic links.
func (t *tree) isFile(name string) (bool, error) {
	_, info, err := t.resolve(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

// read returns the content of a file.
func (t *tree) read(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	resolved, info, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	file, err := t.fsys.Open(resolved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, t.budget+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	if t.budget -= int64(len(content)); t.budget < 0 {
		return nil, fmt.Errorf("%s: %w", name, errInputLimit)
	}
	return content, nil
}

// withoutPath takes the operation and the path off an error of a file system: the message names the file already.
func withoutPath(err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
