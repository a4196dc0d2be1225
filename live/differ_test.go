package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/live/builtin"
	"github.com/convoy-dev/convoy/render"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	testenv.Main(m)
}

// world is a Release in a namespace of its own on the API server of all tests.
type world struct {
	t      testing.TB
	client client.Client // of the administrator
	owner  live.Owner
	mapper meta.RESTMapper
	differ *live.Differ
}

func newWorld(t testing.TB) *world {
	t.Helper()
	env := testenv.Shared(t)
	w := &world{}
	w.client, w.mapper = connect(t, env.Config)
	w.differ = differ(t, env.Config)
	return w.another(t)
}

// another is a Release in another namespace, seen through the same Differ.
func (w *world) another(t testing.TB) *world {
	t.Helper()
	other := *w
	other.t = t
	other.owner = live.Owner{Namespace: testenv.Shared(t).Namespace(t), Name: "app", UID: "1e1ea5e0"}
	return &other
}

func connect(t testing.TB, config *rest.Config) (client.Client, meta.RESTMapper) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	must(t, err)
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	must(t, err)
	c, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper, Scheme: testenv.Scheme()})
	must(t, err)
	return c, mapper
}

// differ is a new Differ with the rights of the config.
func differ(t testing.TB, config *rest.Config) *live.Differ {
	t.Helper()
	c, mapper := connect(t, config)
	server, err := discovery.NewDiscoveryClientForConfig(config)
	must(t, err)
	return live.NewDiffer(live.DifferOptions{
		Client: c, Mapper: mapper, Discovery: discovery.ToDiscoveryInterfaceWithContext(server), Normalizer: builtin.Normalizer{},
		OwnerName: func(_ context.Context, _, label string) (string, error) {
			if label == "gone" {
				return "", nil
			}
			return label, nil
		},
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// manifest reads the objects of a YAML text.
func manifest(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		switch err := decoder.Decode(obj); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case len(obj.Object) > 0:
			objects = append(objects, obj)
		}
	}
}

// desired is an object as convoy applies it.
func (w *world) desired(obj *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	mapping, err := w.mapper.RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
	must(w.t, err)
	desired, err := live.Desired(w.owner, obj, mapping.Scope.Name() == meta.RESTScopeNameNamespace)
	must(w.t, err)
	return desired
}

// apply applies objects as convoy does.
func (w *world) apply(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	for _, obj := range objects {
		if _, err := w.serverSideApply(w.desired(obj)); err != nil {
			w.t.Fatalf("apply %s: %v", render.IDOf(obj), err)
		}
	}
}

// serverSideApply applies an object by force, and returns what the server answers.
func (w *world) serverSideApply(obj *unstructured.Unstructured, opts ...client.ApplyOption) (*unstructured.Unstructured, error) {
	result := obj.DeepCopy()
	opts = append([]client.ApplyOption{client.ForceOwnership, client.FieldOwner(v1alpha1.FieldManager)}, opts...)
	return result, w.client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(result), opts...)
}

// get reads an object; nil if it is not there.
func (w *world) get(obj *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	target := live.Target{ID: render.IDOf(obj), GVK: obj.GroupVersionKind()}
	found, err := live.Reader{Client: w.client}.Get(w.t.Context(), target)
	must(w.t, err)
	return found
}

func (w *world) diff(objects ...*unstructured.Unstructured) []live.Change {
	w.t.Helper()
	changes, err := w.differ.Diff(w.t.Context(), live.DiffRequest{Owner: w.owner, Objects: objects, Policy: live.Policy{Delete: true}})
	must(w.t, err)
	return changes
}

// deploy applies the CustomResourceDefinitions and Namespaces of a render, and then the rest.
func (w *world) deploy(objects []*unstructured.Unstructured) {
	w.t.Helper()
	var first, rest []*unstructured.Unstructured
	for _, obj := range objects {
		if kind := obj.GroupVersionKind().GroupKind(); kind == live.CRDKind || kind == live.NamespaceKind {
			first = append(first, obj)
		} else {
			rest = append(rest, obj)
		}
	}
	w.apply(first...)
	for kind, def := range live.DefinitionsIn(first) {
		w.serves(kind, def.Versions)
	}
	w.apply(rest...)
}

// serves waits until the server serves a kind.
func (w *world) serves(kind schema.GroupKind, versions []string) {
	w.t.Helper()
	for _, version := range versions {
		err := wait.PollUntilContextTimeout(w.t.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind.WithVersion(version).GroupVersion().WithKind(kind.Kind + "List"))
			return w.client.List(ctx, list) == nil, nil
		})
		must(w.t, err)
	}
}

// state is what counts of an object, as JSON has it.
func state(t testing.TB, obj *unstructured.Unstructured) map[string]any {
	t.Helper()
	if obj == nil {
		return nil
	}
	content, err := json.Marshal(obj.Object)
	must(t, err)
	var s map[string]any
	must(t, json.Unmarshal(content, &s))
	delete(s, "status")
	unstructured.RemoveNestedField(s, "metadata", "annotations", "deprecated.daemonset.template.generation") // counts the changes
	metadata, _ := s["metadata"].(map[string]any)
	for _, name := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"} {
		delete(metadata, name)
	}
	for _, name := range []string{"annotations", "labels"} {
		if m, ok := metadata[name].(map[string]any); ok && len(m) == 0 {
			delete(metadata, name)
		}
	}
	return s
}

// agree compares the predictions for objects, made in one diff, with a dry run of each on the server. It returns what differs, and what
// the server refused, by object.
func (w *world) agree(objects ...*unstructured.Unstructured) (differences map[render.ObjectID]string, refused map[render.ObjectID]error) {
	w.t.Helper()
	predicted := map[render.ObjectID]live.Change{}
	for _, change := range w.diff(objects...) {
		predicted[change.ID] = change
	}
	differences, refused = map[render.ObjectID]string{}, map[render.ObjectID]error{}
	for _, obj := range objects {
		desired := w.desired(obj)
		id := render.IDOf(desired)
		before := w.get(desired)
		after, err := w.serverSideApply(desired, client.DryRunAll)
		if err != nil {
			refused[id] = err
			continue
		}
		var change *live.Change
		if c, ok := predicted[id]; ok {
			change = &c
		}
		if difference := disagree(w.t, before, after, change); difference != "" {
			differences[id] = difference
		}
	}
	return differences, refused
}

// disagree says in what a prediction differs from what the server would do. The prediction is nil for no change.
func disagree(t testing.TB, before, after *unstructured.Unstructured, predicted *live.Change) string {
	t.Helper()
	was, is := state(t, before), state(t, after)
	if predicted == nil {
		return cmp.Diff(was, is)
	}
	if want := action(before); predicted.Action != want {
		return fmt.Sprintf("action %s, want %s: %v", predicted.Action, want, predicted.Notes)
	}
	next := state(t, predicted.Next)
	if before != nil && cmp.Equal(was, is) {
		return "the server would change nothing, predicted:\n" + cmp.Diff(was, next)
	}
	return cmp.Diff(was, state(t, predicted.Live)) + cmp.Diff(is, next)
}

func action(before *unstructured.Unstructured) live.ChangeAction {
	if before == nil {
		return live.Create
	}
	return live.Update
}
