package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"syscall"
)

// maxLinks is how many symbolic links one path may go through.
const maxLinks = 40

// tree is the files of a source, which do not change. It follows symbolic links that stay inside, and counts what is read.
type tree struct {
	fsys    fs.FS
	folders map[string]place // by the path that leads there
	budget  int64            // bytes that may still be read
}

// place is a file or folder by its path without symbolic links.
type place struct {
	path string
	info fs.FileInfo
}

func newTree(fsys fs.FS) *tree {
	return &tree{fsys: fsys, folders: map[string]place{}, budget: maxInputBytes}
}

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
	found, err := t.follow(path.Clean(name), maxLinks)
	return found.path, found.info, err
}

// follow resolves a clean path that may go through so many symbolic links.
func (t *tree) follow(name string, links int) (place, error) {
	if known, ok := t.folders[name]; ok {
		return known, nil
	}
	found, err := t.step(name, links)
	if err == nil && found.info.IsDir() {
		t.folders[name] = found
	}
	return found, err
}

// step resolves the folder of a path, and then its last element.
func (t *tree) step(name string, links int) (place, error) {
	if name == "." {
		info, err := fs.Stat(t.fsys, ".")
		if err != nil {
			return place{}, fmt.Errorf("open the source: %w", withoutPath(err))
		}
		return place{".", info}, nil
	}
	folder, err := t.follow(path.Dir(name), links)
	if err != nil {
		return place{}, err
	}
	if !folder.info.IsDir() {
		return place{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	resolved := path.Join(folder.path, path.Base(name))
	info, err := fs.Lstat(t.fsys, resolved)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return place{resolved, info}, nil
	}
	return t.followLink(resolved, links)
}

// followLink resolves a symbolic link.
func (t *tree) followLink(link string, links int) (place, error) {
	if links == 0 {
		return place{}, fmt.Errorf("%s: is one of more than %d symbolic links on the way to a file", link, maxLinks)
	}
	target, err := t.linkTarget(link)
	if err != nil {
		return place{}, err
	}
	found, err := t.follow(target, links-1)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, fmt.Errorf("%s: is a symbolic link to %s, which is not there: %w", link, target, fs.ErrNotExist)
	}
	return found, err
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
