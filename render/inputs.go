package render

import (
	"context"
	"errors"
	"io/fs"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Inputs are what a render needs beside the files of the source and the spec.
type Inputs struct {
	Namespace string // of the Release
	Name      string // of the Release

	// Variables are the values of the substitute mutations.
	Variables Variables
	// Values are what render.helm.valuesFrom names, in its order.
	Values []Values
	// Capabilities are what templates of charts see of the target.
	Capabilities Capabilities
}

// Variables are the values of the substitute mutations: for the mutation of an index, the values of its from.
type Variables map[int]map[string]string

// Values are values for a chart.
type Values struct {
	From string // the object that holds them, for messages
	YAML []byte
}

// Capabilities are what templates of charts see of the target.
type Capabilities struct {
	KubeVersion string   `json:"kubeVersion"` // such as v1.33.0
	APIVersions []string `json:"apiVersions"` // such as apps/v1 and apps/v1/Deployment, sorted
}

// ErrUnfinished says that templates or a kustomization did not end within their time or memory, or could not be run at all: on a machine
// that has more to give, the same inputs may render.
var ErrUnfinished = errors.New("it did not end")

// FromSpec makes the render of a Release: it builds the files of its source and mutates what comes of it. A render without objects is an
// error, unless the spec allows it. Errors name the file, document and line, or the mutation and the object, and never hold the value of a
// Secret.
func FromSpec(ctx context.Context, fsys fs.FS, spec v1alpha1.ReleaseSpec, in Inputs) (Render, error) {
	built, err := build(ctx, fsys, spec.Source.Path(), spec.Render, in)
	if err != nil {
		return Render{}, err
	}
	mutated, err := Mutate(ctx, built, spec.Mutations, in.Variables)
	if err == nil && mutated.Len() == 0 && !spec.AllowEmpty {
		return Render{}, errors.New("it has no objects: check the path, or set spec.allowEmpty to deploy nothing")
	}
	return mutated, err
}
