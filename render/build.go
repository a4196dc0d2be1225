package render

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// FromSpec makes the render of a Release: it builds the files of its source and mutates what comes of it. Errors are those of Build and
// Mutate.
func FromSpec(ctx context.Context, fsys fs.FS, spec v1alpha1.ReleaseSpec, vars Variables) (Render, error) {
	built, err := Build(ctx, fsys, spec.Source.Path(), spec.Render)
	if err != nil {
		return Render{}, err
	}
	return Mutate(ctx, built, spec.Mutations, vars)
}

// Build makes a render of the files in dir, a folder of fsys: "" or "." is its root. A render without objects is no error. Errors
// name the file, the document and the line, relative to the root of fsys, and never hold the value of a Secret.
func Build(ctx context.Context, fsys fs.FS, dir string, spec v1alpha1.RenderSpec) (Render, error) {
	t := newTree(fsys)
	dir, err := t.directory(dir)
	if err != nil {
		return Render{}, err
	}
	renderType, err := detect(t, dir, spec.Type)
	if err != nil {
		return Render{}, err
	}
	var c collection
	if renderType == v1alpha1.RenderKustomize {
		err = addKustomization(ctx, t, dir, &c)
	} else {
		err = addManifests(ctx, t, dir, &c)
	}
	if err != nil {
		return Render{}, err
	}
	return c.render()
}

// detect decides how a folder is rendered: Auto is Kustomize where it has a kustomization file, else Plain.
func detect(t *tree, dir string, want v1alpha1.RenderType) (v1alpha1.RenderType, error) {
	switch want {
	case v1alpha1.RenderPlain, v1alpha1.RenderKustomize:
		return want, nil
	case v1alpha1.RenderAuto, "":
	default:
		return "", fmt.Errorf("render type %q: want Auto, Plain or Kustomize", want)
	}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if found, err := t.isFile(path.Join(dir, name)); found || err != nil {
			return v1alpha1.RenderKustomize, err
		}
	}
	return v1alpha1.RenderPlain, nil
}
