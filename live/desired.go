package live

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/render"
)

// Why an object cannot be tried on the server before the apply.
const (
	KindNotServed    = "its CustomResourceDefinition is in the same render and not served yet"
	NamespaceMissing = "its Namespace is in the same render and not there yet"
	SchemaChanges    = "its CustomResourceDefinition changes in the same render"
)

// Desired is an object of a render as it is applied for its owner: in a namespace if it is namespaced, marked as the owner's, and a
// Secret with data alone. The error names a key of a Secret that the server would not take.
func Desired(owner Owner, obj *unstructured.Unstructured, namespaced bool) (*unstructured.Unstructured, error) {
	if err := checkSecret(obj); err != nil {
		return nil, err
	}
	desired := obj.DeepCopy()
	switch {
	case !namespaced:
		desired.SetNamespace("") // kubectl drops it too
	case desired.GetNamespace() == "":
		desired.SetNamespace(owner.Namespace)
	}
	labels := desired.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, owner.Labels())
	desired.SetLabels(labels)
	if desired.GroupVersionKind().GroupKind() == SecretKind {
		stringDataToData(desired)
	}
	return desired, nil
}

// Definition is what a CustomResourceDefinition of a render says of its kind.
type Definition struct {
	ID         render.ObjectID
	Namespaced bool
	Versions   []string // served
}

// Definitions are the CustomResourceDefinitions of a render, by the kind that they define.
type Definitions map[schema.GroupKind]Definition

// DefinitionsIn reads the definitions of a render. One that is malformed fails its own dry run, which says more than could be said here.
func DefinitionsIn(objects []*unstructured.Unstructured) Definitions {
	definitions := Definitions{}
	for _, obj := range objects {
		if obj.GroupVersionKind().GroupKind() != CRDKind {
			continue
		}
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
		versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
		def := Definition{ID: render.IDOf(obj), Namespaced: scope == "Namespaced"}
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if served, _ := version["served"].(bool); served {
				name, _ := version["name"].(string)
				def.Versions = append(def.Versions, name)
			}
		}
		definitions[schema.GroupKind{Group: group, Kind: kind}] = def
	}
	return definitions
}

// Scope says whether a kind is namespaced, and whether the server serves it. One that is not served counts if its definition is in the
// same render.
func (d Definitions) Scope(mapper meta.RESTMapper, gvk schema.GroupVersionKind) (namespaced, served bool, err error) {
	def, defined := d[gvk.GroupKind()]
	if defined && !slices.Contains(def.Versions, gvk.Version) {
		return false, false, fmt.Errorf("its CustomResourceDefinition in the render does not serve version %s", gvk.Version)
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err == nil:
		return mapping.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
	case !meta.IsNoMatchError(err):
		return false, false, &lookupError{err}
	case !defined:
		return false, false, ErrNotServed(gvk)
	}
	return def.Namespaced, false, nil
}

// lookupError says that the server could not be asked for a kind, which says nothing about the kind.
type lookupError struct{ cause error }

func (e *lookupError) Error() string { return "look up the kind: " + e.cause.Error() }
func (e *lookupError) Unwrap() error { return e.cause }

// ErrNotServed says that a kind cannot be deployed, and what to do.
func ErrNotServed(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("the server does not serve %s in version %s: install its CustomResourceDefinition, or add it to the source",
		gvk.GroupKind(), gvk.Version)
}
