package source

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// maxSymlinks is how many symlinks one path may go through, as in the Linux kernel.
const maxSymlinks = 40

var errLeavesSource = errors.New("symlink leaves the source")

// tree is the file system of a folder that reading cannot leave. Symlinks are followed inside it.
type tree struct{ inside fs.FS }

func newTree(root *os.Root) tree { return tree{inside: root.FS()} }

// Open implements fs.FS.
func (t tree) Open(name string) (fs.File, error) {
	f, err := t.inside.Open(name)
	return f, t.explain("open", name, err)
}

// ReadFile implements fs.ReadFileFS.
func (t tree) ReadFile(name string) ([]byte, error) {
	content, err := fs.ReadFile(t.inside, name)
	return content, t.explain("read", name, err)
}

// ReadDir implements fs.ReadDirFS.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.inside, name)
	return entries, t.explain("readdir", name, err)
}

// Stat implements fs.StatFS.
func (t tree) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(t.inside, name)
	return info, t.explain("stat", name, err)
}

// Lstat implements fs.ReadLinkFS.
func (t tree) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(t.inside, name)
	return info, t.explain("lstat", name, err)
}

// ReadLink implements fs.ReadLinkFS.
func (t tree) ReadLink(name string) (string, error) {
	target, err := fs.ReadLink(t.inside, name)
	return target, t.explain("readlink", name, err)
}

// explain says of an error whether a symlink that leaves the tree is the reason: os.Root refuses it, but has no error to compare.
func (t tree) explain(op, name string, err error) error {
	if err != nil && fs.ValidPath(name) && t.leaves(name) {
		return &fs.PathError{Op: op, Path: name, Err: errLeavesSource}
	}
	return err
}

// leaves says whether the symlinks on the way to name, or at its end, lead out of the tree.
func (t tree) leaves(name string) bool {
	at, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0 && links <= maxSymlinks; {
		step := rest[0]
		rest = rest[1:]
		if step == ".." {
			if at == "." {
				return true
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, step)
		target, err := fs.ReadLink(t.inside, next)
		if err != nil {
			at = next // not a symlink
			continue
		}
		if path.IsAbs(target) {
			return true
		}
		links++
		rest = append(strings.Split(target, "/"), rest...)
	}
	return false
}
