package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"

	"golang.org/x/sync/semaphore"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// kustomize keeps the OpenAPI schema that it builds with in variables of the process, which a build with a schema of its own
// changes. So such a build runs alone, and puts the variables back; all others share them once they are filled.
var (
	kustomizeSlots = int64(runtime.GOMAXPROCS(0))
	kustomizeGate  = semaphore.NewWeighted(kustomizeSlots)
)

// addKustomization adds the objects of the kustomization in dir.
func addKustomization(ctx context.Context, t *tree, dir string, c *collection) error {
	resources, err := kustomize(ctx, t, dir)
	if err != nil {
		return err
	}
	for _, res := range resources.Resources() {
		object, err := decodeResource(res)
		if err != nil {
			return fmt.Errorf("%s: encode %s %s: %w", kustomizationIn(dir), res.GetKind(), res.GetName(), err)
		}
		if err := c.add(object, kustomizationIn(dir)); err != nil {
			return err
		}
	}
	return nil
}

// decodeResource returns a resource of kustomize as the object that it is.
func decodeResource(res *resource.Resource) (map[string]any, error) {
	encoded, err := res.MarshalJSON()
	if err != nil {
		_, problem := yamlProblem(err) // the line is not one of a file
		return nil, errors.New(problem)
	}
	var object map[string]any
	return object, utiljson.Unmarshal(encoded, &object)
}

// kustomize builds the kustomization in dir. It starts in the shared state, and again alone if a kustomization in reach wants a
// schema of its own.
func kustomize(ctx context.Context, t *tree, dir string) (resmap.ResMap, error) {
	budget := t.budget
	resources, builtin, err := kustomizeShared(ctx, t, dir)
	if !errors.Is(err, errWantsSchema) {
		return resources, err
	}
	t.budget = budget
	return kustomizeAlone(ctx, t, dir, builtin)
}

// kustomizeShared builds with the schema that is built into kustomize, and returns that schema.
func kustomizeShared(ctx context.Context, t *tree, dir string) (resmap.ResMap, spec.Definitions, error) {
	if err := kustomizeGate.Acquire(ctx, 1); err != nil {
		return nil, nil, fmt.Errorf("wait to build %s: %w", kustomizationIn(dir), err)
	}
	defer kustomizeGate.Release(1)
	// This fills the variables under kustomize's own lock; without it, one build would read them while another fills them.
	builtin := openapi.Schema().Definitions
	resources, err := runKustomize(newKustomizeFiles(ctx, t, nil), dir)
	return resources, builtin, err
}

// kustomizeAlone builds from the state of a new process, and leaves that state behind.
func kustomizeAlone(ctx context.Context, t *tree, dir string, builtin spec.Definitions) (resmap.ResMap, error) {
	if err := kustomizeGate.Acquire(ctx, kustomizeSlots); err != nil {
		return nil, fmt.Errorf("wait to build %s: %w", kustomizationIn(dir), err)
	}
	defer kustomizeGate.Release(kustomizeSlots)
	openapi.ResetOpenAPI()
	defer openapi.ResetOpenAPI()
	return runKustomize(newKustomizeFiles(ctx, t, builtin), dir)
}

// runKustomize runs kustomize as its command line does by default: no plugins, no Helm, files only in or below the folder of the
// kustomization that names them.
func runKustomize(files *kustomizeFiles, dir string) (resources resmap.ResMap, err error) {
	defer func() {
		// kustomize panics on some schemas and patches that it cannot read.
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%s: kustomize cannot build it: %s", kustomizationIn(dir), files.redactor.redact(fmt.Sprint(problem)))
		}
	}()
	resources, err = krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, path.Join("/", dir))
	switch {
	case files.refusal != nil:
		return nil, files.refusal
	case err != nil:
		return nil, fmt.Errorf("%s: %s", kustomizationIn(dir), files.redactor.redact(err.Error()))
	}
	return resources, nil
}

// kustomizationIn names a kustomization in messages.
func kustomizationIn(dir string) string {
	if dir == "." {
		return "kustomization in the root"
	}
	return "kustomization in " + dir
}
