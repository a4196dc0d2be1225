package render

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var (
	errNoKind = errors.New("not a Kubernetes object: it needs both apiVersion and kind")
	errNoName = errors.New("metadata.name is missing")
)

// identify reads the identity of an object. It says what is missing.
func identify(object map[string]any) (ObjectID, error) {
	apiVersion, err := text(object, "apiVersion", "apiVersion")
	if err != nil {
		return ObjectID{}, err
	}
	kind, err := text(object, "kind", "kind")
	if err != nil {
		return ObjectID{}, err
	}
	if apiVersion == "" || kind == "" {
		return ObjectID{}, errNoKind
	}
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ObjectID{}, fmt.Errorf("%s: apiVersion: %w", kind, err)
	}
	id := ObjectID{Group: version.Group, Kind: kind}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok && object["metadata"] != nil {
		return ObjectID{}, fmt.Errorf("%s: metadata must be a mapping", id.GroupKind())
	}
	if id.Name, err = text(metadata, "name", "metadata.name"); err == nil {
		id.Namespace, err = text(metadata, "namespace", "metadata.namespace")
	}
	if err != nil {
		return ObjectID{}, fmt.Errorf("%s: %w", id.GroupKind(), err)
	}
	if id.Name == "" && metadata["generateName"] != nil {
		if !isHook(metadata) {
			return ObjectID{}, fmt.Errorf("%s: metadata.generateName makes a new object on every apply: set metadata.name", id.GroupKind())
		}
		if id.Name, err = text(metadata, "generateName", "metadata.generateName"); err != nil {
			return ObjectID{}, fmt.Errorf("%s: %w", id.GroupKind(), err)
		}
	}
	if id.Name == "" {
		return ObjectID{}, fmt.Errorf("%s: %w", id.GroupKind(), errNoName)
	}
	return id, nil
}

// isHook says whether an object is a hook, which is created anew every time that it runs, so that its name may be made up.
func isHook(metadata map[string]any) bool {
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		return false
	}
	for _, name := range []string{v1alpha1.HookAnnotation, v1alpha1.ArgoHookAnnotation, v1alpha1.HelmHookAnnotation} {
		if value, ok := annotations[name].(string); ok {
			return name != v1alpha1.ArgoHookAnnotation || value != "Sync"
		}
	}
	return false
}

// text returns a field that is a string, or absent.
func text(object map[string]any, key, path string) (string, error) {
	value, ok := object[key].(string)
	if !ok && object[key] != nil {
		return "", fmt.Errorf("%s must be a string: put it in quotes", path)
	}
	return value, nil
}
