package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A render that would be larger is an error.
const (
	// MaxBytes is the most bytes that an encoded render may have: 32 MiB.
	MaxBytes = 32 << 20

	// MaxObjects is the most objects that a render may have.
	MaxObjects = 20_000
)

// hashDigits is how many hex digits of the SHA-256 of an object Hash returns.
const hashDigits = 16

// New makes a render of the objects, in any order. Lists are flattened. It does not change the objects, and keeps none of them. It
// fails on an object without apiVersion, kind or name, on two objects with the same identity, and on more than MaxBytes or
// MaxObjects.
func New(objects []*unstructured.Unstructured) (Render, error) {
	located := make([]locatedObject, 0, len(objects))
	for i, obj := range objects {
		located = append(located, locatedObject{object: obj.Object, location: fmt.Sprintf("object %d", i+1)})
	}
	return newRender(located)
}

// Decode reads a stored render, and verifies that ref names it. The bytes stay as they are, so a render that an older version
// stored is still valid. The caller must not change encoded afterwards.
func Decode(ref Ref, encoded []byte) (Render, error) {
	if actual := RefOf(encoded); actual != ref {
		return Render{}, fmt.Errorf("decode render %s: its %d bytes have the SHA-256 of %s", ref, len(encoded), actual)
	}
	objects, err := decodeObjects(encoded)
	if err != nil {
		return Render{}, fmt.Errorf("decode render %s: %w", ref, err)
	}
	return Render{ref: ref, encoded: encoded, count: len(objects)}, nil
}

// Hash returns the start of the SHA-256 of an object in canonical form: 16 hex digits.
func Hash(obj *unstructured.Unstructured) (string, error) {
	encoded, err := encodeObject(obj.Object)
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", IDOf(obj), err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])[:hashDigits], nil
}

// newRender brings the objects into canonical form.
func newRender(located []locatedObject) (Render, error) {
	objects, err := flatten(located)
	if err != nil {
		return Render{}, err
	}
	if len(objects) > MaxObjects {
		return Render{}, fmt.Errorf("the render has %d objects, more than the limit of %d: split the Release", len(objects), MaxObjects)
	}
	slices.SortStableFunc(objects, func(a, b identifiedObject) int { return a.id.Compare(b.id) })
	if err := checkUnique(objects); err != nil {
		return Render{}, err
	}
	encoded, err := encode(objects)
	if err != nil {
		return Render{}, err
	}
	return Render{ref: RefOf(encoded), encoded: encoded, count: len(objects)}, nil
}

// checkUnique finds two objects with the same identity among sorted objects.
func checkUnique(sorted []identifiedObject) error {
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; a.id == b.id {
			return fmt.Errorf("%s is defined twice, in %s and in %s: keep one of them", a.id, a.location, b.location)
		}
	}
	return nil
}

// encode writes sorted objects as a JSON array.
func encode(sorted []identifiedObject) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, obj := range sorted {
		if i > 0 {
			out.WriteByte(',')
		}
		encoded, err := encodeObject(obj.object)
		if err != nil {
			return nil, fmt.Errorf("%s: encode %s: %w", obj.location, obj.id, err)
		}
		out.Write(encoded)
		if out.Len()+1 > MaxBytes {
			return nil, fmt.Errorf("the render has more bytes than the limit of %d MiB: split the Release", MaxBytes>>20)
		}
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

// encodeObject writes one object in canonical form.
func encodeObject(object map[string]any) ([]byte, error) {
	canonical := maps.Clone(object)
	delete(canonical, "status")
	if metadata, ok := canonical["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "creationTimestamp")
		canonical["metadata"] = metadata
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(withoutNegativeZero(canonical)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// withoutNegativeZero copies a value with 0 for -0, which decodes as the integer 0, so that decoding and encoding change nothing.
func withoutNegativeZero(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if value == nil {
			return nil
		}
		out := make(map[string]any, len(value))
		for k, v := range value {
			out[k] = withoutNegativeZero(v)
		}
		return out
	case []any:
		if value == nil {
			return nil
		}
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = withoutNegativeZero(v)
		}
		return out
	case float64:
		if value == 0 {
			return int64(0)
		}
	}
	return value
}

// decodeObjects reads a JSON array of objects. Numbers become int64 or float64, as in every unstructured object.
func decodeObjects(encoded []byte) ([]*unstructured.Unstructured, error) {
	var values []map[string]any
	if err := utiljson.Unmarshal(encoded, &values); err != nil {
		return nil, err
	}
	if values == nil {
		return nil, errors.New("want a JSON array of objects, not null")
	}
	objects := make([]*unstructured.Unstructured, 0, len(values))
	for i, value := range values {
		if value == nil {
			return nil, fmt.Errorf("want a JSON array of objects, but item %d is null", i)
		}
		objects = append(objects, &unstructured.Unstructured{Object: value})
	}
	return objects, nil
}
