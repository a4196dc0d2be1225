package render

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Build makes a render of the files in dir, a folder of fsys: "" or "." is its root. A render without objects is no error. Errors
// name the file, the document and the line, relative to the root of fsys, and never hold the value of a Secret.
func Build(ctx context.Context, fsys fs.FS, dir string, spec v1alpha1.RenderSpec) (Render, error) {
	return build(ctx, fsys, dir, spec, Inputs{})
}

func build(ctx context.Context, fsys fs.FS, dir string, spec v1alpha1.RenderSpec, in Inputs) (Render, error) {
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
	switch renderType {
	case v1alpha1.RenderHelm:
		err = addChart(ctx, t, dir, spec.Helm, in, &c)
	case v1alpha1.RenderKustomize:
		err = addKustomization(ctx, t, dir, &c)
	default:
		err = addManifests(ctx, t, dir, &c)
	}
	if err != nil {
		return Render{}, err
	}
	return c.render()
}

// IsChart says whether the files in dir are rendered as a chart, so that the render needs Inputs.Capabilities.
func IsChart(fsys fs.FS, dir string, spec v1alpha1.RenderSpec) (bool, error) {
	t := newTree(fsys)
	dir, err := t.directory(dir)
	if err != nil {
		return false, err
	}
	renderType, err := detect(t, dir, spec.Type)
	return renderType == v1alpha1.RenderHelm, err
}

// detect decides how a folder is rendered: Auto is Helm where it has a Chart.yaml, Kustomize where it has a kustomization file, else Plain.
func detect(t *tree, dir string, want v1alpha1.RenderType) (v1alpha1.RenderType, error) {
	switch want {
	case v1alpha1.RenderPlain, v1alpha1.RenderKustomize, v1alpha1.RenderHelm:
		return want, nil
	case v1alpha1.RenderAuto, "":
	default:
		return "", fmt.Errorf("render type %q: want Auto, Plain, Kustomize or Helm", want)
	}
	if found, err := t.isFile(path.Join(dir, chartFile)); found || err != nil {
		return v1alpha1.RenderHelm, err
	}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if found, err := t.isFile(path.Join(dir, name)); found || err != nil {
			return v1alpha1.RenderKustomize, err
		}
	}
	return v1alpha1.RenderPlain, nil
}
