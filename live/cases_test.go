package live_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// step is something that happened on the server. NS in a manifest stands for the namespace of the Release.
type step func(w *world)

// fill makes objects of the manifests of a case.
func (w *world) fill(text string) []*unstructured.Unstructured {
	w.t.Helper()
	return manifest(w.t, strings.ReplaceAll(text, "NS", w.owner.Namespace))
}

// convoy applied it.
func convoy(text string) step {
	return func(w *world) { w.apply(w.fill(text)...) }
}

// by is what another manager applied, by force.
func by(manager, text string) step {
	return func(w *world) {
		for _, obj := range w.fill(text) {
			obj.SetNamespace(w.desired(obj).GetNamespace())
			_, err := w.serverSideApply(obj, client.FieldOwner(manager))
			must(w.t, err)
		}
	}
}

// clientSide is what kubectl apply created.
func clientSide(text string) step {
	return func(w *world) {
		for _, obj := range w.fill(text) {
			content, err := json.Marshal(obj.Object)
			must(w.t, err)
			obj.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(content) + "\n"})
			obj.SetNamespace(w.desired(obj).GetNamespace())
			must(w.t, w.client.Create(w.t.Context(), obj, client.FieldOwner("kubectl-client-side-apply")))
		}
	}
}

// patched is what another manager changed: an object with what is to be merged into it.
func patched(manager, text string) step {
	return func(w *world) {
		for _, obj := range w.fill(text) {
			obj.SetNamespace(w.desired(obj).GetNamespace())
			patch, err := json.Marshal(obj.Object)
			must(w.t, err)
			must(w.t, w.client.Patch(w.t.Context(), obj, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(manager)))
		}
	}
}

// scaled is what kubectl scale does.
func scaled(text string, replicas int64) step {
	return func(w *world) {
		for _, obj := range w.fill(text) {
			obj.SetNamespace(w.owner.Namespace)
			scale := &unstructured.Unstructured{}
			scale.SetAPIVersion("autoscaling/v1")
			scale.SetKind("Scale")
			must(w.t, w.client.SubResource("scale").Get(w.t.Context(), obj, scale))
			must(w.t, unstructured.SetNestedField(scale.Object, replicas, "spec", "replicas"))
			must(w.t, w.client.SubResource("scale").Update(w.t.Context(), obj, client.WithSubResourceBody(scale), client.FieldOwner("kubectl")))
		}
	}
}

// cleared managedFields: nobody owns anything.
func cleared(text string) step {
	return func(w *world) {
		for _, obj := range w.fill(text) {
			obj.SetNamespace(w.desired(obj).GetNamespace())
			must(w.t, w.client.Patch(w.t.Context(), obj, client.RawPatch(types.JSONPatchType,
				[]byte(`[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`))))
		}
	}
}

// adopt does what an apply does first with an object that it takes over.
func (w *world) adopt(desired *unstructured.Unstructured) {
	w.t.Helper()
	found := w.get(desired)
	if found == nil || !w.owner.Adopts(found, false) {
		return
	}
	entries, taken, err := live.TakeOver(desired, found)
	must(w.t, err)
	if taken {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": entries}})
		must(w.t, err)
		must(w.t, w.client.Patch(w.t.Context(), found, client.RawPatch(types.MergePatchType, patch)))
	}
}

// prediction is one case: what was done, and what is to be applied next.
type prediction struct {
	before  []step
	desired string

	unchanged bool   // the apply changes nothing
	short     string // why what the server makes of it has more than what is predicted: the fields, by name
	schema    string // both refuse it, in these words
	server    string // the server alone refuses it, in these words
	note      string // what is said with it
}

func (p prediction) check(t *testing.T, w *world) {
	for _, step := range p.before {
		step(w)
	}
	obj := w.fill(p.desired)[0]
	desired := w.desired(obj)
	before := w.get(desired)
	changes := w.diff(obj)
	w.adopt(desired)
	after, refused := w.serverSideApply(desired, client.DryRunAll)
	if want := p.schema + p.server; (refused == nil) != (want == "") || refused != nil && !strings.Contains(refused.Error(), want) {
		t.Fatalf("the server answers %v, want %q", refused, want)
	}
	if p.unchanged != (len(changes) == 0) {
		t.Fatalf("%d changes, want none: %t", len(changes), p.unchanged)
	}
	if p.unchanged {
		if d := disagree(t, before, after, nil); d != "" {
			t.Error(d)
		}
		return
	}
	change := changes[0]
	if len(changes) != 1 || change.ID != render.IDOf(desired) {
		t.Fatalf("%d changes, first of %s", len(changes), change.ID)
	}
	if !slices.ContainsFunc(change.Notes, func(n string) bool { return strings.Contains(n, p.note) }) && p.note != "" {
		t.Errorf("notes %q, want one with %q", change.Notes, p.note)
	}
	p.compare(t, before, after, change)
}

func (p prediction) compare(t *testing.T, before, after *unstructured.Unstructured, change live.Change) {
	switch {
	case p.schema != "":
		if change.Action != live.Refuse || !strings.Contains(strings.Join(change.Notes, ""), p.schema) || change.Next != nil {
			t.Errorf("predicted %s %q, want a refusal with %q", change.Action, change.Notes, p.schema)
		}
	case p.server != "":
		if change.Action != action(before) {
			t.Errorf("predicted %s, want %s", change.Action, action(before))
		}
	case p.short != "":
		for _, field := range strings.Fields(p.short) {
			path := strings.Split(field, "/")
			for _, obj := range []*unstructured.Unstructured{after, change.Next} {
				unstructured.RemoveNestedField(obj.Object, path...)
			}
		}
		fallthrough
	default:
		if d := disagree(t, before, after, &change); d != "" {
			t.Error(d)
		}
	}
}

func TestAPredictionIsWhatTheServerSays(t *testing.T) {
	base := newWorld(t)
	base.deploy(manifest(t, widgets))
	for _, group := range []struct {
		name  string
		cases map[string]prediction
	}{
		{"list keys", listKeys}, {"atomic", atomicValues}, {"removed", removedFields}, {"others", otherManagers}, {"defaults", defaultedFields},
		{"values", equalValues}, {"custom resources", customResources}, {"creates", creates}, {"immutable", immutableFields},
	} {
		for name, p := range group.cases {
			t.Run(group.name+"/"+name, func(t *testing.T) { p.check(t, base.another(t)) })
		}
	}
}

// deployment is a Deployment with fields of its spec, and of the spec of its pods.
func deployment(spec, pod string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {` + spec +
		` selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {` + pod + `}}}}`
}

// container is a Deployment of one container with some fields.
func container(fields string) string {
	return deployment("", `containers: [{name: main, image: "main:1"`+fields+`}]`)
}

func configMap(data string) string {
	return `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {` + data + `}}`
}

func service(spec string) string {
	return `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {` + spec + `}}`
}

func secret(fields string) string {
	return `{apiVersion: v1, kind: Secret, metadata: {name: x}, ` + fields + `}`
}

func widget(version, spec string) string {
	return `{apiVersion: test.convoy.dev/` + version + `, kind: Widget, metadata: {name: x}, spec: {` + spec + `}}`
}

// again is a case in which what was applied is applied again.
func again(text string) prediction {
	return prediction{before: []step{convoy(text)}, desired: text, unchanged: true}
}

// then is a case in which something else is applied than before.
func then(first, next string) prediction {
	return prediction{before: []step{convoy(first)}, desired: next}
}

// with sets what the object of a manifest has at its top.
func with(text, fields string) string {
	var obj, more map[string]any
	for value, into := range map[string]*map[string]any{text: &obj, "{" + fields + "}": &more} {
		if err := yaml.Unmarshal([]byte(value), into); err != nil {
			panic(err) // a mistake in a case
		}
	}
	for name, value := range more {
		obj[name] = value
	}
	out, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return string(out)
}
