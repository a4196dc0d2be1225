package live

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Overridden are the fields that the server stored with another value than was sent, since its admission changes them: a digest of each,
// for the inventory. It is empty for a Secret, of whose values not even a digest is kept. If there are more than an entry holds, the rest
// is left out, as all of them are if the server's managedFields cannot be read; a diff then shows them.
func Overridden(sent, stored *unstructured.Unstructured) []string {
	if sent.GroupVersionKind().GroupKind() == SecretKind {
		return nil
	}
	var digests []string
	err := eachOwned(stored, func(path fieldpath.Path) error {
		was, ok := valueAt(sent.Object, path)
		is, _ := valueAt(stored.Object, path)
		if !ok || sameValue(was, is) {
			return nil
		}
		digest, err := overrideDigest(path, was, is)
		digests = append(digests, digest)
		return err
	})
	if err != nil {
		return nil
	}
	slices.Sort(digests)
	return digests[:min(len(digests), v1alpha1.MaxOverridden)]
}

// override puts into what is predicted what the server's admission makes of it again: the fields that are sent and live as they were when
// they were recorded as overridden. It says whether there is one. next and normal are the prediction and the live object in normal form.
func override(next, normal, sent, live *unstructured.Unstructured, recorded []string) (overridden bool, err error) {
	if len(recorded) == 0 {
		return false, nil
	}
	err = eachOwned(live, func(path fieldpath.Path) error {
		was, ok := valueAt(sent.Object, path)
		is, _ := valueAt(live.Object, path)
		if !ok || sameValue(was, is) {
			return nil
		}
		digest, err := overrideDigest(path, was, is)
		if err == nil && slices.Contains(recorded, digest) {
			value, there := valueAt(normal.Object, path)
			setAt(next.Object, path, value, there)
			overridden = true
		}
		return err
	})
	return overridden, err
}

// eachOwned visits the fields of an object that convoy applied. Elements of sets are not visited: they are there or not.
func eachOwned(obj *unstructured.Unstructured, visit func(fieldpath.Path) error) error {
	var failed error
	for _, e := range obj.GetManagedFields() {
		if !IsOurs(e) {
			continue
		}
		owned, err := fieldsOf(e)
		if err != nil {
			return err
		}
		owned.Leaves().Iterate(func(path fieldpath.Path) {
			if failed == nil && path[len(path)-1].FieldName != nil {
				failed = visit(path)
			}
		})
	}
	return failed
}

// overrideDigest is the start of the SHA-256 of a field and both its values: 16 hex digits.
func overrideDigest(path fieldpath.Path, sent, stored any) (string, error) {
	content, err := json.Marshal([]any{path.String(), sent, stored})
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]), nil
}

// valueAt is what an object has at a path, and whether it has it.
func valueAt(at any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		next, ok := step(at, element)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}

func step(at any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		fields, _ := at.(map[string]any)
		next, ok := fields[*element.FieldName]
		return next, ok
	}
	list, _ := at.([]any)
	i := slices.IndexFunc(list, func(item any) bool { return isElement(item, element) })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// isElement says whether a path means this element of a list: by its key, or by its value.
func isElement(item any, element fieldpath.PathElement) bool {
	switch {
	case element.Key != nil:
		return hasKey(item, *element.Key)
	case element.Value != nil:
		return value.Equals(value.NewValueInterface(item), *element.Value)
	}
	return false
}

func hasKey(item any, key value.FieldList) bool {
	fields, ok := item.(map[string]any)
	return ok && !slices.ContainsFunc(key, func(f value.Field) bool {
		is, ok := fields[f.Name]
		return !ok || !value.Equals(value.NewValueInterface(is), f.Value)
	})
}

// setAt sets what an object has at a path that ends in a field, or takes it out. Where the path leads nowhere, nothing is set.
func setAt(obj map[string]any, path fieldpath.Path, value any, there bool) {
	above, _ := valueAt(obj, path[:len(path)-1])
	fields, ok := above.(map[string]any)
	switch name := path[len(path)-1].FieldName; {
	case !ok:
	case there:
		fields[*name] = runtime.DeepCopyJSONValue(value)
	default:
		delete(fields, *name)
	}
}

// sameValue says whether the server may have written a value in another form: a quantity, a number, or nothing for what is empty.
func sameValue(sent, stored any) bool {
	if reflect.DeepEqual(sent, stored) {
		return true
	}
	if stored == nil && (sent == nil || reflect.ValueOf(sent).IsZero() || isEmpty(sent)) {
		return true
	}
	a, aErr := resource.ParseQuantity(scalar(sent))
	b, bErr := resource.ParseQuantity(scalar(stored))
	return aErr == nil && bErr == nil && a.Cmp(b) == 0
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// scalar is a number or a text as text; empty for everything else.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return fmt.Sprint(v)
	case float64:
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			return fmt.Sprint(v)
		}
	}
	return ""
}
