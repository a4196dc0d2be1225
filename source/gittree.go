package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

var errNotSent = errors.New("what the server sends does not have it")

// checkout writes the files of a commit into a folder. Submodules are left out, and nothing is converted: Git LFS pointers and line
// ends stay as they are stored.
type checkout struct {
	ctx     context.Context
	objects objects
	limits  limits

	entries int   // seen so far
	bytes   int64 // written so far
}

// folder is a folder of the commit. It is safe to write: its names are unique and none leads out of it.
type folder struct {
	path    string
	files   []object.TreeEntry
	folders []*folder
}

// run looks at the whole tree first, and writes only a tree of bounded size.
func (c *checkout) run(commit plumbing.Hash, dir *os.Root) error {
	encoded, err := c.objects.Get(commit)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return errNotSent
	}
	if err != nil {
		return fmt.Errorf("read commit: %w", err)
	}
	if encoded.Type() != plumbing.CommitObject {
		return rejectf("it is a %s and not a commit", encoded.Type())
	}
	var decoded object.Commit
	if err := decoded.Decode(encoded); err != nil {
		return fmt.Errorf("read commit: %w", err)
	}
	root, err := c.plan(decoded.TreeHash, ".", 0)
	if err != nil {
		return err
	}
	return c.write(root, dir)
}

// plan reads a folder and its subfolders, without the contents of files.
func (c *checkout) plan(hash plumbing.Hash, dir string, depth int) (*folder, error) {
	if c.ctx.Err() != nil {
		return nil, context.Cause(c.ctx)
	}
	if depth > maxDepth {
		return nil, rejectf("folder %.100s… is more than %d folders deep", dir, maxDepth)
	}
	encoded, err := c.objects.Get(hash)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", dir, err)
	}
	var tree object.Tree
	if err := tree.Decode(encoded); err != nil {
		return nil, fmt.Errorf("read folder %s: %w", dir, err)
	}
	f, seen := &folder{path: dir}, map[string]bool{}
	for _, e := range tree.Entries {
		name := path.Join(dir, e.Name)
		switch {
		case e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") || strings.EqualFold(e.Name, ".git"):
			return nil, rejectf("folder %s has an entry with the name %q, which no Git repository may have", dir, e.Name)
		case seen[e.Name]:
			return nil, rejectf("there are two entries with the name %s", name)
		case e.Mode == filemode.Submodule:
			continue
		}
		seen[e.Name] = true
		if c.entries++; c.entries > c.limits.entries {
			return nil, c.limits.errEntries()
		}
		if e.Mode != filemode.Dir {
			f.files = append(f.files, e)
			continue
		}
		sub, err := c.plan(e.Hash, name, depth+1)
		if err != nil {
			return nil, err
		}
		f.folders = append(f.folders, sub)
	}
	return f, nil
}

// write writes a folder and its subfolders. It opens each folder once and never follows a path, which is quick and leads nowhere
// else.
func (c *checkout) write(f *folder, dir *os.Root) error {
	for _, e := range f.files {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if err := c.writeFile(e, path.Join(f.path, e.Name), dir); err != nil {
			return err
		}
	}
	for _, sub := range f.folders {
		if err := c.writeFolder(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func (c *checkout) writeFolder(f *folder, parent *os.Root) error {
	name := path.Base(f.path)
	if err := parent.Mkdir(name, 0o700); err != nil {
		return err
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return c.write(f, dir)
}

func (c *checkout) writeFile(e object.TreeEntry, name string, dir *os.Root) error {
	encoded, err := c.objects.Get(e.Hash)
	if err != nil {
		return fmt.Errorf("read file %s: %w", name, err)
	}
	if encoded.Type() != plumbing.BlobObject {
		return rejectf("file %s is a %s", name, encoded.Type())
	}
	if c.bytes += encoded.Size(); c.bytes > c.limits.artifact {
		return c.limits.errArtifact()
	}
	content, err := encoded.Reader()
	if err != nil {
		return fmt.Errorf("read file %s: %w", name, err)
	}
	defer func() { _ = content.Close() }()
	if e.Mode == filemode.Symlink {
		return writeSymlink(content, encoded.Size(), name, dir)
	}
	f, err := dir.OpenFile(e.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// writeSymlink makes a symlink, wherever it leads: reading refuses to follow it out of the source.
func writeSymlink(content io.Reader, size int64, name string, dir *os.Root) error {
	if size == 0 || size >= maxPathLength {
		return rejectf("symlink %s has a target of %d bytes, and 1 to %d are possible", name, size, maxPathLength-1)
	}
	target, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("read symlink %s: %w", name, err)
	}
	return dir.Symlink(string(target), path.Base(name))
}
