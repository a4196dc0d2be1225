package observer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/redact"
	"github.com/convoy-dev/convoy/render"
)

const settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, uid: u, resourceVersion: '1', generation: 1, creationTimestamp: x, managedFields: [{}]}, data: {a: %s}, status: {s: %s}}"

func TestAChangeIsShownWithoutWhatTheServerKeeps(t *testing.T) {
	before, after := object(t, fmt.Sprintf(settings, "one", "one")), object(t, fmt.Sprintf(settings, "two", "two"))
	after.SetResourceVersion("2")
	p := &printer{to: "abc", left: printedBytes}
	id := render.IDOf(before)
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	got, err := p.print(live.Change{Action: live.Update, ID: id, GVK: gvk, Live: before, Next: after, Notes: []string{"a note"}}, redact.ValuesOf())
	if err != nil {
		t.Fatal(err)
	}
	want := subresources.ReleaseChange{
		Action: subresources.ChangeUpdate, APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "c", Notes: []string{"a note"},
		Unified: "--- live\n+++ abc\n@@ -1,6 +1,6 @@\n apiVersion: v1\n data:\n-  a: one\n+  a: two\n kind: ConfigMap\n metadata:\n   name: c\n",
	}
	patch := got.Patch
	got.Patch = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(patch) != 1 || patch[0].Op != "replace" || patch[0].Path != "/data/a" || string(patch[0].Value.Raw) != `"two"` {
		t.Errorf("patch %+v", patch)
	}
	if before.GetUID() != "u" || before.Object["status"] == nil {
		t.Error("the object of the change was changed")
	}
}

func TestOnlyANoteIsShownOfWhatIsKeptOrRefused(t *testing.T) {
	p := &printer{left: printedBytes}
	secret := object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Y29ycmVjdC1ob3JzZQ==}}")
	for _, action := range []live.ChangeAction{live.Keep, live.Refuse} {
		got, err := p.print(live.Change{Action: action, ID: render.IDOf(secret), Live: secret, Notes: []string{"it holds correct-horse"}}, redact.ValuesOf())
		if err != nil || got.Unified != "" || got.Patch != nil || got.Notes[0] != "it holds ***" {
			t.Errorf("%s: got %+v, %v", action, got, err)
		}
	}
}

func TestADiffOfObjectsBeyondTheLimitSaysSoInsteadOfShowingThem(t *testing.T) {
	p := &printer{left: 10}
	var notes []int
	for range 3 {
		got, err := p.print(live.Change{Action: live.Create, Next: object(t, fmt.Sprintf(settings, "one", "one"))}, redact.ValuesOf())
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, len(got.Notes))
		if (got.Unified == "") != (len(got.Notes) == 1) {
			t.Errorf("got %+v", got)
		}
	}
	if diff := cmp.Diff([]int{0, 1, 1}, notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheTimeOfAUnifiedDiffIsNotQuadratic(t *testing.T) {
	var before, after strings.Builder
	for i := range 100_000 {
		fmt.Fprintln(&before, i%1000)
		fmt.Fprintln(&after, (i*7)%1000)
	}
	started := time.Now()
	if text := unified([]byte(before.String()), "x", []byte(after.String())); !strings.HasPrefix(text, "--- live\n+++ x\n@@ ") {
		t.Errorf("got %.100s", text)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAPatchMakesOneObjectOfTheOtherAndIsTheSameEveryTime(t *testing.T) {
	list := func(n int) []any {
		var l []any
		for i := range n {
			l = append(l, map[string]any{"n": int64(i)})
		}
		return l
	}
	objects := []map[string]any{
		{},
		{"a": "x", "b": map[string]any{"c": int64(1), "10": "x", "9": "y"}, "list": list(12)},
		{"a": "y", "b": map[string]any{"d/e~f": nil, "9": "z"}, "list": list(3)},
		{"b": []any{"x"}, "list": append(list(11), "x", nil), "large": int64(9007199254740993)},
		{"b": []any{"x"}, "list": []any{}, "large": int64(9007199254740992), "f": 0.5},
	}
	for i, from := range objects {
		for j, to := range objects {
			before, after := &unstructured.Unstructured{Object: from}, &unstructured.Unstructured{Object: to}
			patch, err := patchOf(before, after)
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				if again, _ := patchOf(before, after); !cmp.Equal(patch, again) {
					t.Fatalf("%d to %d: another order: %v, %v", i, j, patch, again)
				}
			}
			if got, want := applied(t, from, patch), encoded(t, to); got != want {
				t.Errorf("%d to %d: got %s, want %s", i, j, got, want)
			}
		}
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// applied is an object after a patch, with its keys in order.
func applied(t *testing.T, object map[string]any, operations []subresources.PatchOperation) string {
	t.Helper()
	if operations == nil {
		return encoded(t, object)
	}
	patch, err := jsonpatch.DecodePatch([]byte(encoded(t, operations)))
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply([]byte(encoded(t, object)))
	if err != nil {
		t.Fatal(err)
	}
	var sorted any
	decoder := json.NewDecoder(strings.NewReader(string(after)))
	decoder.UseNumber()
	if err := decoder.Decode(&sorted); err != nil {
		t.Fatal(err)
	}
	return encoded(t, sorted)
}

// object reads a manifest.
func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
