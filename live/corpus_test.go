package live_test

import (
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// corpus renders a folder of real manifests, beside the repository.
func corpus(t testing.TB, dir string) []*unstructured.Unstructured {
	t.Helper()
	root, err := os.OpenRoot("../../shared/corpus")
	must(t, err)
	defer root.Close()
	r, err := render.Build(t.Context(), root.FS(), dir, v1alpha1.RenderSpec{})
	must(t, err)
	objects, err := r.Objects()
	must(t, err)
	return objects
}

// mutations change an object as people do, each in one place; a mutation that finds nothing to change returns false.
var mutations = map[string]func(*unstructured.Unstructured) bool{
	"image": func(obj *unstructured.Unstructured) bool {
		containers, ok, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		if !ok || err != nil {
			return false
		}
		containers[0].(map[string]any)["image"] = "example.com/other:1"
		return unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers") == nil
	},
	"last item of a list": func(obj *unstructured.Unstructured) bool {
		return dropLast(obj.Object["spec"]) || dropLast(obj.Object["rules"]) || dropLast(obj.Object["webhooks"])
	},
	"label": func(obj *unstructured.Unstructured) bool {
		if obj.GroupVersionKind().GroupKind() == live.CRDKind {
			return false
		}
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["example.com/mutated"] = "yes"
		obj.SetLabels(labels)
		return true
	},
}

// dropLast takes the last item off the first list of two or more that it finds, in the order of the names.
func dropLast(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(keys(v)) {
			if list, ok := v[name].([]any); ok && len(list) > 1 {
				v[name] = list[:len(list)-1]
				return true
			}
			if dropLast(v[name]) {
				return true
			}
		}
	case []any:
		for _, below := range v {
			if dropLast(below) {
				return true
			}
		}
	}
	return false
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func TestTheCorporaAreAsTheServerSays(t *testing.T) {
	for _, dir := range []string{"kube-prometheus/manifests", "argo-cd/manifests", "online-boutique/kustomize", "podinfo-6.14.0/deploy/webapp"} {
		t.Run(dir, func(t *testing.T) {
			w := newWorld(t)
			objects := corpus(t, dir)
			w.deploy(objects)
			if changes := w.diff(objects...); len(changes) != 0 {
				t.Errorf("%d changes of what was just applied; first %s %s %v", len(changes), changes[0].Action, changes[0].ID, changes[0].Notes)
			}
			for name, mutate := range mutations {
				t.Run(name, func(t *testing.T) {
					w.t = t
					mutated := 0
					for _, definitions := range []bool{true, false} { // apart, since the one changes what the other means
						var changed []*unstructured.Unstructured
						for _, obj := range objects {
							if obj = obj.DeepCopy(); (obj.GroupVersionKind().GroupKind() == live.CRDKind) == definitions && mutate(obj) {
								changed = append(changed, obj)
							}
						}
						if definitions {
							changed = changed[:min(len(changed), 3)] // the server takes a second for each
						}
						mutated += len(changed)
						w.mustAgree(changed...)
					}
					if mutated == 0 {
						t.Error("nothing was mutated")
					}
				})
			}
		})
	}
}

// mustAgree fails the test where a prediction differs from what the server says. What the server refuses for a reason that only it knows is
// no matter of the prediction.
func (w *world) mustAgree(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	differences, refused := w.agree(objects...)
	for id, difference := range differences {
		w.t.Errorf("%s:\n%s", id, difference)
	}
	for id, err := range refused {
		w.t.Logf("refused: %s: %v", id, err)
	}
	if len(refused) > 1 {
		w.t.Errorf("the server refuses %d objects, which were to be compared", len(refused))
	}
}

func TestAnUpgradeIsAsTheServerSays(t *testing.T) {
	for _, dir := range []string{"kustomize", "deploy/webapp"} {
		t.Run(dir, func(t *testing.T) {
			w := newWorld(t)
			w.deploy(corpus(t, "podinfo-6.14.0/"+dir))
			w.mustAgree(corpus(t, "podinfo-6.14.1/"+dir)...)
			changes := w.diff(corpus(t, "podinfo-6.14.1/"+dir)...)
			if !slices.ContainsFunc(changes, func(c live.Change) bool { return c.Action == live.Update && c.GVK.Kind == "Deployment" }) {
				t.Errorf("no Deployment of the new version in %d changes", len(changes))
			}
		})
	}
}
