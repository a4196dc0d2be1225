package redact

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// mask stands for every value of a Secret, whatever its length.
	mask = "***"

	// changedMask stands for a value that differs from the one on the other side.
	changedMask = mask + " (changed)"
)

// valueFields are the fields of a Secret that hold its values.
var valueFields = []string{"data", "stringData"}

// IsSecret says whether an object is a Secret, of whatever version. None is none.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Secret").GroupKind()
}

// Secrets masks the values of a Secret on the two sides of a change, either of which may be nil: what is equal stays equal, and what is
// different stays different. It changes the objects. Other kinds stay as they are.
func Secrets(before, after *unstructured.Unstructured) {
	if !IsSecret(before) && !IsSecret(after) {
		return
	}
	values := ValuesOf(before, after)
	left, right := contentOf(before), contentOf(after)
	for _, field := range valueFields {
		maskField(left, right, field)
	}
	maskNamed(annotationsOf(before), annotationsOf(after), func(name string, value any) bool {
		text, _ := value.(string)
		return name == corev1.LastAppliedConfigAnnotation || values.shownIn(text)
	})
}

// maskField masks each value below a field. A field of another shape than the API wants is a value itself.
func maskField(left, right map[string]any, field string) {
	leftValues, leftOK := left[field].(map[string]any)
	rightValues, rightOK := right[field].(map[string]any)
	if (left[field] == nil || leftOK) && (right[field] == nil || rightOK) {
		maskNamed(leftValues, rightValues, func(string, any) bool { return true })
		return
	}
	maskNamed(left, right, func(name string, _ any) bool { return name == field })
}

// maskNamed masks those values of two mappings that are to be hidden on one side at least.
func maskNamed(left, right map[string]any, hidden func(name string, value any) bool) {
	for name, before := range left {
		after, both := right[name]
		if !hidden(name, before) && (!both || !hidden(name, after)) {
			continue
		}
		left[name] = mask
		switch {
		case both && equality.Semantic.DeepEqual(before, after):
			right[name] = mask
		case both:
			right[name] = changedMask
		}
	}
	for name, after := range right {
		if _, both := left[name]; !both && hidden(name, after) {
			right[name] = mask
		}
	}
}

func contentOf(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

func annotationsOf(obj *unstructured.Unstructured) map[string]any {
	metadata, _ := contentOf(obj)["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}
