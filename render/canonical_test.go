package render

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func configMap(namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// object is a custom object with one more field.
func object(field string, value any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "x"}, field: value,
	}}
}

func mustNew(t testing.TB, objects ...*unstructured.Unstructured) Render {
	t.Helper()
	r, err := New(objects)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// identities lists what a render holds, in its order.
func identities(t testing.TB, r Render) []string {
	t.Helper()
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, 0, len(objects))
	for _, obj := range objects {
		ids = append(ids, IDOf(obj).String())
	}
	return ids
}

func TestObjectsAreOrderedByGroupKindNamespaceName(t *testing.T) {
	ordered := []*unstructured.Unstructured{}
	for _, id := range []struct{ apiVersion, kind, namespace, name string }{
		{"v1", "ConfigMap", "", "z"},
		{"v1", "ConfigMap", "a", "b"},
		{"v1", "ConfigMap", "a", "c"},
		{"v1", "ConfigMap", "b", "a"},
		{"v1", "Secret", "a", "a"},
		{"apps/v1beta1", "Deployment", "a", "a"},
		{"apps/v1", "Deployment", "a", "b"},
		{"batch/v1", "Job", "a", "a"},
	} {
		obj := configMap(id.namespace, id.name)
		obj.SetAPIVersion(id.apiVersion)
		obj.SetKind(id.kind)
		ordered = append(ordered, obj)
	}
	reversed := slices.Clone(ordered)
	slices.Reverse(reversed)
	r := mustNew(t, reversed...)
	want := []string{
		"ConfigMap z", "ConfigMap a/b", "ConfigMap a/c", "ConfigMap b/a", "Secret a/a",
		"Deployment.apps a/a", "Deployment.apps a/b", "Job.batch a/a",
	}
	if diff := cmp.Diff(want, identities(t, r)); diff != "" {
		t.Error(diff)
	}
	if inOrder := mustNew(t, ordered...); inOrder.Ref() != r.Ref() {
		t.Errorf("the order of the objects changes the ref: %s and %s", inOrder.Ref(), r.Ref())
	}
}

func TestCanonicalFormOfAnObject(t *testing.T) {
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   string // of the field spec
	}{
		"keys are sorted":                      {object("spec", map[string]any{"b": "1", "a": "2", "A": "3"}), `{"A":"3","a":"2","b":"1"}`},
		"nothing is escaped for HTML":          {object("spec", "<a href=\"x\">&</a>"), `"<a href=\"x\">&</a>"`},
		"integers keep every digit":            {object("spec", int64(math.MaxInt64)), `9223372036854775807`},
		"integers above 2^53 keep every digit": {object("spec", int64(9007199254740993)), `9007199254740993`},
		"a million has no exponent":            {object("spec", float64(1000000)), `1000000`},
		"floats are as short as they can be":   {object("spec", 0.1), `0.1`},
		"minus zero is zero":                   {object("spec", math.Copysign(0, -1)), `0`},
		"null stays":                           {object("spec", map[string]any{"a": nil}), `{"a":null}`},
		"an empty mapping stays":               {object("spec", map[string]any{}), `{}`},
		"an empty list stays":                  {object("spec", []any{}), `[]`},
		"true and false":                       {object("spec", []any{true, false}), `[true,false]`},
		"the status of a field stays":          {object("spec", map[string]any{"status": "x"}), `{"status":"x"}`},
		"the timestamp of a template stays": {
			object("spec", map[string]any{"template": map[string]any{"metadata": map[string]any{"creationTimestamp": nil}}}),
			`{"template":{"metadata":{"creationTimestamp":null}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := `[{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"},"spec":` + tc.want + `}]`
			if diff := cmp.Diff(want, string(mustNew(t, tc.object).Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusAndCreationTimestampAreDropped(t *testing.T) {
	obj := object("status", map[string]any{"ready": true})
	obj.Object["metadata"] = map[string]any{"name": "x", "creationTimestamp": nil, "labels": map[string]any{"a": "b"}}
	before := obj.DeepCopy()
	want := `[{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"labels":{"a":"b"},"name":"x"}}]`
	if diff := cmp.Diff(want, string(mustNew(t, obj).Bytes())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
		t.Errorf("New changed its argument: %s", diff)
	}
}

func TestListsAreFlattened(t *testing.T) {
	list := func(kind string, items ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"resourceVersion": ""}, "items": items,
		}}
	}
	bare := func(name string) map[string]any { return map[string]any{"metadata": map[string]any{"name": name}} }
	for name, tc := range map[string]struct {
		list *unstructured.Unstructured
		want []string
	}{
		"v1 List":                     {list("List", configMap("", "a").Object, object("a", "b").Object), []string{"ConfigMap a", "Thing.example.com x"}},
		"items take the list's kind":  {list("ConfigMapList", bare("b"), bare("a")), []string{"ConfigMap a", "ConfigMap b"}},
		"items may have their own":    {list("ConfigMapList", configMap("n", "a").Object), []string{"ConfigMap n/a"}},
		"lists in lists":              {list("List", list("ConfigMapList", bare("a")).Object, configMap("", "b").Object), []string{"ConfigMap a", "ConfigMap b"}},
		"empty list":                  {list("List"), []string{}},
		"a kind List without items":   {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "AllowList", "metadata": map[string]any{"name": "x"}}}, []string{"AllowList.example.com x"}},
		"a field items of other type": {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "AllowList", "metadata": map[string]any{"name": "x"}, "items": "all"}}, []string{"AllowList.example.com x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, identities(t, mustNew(t, tc.list))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTwoObjectsWithTheSameIdentityAreAnError(t *testing.T) {
	newer := configMap("a", "x")
	newer.SetAPIVersion("v2")
	_, err := New([]*unstructured.Unstructured{configMap("a", "x"), configMap("b", "x"), newer})
	wantError(t, err, "ConfigMap a/x is defined twice, in object 1 and in object 3: keep one of them")
}

func TestAnObjectWithoutIdentityIsAnError(t *testing.T) {
	with := func(change map[string]any) *unstructured.Unstructured {
		obj := configMap("", "x")
		maps.Copy(obj.Object, change)
		return obj
	}
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"no apiVersion":          {with(map[string]any{"apiVersion": nil}), "object 1: not a Kubernetes object: it needs both apiVersion and kind"},
		"no kind":                {with(map[string]any{"kind": ""}), "object 1: not a Kubernetes object: it needs both apiVersion and kind"},
		"nothing":                {&unstructured.Unstructured{}, "object 1: not a Kubernetes object: it needs both apiVersion and kind"},
		"no metadata":            {with(map[string]any{"metadata": nil}), "object 1: ConfigMap: metadata.name is missing"},
		"metadata is no mapping": {with(map[string]any{"metadata": "x"}), "object 1: ConfigMap: metadata must be a mapping"},
		"no name":                {with(map[string]any{"metadata": map[string]any{"namespace": "a"}}), "object 1: ConfigMap: metadata.name is missing"},
		"only generateName":      {with(map[string]any{"metadata": map[string]any{"generateName": "x-"}}), "object 1: ConfigMap: metadata.generateName makes a new object on every apply: set metadata.name"},
		"the name is a number":   {with(map[string]any{"metadata": map[string]any{"name": int64(1)}}), "object 1: ConfigMap: metadata.name must be a string: put it in quotes"},
		"the namespace is true":  {with(map[string]any{"metadata": map[string]any{"name": "x", "namespace": true}}), "object 1: ConfigMap: metadata.namespace must be a string: put it in quotes"},
		"apiVersion is a number": {with(map[string]any{"apiVersion": int64(1)}), "object 1: apiVersion must be a string: put it in quotes"},
		"apiVersion has 3 parts": {with(map[string]any{"apiVersion": "a/b/c"}), "object 1: ConfigMap: apiVersion: unexpected GroupVersion string: a/b/c"},
		"an item is no object":   {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{"x"}}}, "object 1, item 1: not an object: a list of Kubernetes objects holds only objects"},
		"an item has no name":    {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "SecretList", "items": []any{map[string]any{}}}}, "object 1, item 1: Secret: metadata.name is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New([]*unstructured.Unstructured{tc.object})
			wantError(t, err, tc.want)
		})
	}
}

func TestARenderWithoutObjectsHasARef(t *testing.T) {
	r := mustNew(t)
	if got := string(r.Bytes()); got != "[]" {
		t.Errorf("%s, want []", got)
	}
	// printf '[]' | sha256sum
	if want := "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"; r.Ref().String() != want {
		t.Errorf("ref %s, want %s", r.Ref(), want)
	}
	if r.IsZero() || r.Len() != 0 {
		t.Errorf("IsZero %t, Len %d, want false, 0", r.IsZero(), r.Len())
	}
}

func TestDecodeReturnsWhatNewMade(t *testing.T) {
	made := mustNew(t, configMap("b", "x"), configMap("a", "x"))
	read, err := Decode(made.Ref(), made.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(made.Bytes()), string(read.Bytes())); diff != "" {
		t.Error(diff)
	}
	if read.Ref() != made.Ref() || read.Len() != 2 {
		t.Errorf("decoded %s with %d objects, want %s with 2", read.Ref(), read.Len(), made.Ref())
	}
}

func TestDecodeKeepsTheBytesOfOlderVersions(t *testing.T) {
	older := []byte("[ {\"kind\":\"X\", \"status\":{}, \"a\":1.0} ]\n")
	r, err := Decode(RefOf(older), older)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(older), string(r.Bytes())); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRejectsOtherBytes(t *testing.T) {
	for name, encoded := range map[string]string{
		"no JSON":          `[{"a":`,
		"null":             `null`,
		"an object":        `{}`,
		"an array of null": `[null]`,
		"an array of text": `["x"]`,
		"two arrays":       `[][]`,
		"nothing":          ``,
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := Decode(RefOf([]byte(encoded)), []byte(encoded)); err == nil {
				t.Errorf("decoded %q to %d objects", encoded, r.Len())
			}
		})
	}
	_, err := Decode(mustNew(t).Ref(), []byte("[{}]"))
	wantError(t, err, "decode render sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945: "+
		"its 4 bytes have the SHA-256 of "+RefOf([]byte("[{}]")).String())
}

func TestObjectsCanBeCopiedAndChanged(t *testing.T) {
	r := mustNew(t, object("spec", map[string]any{"int": int64(1), "float": 1.5, "null": nil, "list": []any{"a"}}))
	before := string(r.Bytes())
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	objects[0].DeepCopy() // panics on a number that is neither int64 nor float64
	objects[0].SetName("changed")
	if after := string(r.Bytes()); after != before {
		t.Errorf("a change of the objects changed the render to %s", after)
	}
}

func TestHashIsTheStartOfTheSHA256OfTheCanonicalObject(t *testing.T) {
	obj := object("status", map[string]any{"ready": true})
	hash, err := Hash(obj)
	if err != nil {
		t.Fatal(err)
	}
	// printf '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"}}' | sha256sum
	if want := "08b0d4653d1086c0"; hash != want {
		t.Errorf("hash %s, want %s", hash, want)
	}
	other, err := Hash(object("spec", int64(1)))
	if err != nil {
		t.Fatal(err)
	}
	if other == hash {
		t.Errorf("two objects have the hash %s", hash)
	}
}

func TestHashFailsOnWhatIsNoJSON(t *testing.T) {
	_, err := Hash(object("spec", math.Inf(1)))
	wantError(t, err, "hash Thing.example.com x: json: unsupported value: +Inf")
}

func TestRenderHasLimits(t *testing.T) {
	t.Run("objects", func(t *testing.T) {
		objects := make([]*unstructured.Unstructured, 0, MaxObjects+1)
		for range MaxObjects + 1 {
			objects = append(objects, configMap("", "x"))
		}
		_, err := New(objects)
		wantError(t, err, "the render has more objects than the limit of 20000: split the Release")
	})
	t.Run("bytes", func(t *testing.T) {
		obj := object("spec", strings.Repeat("x", MaxBytes))
		_, err := New([]*unstructured.Unstructured{obj})
		wantError(t, err, "the render has more bytes than the limit of 32 MiB: split the Release")
	})
	t.Run("just as many bytes as allowed", func(t *testing.T) {
		empty := mustNew(t, object("spec", ""))
		r := mustNew(t, object("spec", strings.Repeat("x", MaxBytes-len(empty.Bytes()))))
		if len(r.Bytes()) != MaxBytes {
			t.Errorf("%d bytes, want %d", len(r.Bytes()), MaxBytes)
		}
	})
	t.Run("one more byte", func(t *testing.T) {
		empty := mustNew(t, object("spec", ""))
		_, err := New([]*unstructured.Unstructured{object("spec", strings.Repeat("x", MaxBytes-len(empty.Bytes())+1))})
		if !errors.Is(err, errByteLimit) {
			t.Errorf("got %v, want %v", err, errByteLimit)
		}
	})
	t.Run("depth", func(t *testing.T) {
		nested := func(levels int) *unstructured.Unstructured {
			var value any = "x"
			for range levels - 1 { // the object itself is a level
				value = []any{value}
			}
			return object("spec", value)
		}
		mustNew(t, nested(maxDepth))
		_, err := New([]*unstructured.Unstructured{nested(maxDepth + 1)})
		wantError(t, err, "object 1: encode Thing.example.com x: mappings and lists are nested deeper than 128 levels")
	})
}

// wantError compares the text of an error.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
