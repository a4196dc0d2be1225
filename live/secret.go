package live

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// checkSecret names the key of a Secret that the server would not take. What the server says of it is withheld, since it may quote
// the value.
func checkSecret(obj *unstructured.Unstructured) error {
	if obj.GroupVersionKind().GroupKind() != SecretKind {
		return nil
	}
	for _, field := range []string{"data", "stringData"} {
		value := obj.Object[field]
		values, ok := value.(map[string]any)
		if value != nil && !ok {
			return fmt.Errorf("%s: want a mapping of keys to text", field)
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text, isText := values[key].(string)
			if values[key] != nil && !isText {
				return fmt.Errorf("%s.%s: want text: put the value into quotes", field, key)
			}
			if _, err := base64.StdEncoding.DecodeString(text); err != nil && field == "data" {
				return fmt.Errorf("data.%s: want base64: put plain text into stringData", key)
			}
		}
	}
	return nil
}

// stringDataToData does what the server does on a write, so that convoy owns the fields that it means: an applied stringData owns
// nothing in data, and a key that leaves it would stay.
func stringDataToData(secret *unstructured.Unstructured) {
	plain, ok, err := unstructured.NestedStringMap(secret.Object, "stringData")
	if !ok || err != nil {
		return // nothing to convert, or nothing that the server would accept
	}
	data, _, err := unstructured.NestedMap(secret.Object, "data")
	if err != nil {
		return
	}
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range plain {
		data[k] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	secret.Object["data"] = data
	delete(secret.Object, "stringData")
}
