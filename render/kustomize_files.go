package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomizeFiles is the tree as kustomize sees it: / is the root of the source, and nothing can be written. Whatever kustomize
// reads passes through here before kustomize acts on it, so this is where a file is refused.
type kustomizeFiles struct {
	readOnly
	ctx      context.Context
	tree     *tree
	redactor redactor
	refusal  error // the first error that is not just a missing file; kustomize drops some

	// uses says what kustomize does with a path, as far as the kustomization files tell. The paths have no symbolic links in their
	// folder.
	uses map[string]use

	// schema is what kustomize's OpenAPI schema holds; nil: the build must not change it.
	schema spec.Definitions

	kustomizations, objects, nodes int // read so far
}

func newKustomizeFiles(ctx context.Context, t *tree, schema spec.Definitions) *kustomizeFiles {
	return &kustomizeFiles{ctx: ctx, tree: t, uses: map[string]use{}, schema: schema}
}

// refuse keeps the first error.
func (f *kustomizeFiles) refuse(err error) error {
	if f.refusal == nil {
		f.refusal = err
	}
	return err
}

// Exists implements filesys.FileSystem.
func (f *kustomizeFiles) Exists(name string) bool {
	_, _, err := f.locate(name)
	return err == nil
}

// IsDir implements filesys.FileSystem.
func (f *kustomizeFiles) IsDir(name string) bool {
	_, file, err := f.locate(name)
	return err == nil && file == ""
}

// CleanedAbs implements filesys.FileSystem.
func (f *kustomizeFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	dir, file, err := f.locate(name)
	return filesys.ConfirmedDir(path.Join("/", dir)), file, err
}

func (f *kustomizeFiles) locate(name string) (dir, file string, err error) {
	dir, file, err = f.tree.locate(inTree(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", f.refuse(err)
	}
	return dir, file, err
}

// inTree turns a path of kustomize into one of the tree.
func inTree(name string) string { return path.Join(".", path.Join("/", name)) }

// ReadFile implements filesys.FileSystem.
func (f *kustomizeFiles) ReadFile(name string) ([]byte, error) {
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

// readOnly fails for what kustomize does not need to build.
type readOnly struct{}

var errReadOnly = fmt.Errorf("the source cannot be used like this: %w", errors.ErrUnsupported)

func (readOnly) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (readOnly) Mkdir(string) error                   { return errReadOnly }
func (readOnly) MkdirAll(string) error                { return errReadOnly }
func (readOnly) RemoveAll(string) error               { return errReadOnly }
func (readOnly) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (readOnly) ReadDir(string) ([]string, error)     { return nil, errReadOnly }
func (readOnly) Glob(string) ([]string, error)        { return nil, errReadOnly }
func (readOnly) WriteFile(string, []byte) error       { return errReadOnly }
func (readOnly) Walk(string, filepath.WalkFunc) error { return errReadOnly }
