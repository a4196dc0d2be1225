package live

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Normalizer knows what the server makes of objects besides merging them. It is safe for concurrent use.
type Normalizer interface {
	// BuiltIn is the kind if it is one of Kubernetes itself in a known version, else nil.
	BuiltIn(gvk schema.GroupVersionKind) NormalKind

	// Custom is the kind that a CustomResourceDefinition defines, and the schemas of all its versions. The error says what is wrong with
	// the definition.
	Custom(crd *unstructured.Unstructured) (NormalKind, managedfields.TypeConverter, error)
}

// NormalKind is what the server makes of the objects of one kind. What it is given is not changed.
type NormalKind interface {
	// New is the object of a version that an apply begins with where nothing is.
	New(version schema.GroupVersion) (*unstructured.Unstructured, error)

	// Normalize returns an object as the server stores and returns it: with its defaults, in canonical form, without what the kind does
	// not have. An object that is normal stays as it is. The error says what the server would not decode.
	Normalize(obj *unstructured.Unstructured) (*unstructured.Unstructured, error)

	// Convert returns an object in another version, the error of a version that the kind does not have being a not-registered error.
	Convert(obj *unstructured.Unstructured, version schema.GroupVersion) (*unstructured.Unstructured, error)
}
