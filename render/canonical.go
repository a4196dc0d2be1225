package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// hashDigits is how many hex digits of the SHA-256 of an object Hash returns.
const hashDigits = 16

// New makes a render of the objects, in any order. Lists are flattened. It does not change the objects, and keeps none of them. It
// fails on an object without apiVersion, kind or name, on two objects with the same identity, and on more than MaxBytes or
// MaxObjects.
func New(objects []*unstructured.Unstructured) (Render, error) {
	var c collection
	for i, obj := range objects {
		if err := c.add(obj.Object, fmt.Sprintf("object %d", i+1)); err != nil {
			return Render{}, err
		}
	}
	return c.render()
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

// encodeObject writes one object in canonical form.
func encodeObject(object map[string]any) ([]byte, error) {
	canonical := maps.Clone(object)
	delete(canonical, "status")
	if metadata, ok := canonical["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "creationTimestamp")
		canonical["metadata"] = metadata
	}
	value, err := canonicalValue(canonical, 0)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// canonicalValue copies a value with 0 for -0, which decodes as the integer 0, so that decoding and encoding change nothing. depth is
// how many mappings and lists are around it.
func canonicalValue(value any, depth int) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		if depth >= maxDepth {
			return nil, errTooDeep
		}
		out := make(map[string]any, len(value))
		for k, v := range value {
			element, err := canonicalValue(v, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = element
		}
		return out, nil
	case []any:
		if depth >= maxDepth {
			return nil, errTooDeep
		}
		out := make([]any, len(value))
		for i, v := range value {
			element, err := canonicalValue(v, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = element
		}
		return out, nil
	case float64:
		if value == 0 {
			return int64(0), nil
		}
	}
	return value, nil
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
