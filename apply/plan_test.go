package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

var testOwner = live.Owner{Namespace: "apps", Name: "podinfo", UID: "u-1"}

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// mapper serves ConfigMap, Secret, Namespace, ClusterRole and CustomResourceDefinition.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, gvk := range []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}} {
		m.Add(gvk, meta.RESTScopeNamespace)
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, live.CRDKind.WithVersion("v1"), {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	} {
		m.Add(gvk, meta.RESTScopeRoot)
	}
	return m
}

func resolve(t *testing.T, manifests ...string) ([]Item, error) {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, m := range manifests {
		objects = append(objects, object(t, m))
	}
	return (&Planner{Mapper: mapper()}).resolve(Request{Owner: testOwner, Objects: objects})
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com, annotations: {convoy.dev/sync-wave: "%d"}}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true}, {name: v2, served: false}]`

func TestObjectsGetTheNamespaceOfTheRelease(t *testing.T) {
	items, err := resolve(t,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: c, namespace: dropped}}`,
		`{apiVersion: example.com/v1, kind: Widget, metadata: {name: d}}`,
		fmt.Sprintf(widgets, 0))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, item := range items {
		got[item.ID.Name] = item.ID.Namespace + "/" + item.Desired.GetNamespace()
	}
	want := map[string]string{"a": "apps/apps", "b": "other/other", "c": "/", "d": "apps/apps", "widgets.example.com": "/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResolveNamesWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		manifests []string
		want      string
	}{
		"the same object with and without its namespace": {
			[]string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}}`},
			"ConfigMap apps/a: is in the render twice",
		},
		"an unknown kind": {
			[]string{`{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}}`},
			"Gadget.example.com a: the server does not serve Gadget.example.com in version v1: install its CustomResourceDefinition",
		},
		"a version that the definition does not serve": {
			[]string{`{apiVersion: example.com/v2, kind: Widget, metadata: {name: a}}`, fmt.Sprintf(widgets, 0)},
			"does not serve version v2",
		},
		"a wave that is no number": {
			[]string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {convoy.dev/sync-wave: first}}}`},
			`ConfigMap a: annotation convoy.dev/sync-wave: "first" is not an integer`,
		},
		"a prune annotation that says nothing": {
			[]string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {convoy.dev/prune: "yes"}}}`},
			`annotation convoy.dev/prune: want disabled or enabled, not "yes"`,
		},
		"a force annotation that says nothing": {
			[]string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {convoy.dev/force: "true"}}}`},
			`ConfigMap a: annotation convoy.dev/force: want enabled, not "true"`,
		},
		"a custom resource before its definition": {
			[]string{`{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}`, fmt.Sprintf(widgets, 1)},
			"Widget.example.com apps/a: is in wave 0, before its CustomResourceDefinition in wave 1",
		},
		"an object before its namespace": {
			[]string{
				`{apiVersion: v1, kind: Namespace, metadata: {name: new, annotations: {convoy.dev/sync-wave: "2"}}}`,
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: new}}`,
			},
			"ConfigMap new/a: is in wave 0, before its Namespace in wave 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resolve(t, tc.manifests...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestWavesInOrderNegativesFirstDefinitionsFirstInside(t *testing.T) {
	wave := func(name string, n int) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, annotations: {convoy.dev/sync-wave: "%d"}}}`, name, n)
	}
	items, err := resolve(t, wave("late", 2), `{apiVersion: v1, kind: ConfigMap, metadata: {name: default}}`, wave("first", -3),
		`{apiVersion: v1, kind: Namespace, metadata: {name: ns}}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range items {
		got = append(got, item.ID.Name)
	}
	if diff := cmp.Diff([]string{"first", "ns", "default", "late"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSecretIsAppliedWithDataNeverStringData(t *testing.T) {
	items, err := resolve(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {plain: hello, both: new}, data: {both: b2xk, coded: eA==}}`)
	if err != nil {
		t.Fatal(err)
	}
	secret := items[0].Desired.Object
	want := map[string]any{"plain": "aGVsbG8=", "both": "bmV3", "coded": "eA=="}
	if diff := cmp.Diff(want, secret["data"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := secret["stringData"]; ok {
		t.Error("stringData is still there")
	}
}

func TestPruneBudget(t *testing.T) {
	obj := &unstructured.Unstructured{}
	removals := []Removal{{Live: obj}, {Live: obj}, {Live: obj}, {Live: obj, Keep: "kept"}, {}}
	for _, tc := range []struct {
		max     *intstr.IntOrString
		refused bool
	}{
		{nil, false},
		{new(intstr.FromInt32(3)), false},
		{new(intstr.FromInt32(2)), true},
		{new(intstr.FromInt32(0)), true},
		{new(intstr.FromString("60%")), false}, // 3 of 5
		{new(intstr.FromString("59%")), true},
		{new(intstr.FromString("0%")), true},
		{new(intstr.FromString("100%")), false},
	} {
		err := live.Policy{Delete: true, MaxDeletes: tc.max}.Budget(deletes(removals), 5)
		var refused *live.PruneRefusedError
		if errors.As(err, &refused) != tc.refused || (err != nil) != tc.refused {
			t.Errorf("3 deletes of 5 objects with maxDeletes %v: error %v, want refused %t", tc.max, err, tc.refused)
		}
	}
}

func TestErrorsAboutSecretsQuoteNoValue(t *testing.T) {
	id := render.ObjectID{Kind: "Secret", Namespace: "apps", Name: "db"}
	invalid := apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", schema.GroupResource{Resource: "secrets"}, "db",
		`data.password: Invalid value: "hunter2"`, 0, false)
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "data[password]", Message: "hunter2"}}
	got := withoutValues(id, fmt.Errorf("apply: %w", invalid)).Error()
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "data[password]") {
		t.Errorf("%q quotes the value, or does not name the field", got)
	}
	other := render.ObjectID{Kind: "ConfigMap", Namespace: "apps", Name: "db"}
	if err := withoutValues(other, invalid); !errors.Is(err, invalid) {
		t.Errorf("the error of a ConfigMap became %v", err)
	}
}

func TestOwnerThatIsGoneBindsNobody(t *testing.T) {
	releases := map[string]string{"apps/other": "other"}
	ownerName := func(_ context.Context, namespace, label string) (string, error) {
		if label == "unreachable" {
			return "", errors.New("no answer")
		}
		return releases[namespace+"/"+label], nil
	}
	for label, want := range map[string]string{
		"other":       "is owned by Release apps/other",
		"gone":        "",
		"podinfo":     "", // ours
		"unreachable": "look up its owner, Release apps/unreachable: no answer",
	} {
		obj := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
		obj.SetLabels(v1alpha1.OwnerLabels("apps", label))
		err := testOwner.MayTake(t.Context(), obj, ownerName)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("object of Release %s: error %v, want %q", label, err, want)
		}
	}
}

// TestTheHashOfASecretTellsNothingOfItsValues: the inventory can be read by whoever may read Releases.
func TestTheHashOfASecretTellsNothingOfItsValues(t *testing.T) {
	hashOf := func(manifest string) string {
		t.Helper()
		obj := object(t, manifest)
		items, err := (&Planner{Mapper: mapper()}).resolve(Request{Owner: testOwner, Ref: render.RefOf([]byte("[]")), Objects: []*unstructured.Unstructured{obj}})
		if err != nil || len(items) != 1 {
			t.Fatalf("%d items and error %v", len(items), err)
		}
		return items[0].Hash
	}
	secret := func(value string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: ` + value + `}}`
	}
	if a, b := hashOf(secret("a")), hashOf(secret("b")); a != b || a != render.RefOf([]byte("[]")).Short() {
		t.Errorf("hashes %s and %s of Secrets with different values, want that of the render", a, b)
	}
	if a, b := hashOf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: a}}`), hashOf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: b}}`); a == b {
		t.Error("two different ConfigMaps have one hash")
	}
}
