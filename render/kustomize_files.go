package render

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
)

// kustomizeFiles is the tree as kustomize sees it: / is the root of the source. Whatever kustomize reads passes through here before
// kustomize acts on it, so this is where a file is refused.
type kustomizeFiles struct {
	ctx      context.Context
	tree     *tree
	redactor redactor
	refusal  error // the first error that is not just a missing file; kustomize drops some

	// uses says what kustomize does with a path, as far as the kustomization files tell. The paths have no symbolic links in their
	// folder.
	uses map[string]use

	kustomizations, objects, nodes int // read so far
}

func newKustomizeFiles(ctx context.Context, t *tree) *kustomizeFiles {
	return &kustomizeFiles{ctx: ctx, tree: t, uses: map[string]use{}}
}

// refuse keeps the first error.
func (f *kustomizeFiles) refuse(err error) error {
	if f.refusal == nil {
		f.refusal = err
	}
	return err
}

// locate is where a path leads: a folder, and a file in it unless it is the folder itself.
func (f *kustomizeFiles) locate(name string) (dir, file string, err error) {
	dir, file, err = f.tree.locate(inTree(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", f.refuse(err)
	}
	return dir, file, err
}

// inTree turns a path of kustomize into one of the tree.
func inTree(name string) string { return path.Join(".", path.Join("/", name)) }

// read reads a file, and checks it.
func (f *kustomizeFiles) read(name string) ([]byte, error) {
	name = inTree(name)
	content, err := f.tree.read(f.ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		err = f.admit(name, content)
	}
	if err != nil {
		return nil, f.refuse(err)
	}
	return content, nil
}

// admit checks a file that kustomize is about to use.
func (f *kustomizeFiles) admit(name string, content []byte) error {
	if slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
		return f.admitKustomization(name, content)
	}
	uses := f.uses[name]
	if uses&useSecretData != 0 {
		f.redactor.addFile(content)
	}
	var err error
	switch {
	case uses == 0:
		err = f.admitUnknown(name, content)
	case uses&(useManifest|useRoot|usePluginConfig) != 0:
		err = f.admitManifest(name, content, uses&(useRoot|usePluginConfig) != 0)
	}
	if err == nil && uses&useSchema != 0 {
		err = f.admitSchema(name, content)
	}
	if err == nil && uses&useDefinitions != 0 {
		err = f.admitDefinitions(name, content)
	}
	return err
}
