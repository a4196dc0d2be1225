package render

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// anyValue is a JSON value as unstructured objects hold it.
func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Int64().AsAny(),
		rapid.Float64().AsAny(),
		rapid.SampledFrom([]any{math.Copysign(0, -1), 0.0, 1e6, 1e20, 1e21, 1e-7, 9007199254740993.0, 9223372036854775808.0}),
		rapid.String().AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(anyValue(depth-1), 0, 3).AsAny(),
		rapid.MapOfN(rapid.String(), anyValue(depth-1), 0, 3).AsAny(),
	)...)
}

// anyObjects are objects with an identity of their own each, and some lists of them.
func anyObjects(t *rapid.T) []*unstructured.Unstructured {
	name := rapid.StringMatching(`[a-z]{1,3}`)
	ids := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ObjectID {
		return ObjectID{
			Group:     rapid.SampledFrom([]string{"", "apps", "example.com"}).Draw(t, "group"),
			Kind:      rapid.SampledFrom([]string{"ConfigMap", "Thing", "AllowList"}).Draw(t, "kind"),
			Namespace: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace"),
			Name:      name.Draw(t, "name"),
		}
	}), 0, 8, rapid.ID[ObjectID]).Draw(t, "ids")
	objects := []*unstructured.Unstructured{}
	for _, id := range ids {
		obj := &unstructured.Unstructured{Object: rapid.MapOfN(name, anyValue(3), 0, 3).Draw(t, "fields")}
		delete(obj.Object, "items") // would make it a list
		obj.SetAPIVersion(id.Group + "/v1")
		if id.Group == "" {
			obj.SetAPIVersion("v1")
		}
		obj.SetKind(id.Kind)
		obj.Object["metadata"] = map[string]any{"name": id.Name, "creationTimestamp": nil}
		if id.Namespace != "" {
			obj.SetNamespace(id.Namespace)
		}
		objects = append(objects, obj)
	}
	if cut := rapid.IntRange(0, len(objects)).Draw(t, "list"); cut > 0 {
		list := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
		items := []any{}
		for _, obj := range objects[:cut] {
			items = append(items, obj.Object)
		}
		list.Object["items"] = items
		objects = append(objects[cut:], list)
	}
	return objects
}

func TestNewDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := anyObjects(t)
		first, err := New(objects)
		if err != nil {
			t.Fatal(err)
		}
		second, err := New(rapid.Permutation(slices.Clone(objects)).Draw(t, "order"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("%s and %s", first.Bytes(), second.Bytes())
		}
	})
}

func TestNewOfTheObjectsOfARenderIsThatRender(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, err := New(anyObjects(t))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := first.Objects()
		if err != nil {
			t.Fatal(err)
		}
		if len(objects) != first.Len() {
			t.Fatalf("%d objects, but Len %d", len(objects), first.Len())
		}
		second, err := New(objects)
		if err != nil {
			t.Fatal(err)
		}
		if first.Ref() != second.Ref() {
			t.Fatalf("%s became %s", first.Bytes(), second.Bytes())
		}
	})
}
