package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Render is the set of objects that a source became, after the mutations, in canonical form. It is immutable. The zero value is
// no render; a render without objects has a ref.
type Render struct {
	ref     Ref
	encoded []byte
	count   int
}

// Ref names the render: the SHA-256 of its encoded bytes.
func (r Render) Ref() Ref { return r.ref }

// Bytes is the canonical form, exactly as stored: a JSON array of objects. Callers must not change it.
func (r Render) Bytes() []byte { return r.encoded }

// Len is the number of objects.
func (r Render) Len() int { return r.count }

// IsZero says that there is no render.
func (r Render) IsZero() bool { return r.ref.IsZero() }

// Objects decodes the objects, ordered by group, kind, namespace and name. Every call returns new ones, which the caller may change.
func (r Render) Objects() ([]*unstructured.Unstructured, error) {
	return decodeObjects(r.encoded)
}
