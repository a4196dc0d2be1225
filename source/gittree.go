package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	dir     *os.Root
	limits  limits

	entries int
	bytes   int64
	links   []link
}

// link is a symlink to be made.
type link struct{ name, target string }

// run writes the commit. Symlinks come last, so that no file can be written through one.
func (c *checkout) run(commit plumbing.Hash) error {
	encoded, err := c.objects.Get(commit)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return errNotSent
	}
	if err != nil {
		return fmt.Errorf("read commit %s: %w", commit, err)
	}
	if encoded.Type() != plumbing.CommitObject {
		return rejectf("%s is a %s and not a commit", commit, encoded.Type())
	}
	var decoded object.Commit
	if err := decoded.Decode(encoded); err != nil {
		return fmt.Errorf("read commit %s: %w", commit, err)
	}
	if err := c.tree(decoded.TreeHash, "."); err != nil {
		return err
	}
	for _, l := range c.links {
		if err := c.dir.Symlink(l.target, l.name); err != nil {
			return c.explain(l.name, err)
		}
	}
	return nil
}

func (c *checkout) tree(hash plumbing.Hash, dir string) error {
	encoded, err := c.objects.Get(hash)
	if err != nil {
		return fmt.Errorf("read folder %s: %w", dir, err)
	}
	var tree object.Tree
	if err := tree.Decode(encoded); err != nil {
		return fmt.Errorf("read folder %s: %w", dir, err)
	}
	for _, e := range tree.Entries {
		if e.Mode == filemode.Submodule {
			continue
		}
		if err := c.entry(e, dir); err != nil {
			return err
		}
	}
	return nil
}

func (c *checkout) entry(e object.TreeEntry, dir string) error {
	name := path.Join(dir, e.Name)
	switch {
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") || strings.EqualFold(e.Name, ".git"):
		return rejectf("folder %q has an entry with the name %q, which no Git repository may have", dir, e.Name)
	case len(name) > maxPathLength:
		return rejectf("the path %.100q… has %d bytes, and the limit is %d", name, len(name), maxPathLength)
	}
	if c.entries++; c.entries > c.limits.entries {
		return c.limits.errEntries()
	}
	if e.Mode == filemode.Dir {
		if err := c.dir.Mkdir(name, 0o700); err != nil {
			return c.explain(name, err)
		}
		return c.tree(e.Hash, name)
	}
	encoded, err := c.objects.Get(e.Hash)
	if err != nil {
		return fmt.Errorf("read file %s: %w", name, err)
	}
	if encoded.Type() != plumbing.BlobObject {
		return rejectf("file %s is a %s", name, encoded.Type())
	}
	if encoded.Size() > c.limits.file {
		return c.limits.errFile("file "+name, encoded.Size())
	}
	if c.bytes += encoded.Size(); c.bytes > c.limits.artifact {
		return c.limits.errArtifact()
	}
	if e.Mode == filemode.Symlink {
		return c.symlink(encoded, name)
	}
	return c.file(encoded, name)
}

func (c *checkout) file(encoded plumbing.EncodedObject, name string) error {
	content, err := encoded.Reader()
	if err != nil {
		return fmt.Errorf("read file %s: %w", name, err)
	}
	defer content.Close()
	f, err := c.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return c.explain(name, err)
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

func (c *checkout) symlink(encoded plumbing.EncodedObject, name string) error {
	if encoded.Size() >= maxPathLength {
		return rejectf("symlink %s has a target of %d bytes, and the limit is %d", name, encoded.Size(), maxPathLength)
	}
	content, err := encoded.Reader()
	if err != nil {
		return fmt.Errorf("read symlink %s: %w", name, err)
	}
	defer content.Close()
	target, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("read symlink %s: %w", name, err)
	}
	c.links = append(c.links, link{name: name, target: string(target)})
	return nil
}

// explain says of an error of the folder what the repository did to cause it.
func (c *checkout) explain(name string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return rejectf("the repository has two entries with the name %s", name)
	}
	return err
}
