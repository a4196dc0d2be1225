package builtin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/live"
)

// Normalizer is a live.Normalizer.
type Normalizer struct{}

var _ live.Normalizer = Normalizer{}

// BuiltIn is the kind if this program was built with it.
func (Normalizer) BuiltIn(gvk schema.GroupVersionKind) live.NormalKind {
	if gvk.Version == runtime.APIVersionInternal || !scheme.Recognizes(gvk) {
		return nil
	}
	return kind(gvk.GroupKind())
}

// kind is a kind of Kubernetes.
type kind schema.GroupKind

func (k kind) in(version schema.GroupVersion) schema.GroupVersionKind {
	return version.WithKind(k.Kind)
}

// New has the fields that the Go type always writes.
func (k kind) New(version schema.GroupVersion) (*unstructured.Unstructured, error) {
	empty, err := scheme.New(k.in(version))
	if err != nil {
		return nil, err
	}
	return toUnstructured(empty, k.in(version))
}

// Normalize defaults an object and takes it through the internal version, as the server does. A field that the types of this program
// do not have stays: the server may be newer.
func (k kind) Normalize(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := obj.GroupVersionKind()
	typed, err := toTyped(obj)
	if err != nil {
		return nil, err
	}
	scheme.Default(typed)
	if typed, err = convert(typed, gvk.GroupVersion()); err != nil {
		return nil, err
	}
	normal, err := toUnstructured(typed, gvk)
	if err != nil {
		return nil, err
	}
	kept := obj
	if gvk.GroupKind() == live.SecretKind { // the conversion has moved stringData into data
		kept = obj.DeepCopy()
		delete(kept.Object, "stringData")
	}
	restore(normal.Object, kept.Object)
	return normal, nil
}

func (k kind) Convert(obj *unstructured.Unstructured, version schema.GroupVersion) (*unstructured.Unstructured, error) {
	if !scheme.Recognizes(k.in(version)) {
		return nil, runtime.NewNotRegisteredErrForKind(scheme.Name(), k.in(version))
	}
	typed, err := toTyped(obj)
	if err != nil {
		return nil, err
	}
	if typed, err = convert(typed, version); err != nil {
		return nil, err
	}
	return toUnstructured(typed, k.in(version))
}

// convert takes an object to the internal version and on.
func convert(typed runtime.Object, version schema.GroupVersion) (runtime.Object, error) {
	internal := schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal}
	hub, err := scheme.UnsafeConvertToVersion(typed, internal)
	if err != nil {
		return nil, err
	}
	return scheme.UnsafeConvertToVersion(hub, version)
}

func toTyped(obj *unstructured.Unstructured) (runtime.Object, error) {
	typed, err := scheme.New(obj.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
		return nil, fmt.Errorf("decode it: %w", err)
	}
	return typed, nil
}

func toUnstructured(typed runtime.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

// restore puts back what an object had and its Go type has not, except for what is empty: that may have been left out as such.
func restore(normal, had map[string]any) {
	for name, value := range had {
		now, ok := normal[name]
		if !ok && !empty(value) {
			normal[name] = runtime.DeepCopyJSONValue(value)
			continue
		}
		restoreIn(now, value)
	}
}

func restoreIn(normal, had any) {
	switch had := had.(type) {
	case map[string]any:
		if normal, ok := normal.(map[string]any); ok {
			restore(normal, had)
		}
	case []any:
		if normal, ok := normal.([]any); ok && len(normal) == len(had) {
			for i := range had {
				restoreIn(normal[i], had[i])
			}
		}
	}
}

// empty says whether a value is one that a Go type may leave out.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, below := range v {
			if !empty(below) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return false
}
