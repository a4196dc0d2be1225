package live_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// forcing is admission that sets data.a and the first image to values of its own.
const forcing = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NS}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, secrets]}
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        object.kind == "Deployment"
        ? [JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "forced:1"}]
        : [JSONPatch{op: "replace", path: "/data/a", value: "Zm9yY2Vk"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS}
`

// forces installs the policy, and waits until the server follows it.
func (w *world) forces() {
	w.t.Helper()
	w.apply(w.fill(forcing)...)
	probe := w.desired(w.fill(configMap("a: b"))[0])
	err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		result, err := w.serverSideApply(probe, client.DryRunAll) //nolint:contextcheck // it is that of the test
		if err != nil {
			return false, err
		}
		a, _, err := unstructured.NestedString(result.Object, "data", "a")
		return a != "b", err
	})
	must(w.t, err)
}

// sent applies the objects, and records what the server overrode.
func (w *world) sent(objects ...*unstructured.Unstructured) live.Inventory {
	w.t.Helper()
	inventory := w.recorded(objects...)
	for _, obj := range objects {
		desired := w.desired(obj)
		stored, err := w.serverSideApply(desired)
		must(w.t, err)
		id := render.IDOf(desired)
		entry := inventory[id]
		entry.Overridden = live.Overridden(desired, stored)
		inventory[id] = entry
	}
	return inventory
}

func TestWhatAdmissionOverridesIsNoChange(t *testing.T) {
	w := newWorld(t)
	w.forces()
	objects := configMap("a: b, c: d") + "\n---\n" + container(`, env: [{name: A, value: a}]`)
	req := w.request(objects)
	if changes := w.changes(req); len(changes) != 2 {
		t.Fatalf("%v, want two creates", actions(changes))
	}
	req.Inventory = w.sent(req.Objects...)
	for id, e := range req.Inventory {
		if len(e.Overridden) != 1 || len(e.Overridden[0]) != 16 {
			t.Errorf("%s: recorded %q, want one digest", id, e.Overridden)
		}
	}
	if changes := w.changes(req); len(changes) != 0 {
		t.Fatalf("%v, though only admission makes it differ", actions(changes))
	}

	next := w.request(configMap("a: b, c: e") + "\n---\n" + container(`, env: [{name: A, value: b}]`))
	next.Inventory = req.Inventory
	changes := w.changes(next)
	if len(changes) != 2 {
		t.Fatalf("%v, want two updates", actions(changes))
	}
	for _, obj := range next.Objects {
		after, err := w.serverSideApply(w.desired(obj), client.DryRunAll)
		must(t, err)
		change := changes[obj.GetKind()+" x"]
		if d := cmp.Diff(state(t, after), state(t, change.Next)); d != "" {
			t.Errorf("%s: %s", obj.GetKind(), d)
		}
		if !strings.Contains(strings.Join(change.Notes, ""), "admission") {
			t.Errorf("%s: notes %q, want one on admission", obj.GetKind(), change.Notes)
		}
	}
}

func TestAnotherValueThanTheOverriddenOneIsAChange(t *testing.T) {
	w := newWorld(t)
	w.forces()
	req := w.request(configMap("a: b"))
	req.Inventory = w.sent(req.Objects...)
	other := w.request(configMap("a: other"))
	other.Inventory = req.Inventory
	if c := w.changes(other)["ConfigMap x"]; c.Action != live.Update {
		t.Errorf("got %q, want an update: what admission makes of this value is not known", c.Action)
	}
}

func TestOfASecretNothingIsRecordedAsOverridden(t *testing.T) {
	w := newWorld(t)
	w.forces()
	for id, e := range w.sent(w.fill(secret("data: {a: Yg==}"))...) {
		if e.Overridden != nil {
			t.Errorf("%s: %q", id, e.Overridden)
		}
	}
}

func TestAnotherWayToWriteAValueIsNotOverridden(t *testing.T) {
	w := newWorld(t)
	objects := w.fill(container(`, tty: false, command: null, env: [], resources: {limits: {cpu: 1000m, memory: 1024Mi}}, ports: [{containerPort: 80}]`) +
		"\n---\n" + configMap("a: b") + "\n---\n" + webService)
	for id, e := range w.sent(objects...) {
		if e.Overridden != nil {
			t.Errorf("%s: %q", id, e.Overridden)
		}
	}
}

func TestAnEntryHoldsSoManyOverriddenFields(t *testing.T) {
	sent := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{}}}
	stored := sent.DeepCopy()
	owned := map[string]any{}
	for i := range 2 * v1alpha1.MaxOverridden {
		name := fmt.Sprint("n", i)
		must(t, unstructured.SetNestedField(sent.Object, "sent", "data", name))
		must(t, unstructured.SetNestedField(stored.Object, "stored", "data", name))
		owned["f:"+name] = map[string]any{}
	}
	must(t, unstructured.SetNestedSlice(stored.Object, []any{map[string]any{
		"manager": v1alpha1.FieldManager, "operation": "Apply", "fieldsV1": map[string]any{"f:data": owned},
	}}, "metadata", "managedFields"))
	if got := len(live.Overridden(sent, stored)); got != v1alpha1.MaxOverridden {
		t.Errorf("%d digests, want %d", got, v1alpha1.MaxOverridden)
	}
}
