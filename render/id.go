package render

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ObjectID is the identity of an object in a render: two objects with the same one are the same object, whatever their versions.
type ObjectID struct {
	Group     string
	Kind      string
	Namespace string // empty for cluster-scoped objects, and where the source leaves it to the Release
	Name      string // of a hook without one, its generateName
}

// IDOf returns the identity of an object.
func IDOf(obj *unstructured.Unstructured) ObjectID {
	gvk := obj.GroupVersionKind()
	return ObjectID{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: cmp.Or(obj.GetName(), obj.GetGenerateName())}
}

// GroupKind is the kind of the object.
func (id ObjectID) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: id.Group, Kind: id.Kind}
}

// String is the identity as messages show it: Kind.group namespace/name.
func (id ObjectID) String() string {
	s := id.GroupKind().String() + " "
	if id.Namespace != "" {
		s += id.Namespace + "/"
	}
	return s + id.Name
}

// Compare orders identities by group, kind, namespace and name.
func (id ObjectID) Compare(other ObjectID) int {
	return cmp.Or(
		cmp.Compare(id.Group, other.Group),
		cmp.Compare(id.Kind, other.Kind),
		cmp.Compare(id.Namespace, other.Namespace),
		cmp.Compare(id.Name, other.Name),
	)
}
