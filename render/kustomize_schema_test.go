package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// schemaWithKey is an OpenAPI schema in which the list spec.things of a Thing is merged by a key.
func schemaWithKey(key string) string {
	return `{"definitions": {"com.example.v1.Thing": {"type": "object", "properties": {
		"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
		"spec": {"$ref": "#/definitions/com.example.v1.ThingSpec"}},
		"x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Thing", "version": "v1"}]},
	"com.example.v1.ThingSpec": {"type": "object", "properties": {"things": {"type": "array",
		"x-kubernetes-patch-merge-key": "` + key + `", "x-kubernetes-patch-strategy": "merge",
		"items": {"type": "object"}}}}}}`
}

// patchedThing patches a list of a Thing, with fields of the kustomization file.
func patchedThing(fields string) files {
	return files{
		"app/kustomization.yaml": "resources: [thing.yaml]\npatches: [{path: patch.yaml}]\n" + fields,
		"app/thing.yaml":         "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec: {things: [{name: a, id: b, old: x}, {name: b, id: a, old: y}]}\n",
		"app/patch.yaml":         "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec: {things: [{name: a, id: a, new: z}]}\n",
		"app/by-name.json":       schemaWithKey("name"),
		"app/by-id.json":         schemaWithKey("id"),
	}
}

// thingsBySetting says what becomes of the list for each setting of the schema.
var thingsBySetting = map[string]struct {
	source files
	want   string
}{
	"no schema": {patchedThing(""), `[{"id":"a","name":"a","new":"z"}]`},
	"by name":   {patchedThing("openapi: {path: by-name.json}\n"), `[{"id":"a","name":"a","new":"z","old":"x"},{"id":"a","name":"b","old":"y"}]`},
	"by id":     {patchedThing("openapi: {path: by-id.json}\n"), `[{"id":"a","name":"a","new":"z","old":"y"},{"id":"b","name":"a","old":"x"}]`},
	"in a base": {
		func() files {
			source := patchedThing("openapi: {path: by-name.json}\n")
			source["base/kustomization.yaml"] = source["app/kustomization.yaml"]
			for _, name := range []string{"thing.yaml", "patch.yaml", "by-name.json"} {
				source["base/"+name] = source["app/"+name]
			}
			source["app/kustomization.yaml"] = "resources: [../base]\n"
			return source
		}(),
		`[{"id":"a","name":"a","new":"z","old":"x"},{"id":"a","name":"b","old":"y"}]`,
	},
}

// things returns the list of the only object of a render.
func things(r Render) (string, error) {
	objects, err := r.Objects()
	if err != nil {
		return "", err
	}
	spec, _ := objects[0].Object["spec"].(map[string]any)
	encoded, err := json.Marshal(spec["things"])
	return string(encoded), err
}

func TestSchemasOfOtherBuildsChangeNothing(t *testing.T) {
	for range 3 { // in random order
		for name, tc := range thingsBySetting {
			got, err := things(tc.source.mustBuild(t, v1alpha1.RenderAuto, "app"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// kustomize keeps its schema in variables of its process. Builds with different schemas, and builds of what needs the one that is built in,
// must not see each other's.
func TestConcurrentBuildsDoNotSeeEachOthersSchema(t *testing.T) {
	want := everything.mustBuild(t, v1alpha1.RenderAuto, "overlays/prod").Ref()
	var builds sync.WaitGroup
	build := func(source files, dir string, check func(Render) error) {
		builds.Go(func() {
			for range 2 {
				r, err := source.build(t, v1alpha1.RenderAuto, dir)
				if err == nil {
					err = check(r)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		for name, tc := range thingsBySetting {
			build(tc.source, "app", func(r Render) error {
				got, err := things(r)
				if err == nil && got != tc.want {
					return fmt.Errorf("%s: got %s, want %s", name, got, tc.want)
				}
				return err
			})
		}
		build(everything, "overlays/prod", func(r Render) error {
			if r.Ref() != want {
				return fmt.Errorf("ref %s, want %s", r.Ref(), want)
			}
			return nil
		})
	}
	builds.Wait()
}

// A new process of kustomize that is given a schema knows no other: without that of a Deployment, a patch replaces its containers.
func TestASchemaOfItsOwnTakesThePlaceOfTheBuiltInOne(t *testing.T) {
	source := files{
		"app/kustomization.yaml": "openapi: {path: by-name.json}\nresources: [deployment.yaml]\npatches: [{path: patch.yaml}]\n",
		"app/by-name.json":       schemaWithKey("name"),
		"app/deployment.yaml":    deployment,
		"app/patch.yaml":         "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {template: {spec: {containers: [{name: sidecar, image: example.com/sidecar}]}}}\n",
	}
	containers := func() int {
		r := source.mustBuild(t, v1alpha1.RenderAuto, "app")
		return strings.Count(string(r.Bytes()), `"image":`)
	}
	everything.mustBuild(t, v1alpha1.RenderAuto, "overlays/prod") // leaves the built-in schema behind
	if got := containers(); got != 1 {
		t.Errorf("with a schema: %d containers, want 1", got)
	}
	source["app/kustomization.yaml"] = "resources: [deployment.yaml]\npatches: [{path: patch.yaml}]\n"
	if got := containers(); got != 2 {
		t.Errorf("without one: %d containers, want 2", got)
	}
}

func TestSchemasThatNeverEndAreRefused(t *testing.T) {
	loop := `{"definitions": {"A": {"$ref": "#/definitions/B"}, "B": {"$ref": "#/definitions/A"}, "Thing": {"properties": {"spec": {"$ref": "#/definitions/A"}},
		"x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Thing", "version": "v1"}]}}}`
	throughBuiltin := `{"definitions": {"A": {"$ref": "#/definitions/io.k8s.api.core.v1.Pod/properties/spec"}, "io.k8s.api.core.v1.PodSpec": {"$ref": "#/definitions/A"}}}`
	for name, tc := range map[string]struct {
		fields, file string
		want         []string // any of these
	}{
		"references in a circle": {
			"openapi: {path: file}\n", loop,
			[]string{"app/file: #/definitions/A: a reference of the schema leads back to itself", "app/file: #/definitions/B: a reference of the schema leads back to itself"},
		},
		"a circle in YAML": {
			"openapi: {path: file}\n", "definitions: {A: {$ref: \"#/definitions/A\"}}\n",
			[]string{"app/file: #/definitions/A: a reference of the schema leads back to itself"},
		},
		"a circle through the built-in schema": {
			"openapi: {path: file}\n", throughBuiltin,
			[]string{
				"app/file: #/definitions/A: a reference of the schema leads back to itself",
				"app/file: #/definitions/io.k8s.api.core.v1.Pod/properties/spec: a reference of the schema leads back to itself",
			},
		},
		"a type that holds itself": {
			"crds: [file]\n", `{"A": {"Schema": {"properties": {"apiVersion": {}, "kind": {}, "metadata": {}, "inner": {"$ref": "A"}}}}}`,
			[]string{"app/file: A: a reference of the schema leads back to itself"},
		},
		"types that double": {
			"crds: [file]\n", func() string {
				var b strings.Builder
				b.WriteString(`{"t40": {"Schema": {}}`)
				for i := range 40 {
					fmt.Fprintf(&b, `, "t%d": {"Schema": {"properties": {"apiVersion": {}, "kind": {}, "metadata": {}, "a": {"$ref": "t%d"}, "b": {"$ref": "t%d"}}}}`, i, i+1, i+1)
				}
				return b.String() + "}"
			}(),
			[]string{"has more than 100000 fields along all references"},
		},
		"no schema": {
			"openapi: {path: file}\n", "hello",
			[]string{"app/file: is not an OpenAPI schema"},
		},
		"broken JSON": {
			"openapi: {path: file}\n", "{\n\"a\": }",
			[]string{"app/file: line 2, column 6: is not valid JSON"},
		},
		"no definitions": {
			"crds: [file]\n", "- a\n",
			[]string{"app/file: is not a set of OpenAPI definitions"},
		},
		"too much": {
			"openapi: {path: file}\n", `{"x": "` + strings.Repeat("x", maxSchemaBytes) + `"}`,
			[]string{"app/file: has more bytes than the limit of 16 MiB for a schema"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := patchedThing(tc.fields)
			source["app/file"] = tc.file
			_, err := source.build(t, v1alpha1.RenderAuto, "app")
			for _, want := range tc.want {
				if err != nil && strings.HasSuffix(err.Error(), want) {
					return
				}
			}
			t.Errorf("got %v, want one of %q", err, tc.want)
		})
	}
}

func TestTypesMayShareDefinitions(t *testing.T) {
	source := patchedThing("crds: [crd.json]\n")
	source["app/crd.json"] = `{"A": {"Schema": {"properties": {"apiVersion": {}, "kind": {}, "metadata": {}, "a": {"$ref": "B"}, "b": {"$ref": "B"}}}}, "B": {"Schema": {"properties": {"c": {}}}}}`
	if r := source.mustBuild(t, v1alpha1.RenderAuto, "app"); r.Len() != 1 {
		t.Errorf("%d objects", r.Len())
	}
}

func TestAPanicOfKustomizeIsAnError(t *testing.T) {
	source := patchedThing("openapi: {path: file}\n")
	source["app/file"] = `{"definitions": {"A": {"x-kubernetes-group-version-kind": [{"group": "example.com"}]}}}`
	_, err := source.build(t, v1alpha1.RenderAuto, "app")
	if err == nil || !strings.HasPrefix(err.Error(), "kustomization in app: kustomize cannot build it: ") {
		t.Errorf("got %v", err)
	}
	if r := everything.mustBuild(t, v1alpha1.RenderAuto, "overlays/prod"); r.Len() != 4 {
		t.Errorf("the build after it made %d objects", r.Len())
	}
}

func TestTheWaitForOtherBuildsCanBeCancelled(t *testing.T) {
	if err := processGate.Acquire(t.Context(), processSlots); err != nil {
		t.Fatal(err)
	}
	defer processGate.Release(processSlots)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := Build(ctx, everything.fs(), "overlays/prod", v1alpha1.RenderSpec{})
	if err == nil || !errors.Is(err, ctx.Err()) {
		t.Errorf("got %v, want %v", err, ctx.Err())
	}
}
