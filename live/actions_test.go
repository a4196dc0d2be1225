package live_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// recorded is an inventory of objects, as an apply records them.
func (w *world) recorded(objects ...*unstructured.Unstructured) live.Inventory {
	w.t.Helper()
	inventory := live.Inventory{}
	for _, obj := range objects {
		id := render.IDOf(w.desired(obj))
		inventory[id] = v1alpha1.InventoryEntry{
			Group: id.Group, Version: obj.GroupVersionKind().Version, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name,
		}
	}
	return inventory
}

// request asks for a diff of a render with nothing recorded.
func (w *world) request(text string) live.DiffRequest {
	return live.DiffRequest{Owner: w.owner, Objects: w.fill(text), Policy: live.Policy{Delete: true}}
}

// changes are the changes that a request brings, by the object's kind and name.
func (w *world) changes(req live.DiffRequest) map[string]live.Change {
	w.t.Helper()
	list, err := w.differ.Diff(w.t.Context(), req)
	must(w.t, err)
	if !slices.IsSortedFunc(list, func(a, b live.Change) int { return a.ID.Compare(b.ID) }) {
		w.t.Error("the changes are not sorted by identity")
	}
	changes := map[string]live.Change{}
	for _, c := range list {
		changes[c.ID.Kind+" "+c.ID.Name] = c
	}
	return changes
}

// actions are what would be done, and the first note.
func actions(changes map[string]live.Change) map[string]string {
	said := map[string]string{}
	for name, c := range changes {
		said[name] = strings.TrimSpace(string(c.Action) + " " + strings.Join(c.Notes, "; "))
	}
	return said
}

func named(kind, name, more string) string {
	return "{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + more + "}}\n---\n"
}

// leaving are objects that were applied and leave the render.
const leaving = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: wanted, annotations: {convoy.dev/prune: disabled}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`

// leave applies what leaves, and does to it what others did.
func (w *world) leave() live.Inventory {
	w.t.Helper()
	objects := w.fill(leaving)
	w.apply(objects...)
	by("convoy", `{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, labels: {convoy.dev/release-name: other, convoy.dev/release-namespace: NS}}}`)(w)
	for _, i := range []int{3, 4} {
		must(w.t, w.client.Delete(w.t.Context(), w.desired(objects[i])))
	}
	return w.recorded(objects...)
}

func TestWhatLeftTheRenderIsDeletedOrKept(t *testing.T) {
	base := newWorld(t)
	for name, tc := range map[string]struct {
		policy live.Policy
		want   map[string]string
	}{
		"deletes": {live.Policy{Delete: true}, map[string]string{
			"ConfigMap plain":            "delete",
			"ConfigMap held":             "delete it is being deleted already",
			"ConfigMap wanted":           "keep its annotation convoy.dev/prune says disabled",
			"ConfigMap taken":            "keep it is not this Release's any more",
			"PersistentVolumeClaim data": "keep its kind is protected; the annotation convoy.dev/prune: enabled allows deleting it",
		}},
		"keeps": {live.Policy{KeptBecause: "spec.prunePolicy.enabled is false"}, map[string]string{
			"ConfigMap plain":            "keep spec.prunePolicy.enabled is false",
			"ConfigMap held":             "keep spec.prunePolicy.enabled is false",
			"ConfigMap wanted":           "keep its annotation convoy.dev/prune says disabled",
			"ConfigMap taken":            "keep it is not this Release's any more",
			"PersistentVolumeClaim data": "keep spec.prunePolicy.enabled is false",
		}},
		"has a budget": {live.Policy{Delete: true, MaxDeletes: new(intstr.FromInt32(0))}, map[string]string{
			"ConfigMap plain":            "refuse left the render: 1 objects would be deleted, and prunePolicy.maxDeletes 0 allows 0",
			"ConfigMap held":             "refuse it is being deleted already; left the render: 1 objects would be deleted, and prunePolicy.maxDeletes 0 allows 0",
			"ConfigMap wanted":           "keep its annotation convoy.dev/prune says disabled",
			"ConfigMap taken":            "keep it is not this Release's any more",
			"PersistentVolumeClaim data": "keep its kind is protected; the annotation convoy.dev/prune: enabled allows deleting it",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := base.another(t)
			inventory := w.leave()
			changes := w.changes(live.DiffRequest{Owner: w.owner, Inventory: inventory, Policy: tc.policy})
			if d := cmp.Diff(tc.want, actions(changes)); d != "" {
				t.Error(d)
			}
			if c := changes["ConfigMap plain"]; c.Live.GetName() != "plain" || c.Next != nil {
				t.Errorf("live %v and next %v of what leaves", c.Live, c.Next)
			}
			rendered := live.DiffRequest{Owner: w.owner, Objects: w.fill(named("ConfigMap", "plain", "")), Inventory: inventory, Policy: tc.policy}
			if c, ok := w.changes(rendered)["ConfigMap plain"]; ok {
				t.Errorf("%s, though it is in the render", c.Action)
			}
		})
	}
}

func TestAnObjectThatWasRecordedInAVersionOfThePastIsFound(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fill(autoscaler)...)
	inventory := w.recorded(w.fill(autoscaler)...)
	for id, e := range inventory {
		e.Version = "v2beta2"
		inventory[id] = e
	}
	changes := w.changes(live.DiffRequest{Owner: w.owner, Inventory: inventory, Policy: live.Policy{Delete: true}})
	if c := changes["HorizontalPodAutoscaler x"]; c.Action != live.Delete || c.GVK.Version == "v2beta2" {
		t.Errorf("got %s in version %s, want a delete in one that is served", c.Action, c.GVK.Version)
	}
}

func TestWhatAnApplyWouldRefuseIsRefused(t *testing.T) {
	base := newWorld(t)
	for name, tc := range map[string]struct {
		before []step
		render string
		want   map[string]string
	}{
		"owned by another Release": {
			before: []step{by("convoy", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {convoy.dev/release-name: other, convoy.dev/release-namespace: NS}}}`)},
			render: configMap("a: b"),
			want:   map[string]string{"ConfigMap x": "refuse is owned by Release NS/other: remove it from one of the two sources"},
		},
		"of a kind that is not served": {
			render: `{apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}`,
			want:   map[string]string{"Thing x": "refuse the server does not serve Thing.example.com in version v1: install its CustomResourceDefinition, or add it to the source"},
		},
		"a Secret of no base64": {
			render: secret(`data: {password: hunter2!}`),
			want:   map[string]string{"Secret x": "refuse data.password: want base64: put plain text into stringData"},
		},
		"a Secret of another shape": {
			render: secret(`immutable: hunter2`),
			want:   map[string]string{"Secret x": "refuse does not fit the schema of a Secret (fields .immutable); the text is withheld, since it may quote the Secret"},
		},
		"twice": {
			render: configMap("a: b") + "\n---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NS}}`,
			want:   map[string]string{"ConfigMap x": "refuse is in the render twice, with and without its namespace: remove one"},
		},
		"a wave that is no number": {
			render: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {convoy.dev/sync-wave: soon}}}`,
			want:   map[string]string{"ConfigMap x": `refuse annotation convoy.dev/sync-wave: "soon" is not an integer of 32 bits`},
		},
		"before its Namespace": {
			render: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NS-late}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: NS-late, annotations: {convoy.dev/sync-wave: "1"}}}`,
			want: map[string]string{
				"ConfigMap x":       "refuse is in wave 0, before its Namespace in wave 1",
				"Namespace NS-late": "create the server sets its finalizer and a label with its name",
			},
		},
		"a pointer that leads nowhere": {
			render: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {convoy.dev/ignore-drift: data}}}`,
			want: map[string]string{"ConfigMap x": `refuse annotation convoy.dev/ignore-drift: pointer "data": want a JSON pointer that begins with /, ` +
				`such as /spec/replicas, or ` + v1alpha1.IgnoreDriftAll},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := base.another(t)
			for _, step := range tc.before {
				step(w)
			}
			want := map[string]string{}
			for object, said := range tc.want {
				want[strings.ReplaceAll(object, "NS", w.owner.Namespace)] = strings.ReplaceAll(said, "NS", w.owner.Namespace)
			}
			changes := w.changes(w.request(tc.render))
			if d := cmp.Diff(want, actions(changes)); d != "" {
				t.Error(d)
			}
			for name, c := range changes {
				if c.Action == live.Refuse && (c.Next != nil || c.Live != nil) {
					t.Errorf("%s: something is shown of what is refused", name)
				}
			}
		})
	}
}

func TestANamespaceOfTheRenderIsNotThereYet(t *testing.T) {
	w := newWorld(t)
	changes := w.changes(w.request(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NS-new}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: NS-new}}`))
	if c := changes["ConfigMap x"]; c.Action != live.Create || !slices.Equal(c.Notes, []string{live.NamespaceMissing}) {
		t.Errorf("got %s %q, want a create in a Namespace that comes", c.Action, c.Notes)
	}
}

func TestANamespaceThatIsBeingDeletedTakesNoNewObject(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fill(configMap("a: b"))...)
	namespace := w.fill(named("Namespace", "NS", ""))[0]
	must(t, w.client.Delete(t.Context(), namespace)) // no controller runs here that would finish it
	changes := w.changes(w.request(configMap("a: c") + "\n---\n" + named("ConfigMap", "other", "")))
	if c := changes["ConfigMap other"]; c.Action != live.Refuse {
		t.Errorf("got %s %q, want a refusal", c.Action, c.Notes)
	}
	if c := changes["ConfigMap x"]; c.Action != live.Update {
		t.Errorf("got %s %q, want an update of what is there", c.Action, c.Notes)
	}
}

// gears is a definition of a kind of the test's own.
func gears(properties string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gears.NS.example.com}, spec: {group: NS.example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {` + properties + `}}}}}}]}}
---
{apiVersion: NS.example.com/v1, kind: Gear, metadata: {name: x}, spec: {teeth: 7}}
`
}

const (
	teeth = `teeth: {type: integer}`
	more  = teeth + `, color: {type: string, default: red}`
)

func TestACustomResourceIsPredictedByTheDefinitionOfItsRender(t *testing.T) {
	w := newWorld(t)
	changes := w.changes(w.request(gears(more)))
	gear := changes["Gear x"]
	if gear.Action != live.Create || !slices.Equal(gear.Notes, []string{live.KindNotServed}) {
		t.Fatalf("got %s %q, want a create of a kind that is not served yet", gear.Action, gear.Notes)
	}
	if color, _, _ := unstructured.NestedString(gear.Next.Object, "spec", "color"); color != "red" {
		t.Errorf("color %q, want the default of the definition", color)
	}

	w.deploy(w.fill(gears(teeth)))
	if changes := w.changes(w.request(gears(teeth))); len(changes) != 0 {
		t.Fatalf("%v of what was applied", actions(changes))
	}
	colored := strings.Replace(gears(more), "teeth: 7}", "teeth: 7, color: blue}", 1)
	gear = w.changes(w.request(colored))["Gear x"]
	if gear.Action != live.Update || !slices.Equal(gear.Notes, []string{live.SchemaChanges}) {
		t.Fatalf("got %s %q, want an update by the coming schema", gear.Action, gear.Notes)
	}
	if color, _, _ := unstructured.NestedString(gear.Next.Object, "spec", "color"); color != "blue" {
		t.Errorf("color %q, want blue", color)
	}
}

func TestAKindWhoseVersionsAWebhookConvertsSaysSo(t *testing.T) {
	w := newWorld(t)
	conversion := `spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1"}}}, group:`
	webhook := strings.Replace(gears(teeth), "spec: {group:", conversion, 1)
	if c := w.changes(w.request(webhook))["Gear x"]; !strings.Contains(strings.Join(c.Notes, ";"), "a webhook converts the versions of this kind") {
		t.Errorf("got %s %q, want a note on the webhook", c.Action, c.Notes)
	}
}

func TestADefinitionThatGetsALabelChangesNoSchema(t *testing.T) {
	w := newWorld(t)
	w.deploy(w.fill(gears(teeth)))
	labelled := strings.NewReplacer("metadata: {name: gears.NS.example.com", "metadata: {labels: {l: m}, name: gears.NS.example.com", "teeth: 7}", "teeth: 8}")
	changes := w.changes(w.request(labelled.Replace(gears(teeth))))
	if c := changes["Gear x"]; len(changes) != 2 || c.Action != live.Update || len(c.Notes) != 0 {
		t.Errorf("got %v, want two updates without a note", actions(changes))
	}
}

func TestAChangedSchemaIsSeen(t *testing.T) {
	w := newWorld(t)
	w.deploy(w.fill(gears(teeth)))
	resource := strings.Replace(strings.Split(gears(teeth), "---\n")[1], "teeth: 7}", "teeth: 7, color: blue}", 1)
	if c := w.changes(w.request(resource))["Gear x"]; c.Action != live.Refuse || !strings.Contains(c.Notes[0], ".spec.color: field not declared in schema") {
		t.Fatalf("got %s %q, want a refusal", c.Action, c.Notes)
	}
	w.apply(w.fill(gears(more))[0])
	if c := w.changes(w.request(resource))["Gear x"]; c.Action != live.Update {
		t.Errorf("got %s %q, want an update: the schema has the field now", c.Action, c.Notes)
	}
}

func TestOfWhatIsNotTheReleasesNothingIsShownIfItIsConfined(t *testing.T) {
	base := newWorld(t)
	ours := configMap("a: ours")
	for name, tc := range map[string]struct {
		before   []step
		confined bool
		shown    bool
		note     string
	}{
		"foreign":               {[]step{by("other", configMap("secret: s"))}, true, false, "it exists, is not this Release's yet, and would be taken over"},
		"foreign, not confined": {[]step{by("other", configMap("secret: s"))}, false, true, "it exists, is not this Release's yet, and would be taken over"},
		"ours":                  {[]step{convoy(configMap("a: b")), by("other", configMap("secret: s"))}, true, true, ""},
		"ours, its labels stripped": {[]step{
			convoy(configMap("a: b")), by("other", configMap("secret: s")),
			patched("other", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: null}}`),
		}, true, false, "its owner labels were taken off, so what it is now is not shown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := base.another(t)
			for _, step := range tc.before {
				step(w)
			}
			req := w.request(ours)
			req.Confined = tc.confined
			c := w.changes(req)["ConfigMap x"]
			_, foreign, _ := unstructured.NestedString(c.Next.Object, "data", "secret")
			if c.Action != live.Update || (c.Live != nil) != tc.shown || foreign != tc.shown || strings.Join(c.Notes, "") != tc.note {
				t.Errorf("%s %q, live shown %t, in next %t; want an update, shown %t, with %q", c.Action, c.Notes, c.Live != nil, foreign, tc.shown, tc.note)
			}
			leaves := live.DiffRequest{Owner: w.owner, Inventory: w.recorded(w.fill(ours)...), Policy: live.Policy{Delete: true}, Confined: tc.confined}
			if c := w.changes(leaves)["ConfigMap x"]; (c.Live != nil) != tc.shown {
				t.Errorf("leaving the render: %s, live shown %t, want %t", c.Action, c.Live != nil, tc.shown)
			}
		})
	}
}

func TestWhatIsLeftToOthersIsNoChange(t *testing.T) {
	w := newWorld(t)
	left := with(replicas, `metadata: {name: x, annotations: {convoy.dev/ignore-drift: /spec/replicas}}`)
	w.apply(w.fill(left)...)
	scaled(left, 5)(w)
	if changes := w.changes(w.request(left)); len(changes) != 0 {
		t.Errorf("%v, though the replicas are left to others", actions(changes))
	}
	whole := with(configMap("a: b"), `metadata: {name: x, annotations: {convoy.dev/ignore-drift: "`+v1alpha1.IgnoreDriftAll+`"}}`)
	w.apply(w.fill(whole)...)
	patched("other", configMap("a: c"))(w)
	if changes := w.changes(w.request(whole)); len(changes) != 0 {
		t.Errorf("%v, though all of it is left to others", actions(changes))
	}
}

func TestAnObjectThatIsBeingDeletedSaysSo(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fill(configMap("a: b"))...)
	obj := w.desired(w.fill(configMap("a: b"))[0])
	must(t, w.client.Patch(t.Context(), obj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))))
	must(t, w.client.Delete(t.Context(), obj))
	if c := w.changes(w.request(configMap("a: c")))["ConfigMap x"]; c.Action != live.Update || !slices.Equal(c.Notes, []string{"it is being deleted"}) {
		t.Errorf("got %s %q", c.Action, c.Notes)
	}
}
