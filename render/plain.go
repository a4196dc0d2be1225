package render

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
)

// addManifests adds the objects of every manifest in dir and its subfolders, in lexical order.
func addManifests(ctx context.Context, t *tree, dir string, c *collection) error {
	w := walk{tree: t, seen: map[string]bool{}}
	return w.directory(dir, dir, func(name string) error {
		if slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
			return fmt.Errorf("%s: is a kustomization, but the folder is rendered as Plain: "+
				"point the path at the folder of the kustomization, or move the file out", name)
		}
		content, err := t.read(ctx, name)
		if err != nil {
			return err
		}
		return addDocuments(ctx, name, content, c)
	})
}

// walk goes through the manifests of a folder. It takes each file once, however many symbolic links lead there, and so ends even
// if a link leads back up.
type walk struct {
	tree *tree
	seen map[string]bool // by path without symbolic links
}

// directory calls visit with the names of the manifests in a folder. name is the path that led there, resolved the one without
// links. What starts with a dot is left out.
func (w walk) directory(name, resolved string, visit func(name string) error) error {
	if w.seen[resolved] {
		return nil
	}
	w.seen[resolved] = true
	entries, err := fs.ReadDir(w.tree.fsys, resolved)
	if err != nil {
		return fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := w.entry(entry, path.Join(name, entry.Name()), path.Join(resolved, entry.Name()), visit); err != nil {
			return err
		}
	}
	return nil
}

func (w walk) entry(entry fs.DirEntry, name, resolved string, visit func(name string) error) error {
	isDir := entry.IsDir()
	if entry.Type()&fs.ModeSymlink != 0 {
		target, info, err := w.tree.resolve(resolved)
		if err != nil {
			return err
		}
		resolved, isDir = target, info.IsDir()
	}
	switch {
	case isDir:
		return w.directory(name, resolved, visit)
	case !isManifest(name) || w.seen[resolved]:
		return nil
	}
	w.seen[resolved] = true
	return visit(name)
}

// isManifest says whether Plain reads a file of this name.
func isManifest(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
