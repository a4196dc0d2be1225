package live

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// Forced says whether an object of a render is to be deleted and created anew where the server refuses to update it.
func Forced(desired *unstructured.Unstructured) bool {
	return desired.GetAnnotations()[v1alpha1.ForceAnnotation] == v1alpha1.ForceEnabled ||
		fluxSays(desired, v1alpha1.FluxForceAnnotation, v1alpha1.FluxEnabled)
}

// CheckForceAnnotation fails if an object says something about its re-creation that means nothing.
func CheckForceAnnotation(obj *unstructured.Unstructured) error {
	switch value := obj.GetAnnotations()[v1alpha1.ForceAnnotation]; value {
	case "", v1alpha1.ForceEnabled:
		return nil
	default:
		return fmt.Errorf("annotation %s: want %s, not %q", v1alpha1.ForceAnnotation, v1alpha1.ForceEnabled, value)
	}
}

// KeptFromForce says why a live object is not deleted to be created anew; empty if it may be. It is kept as it would be if it left the
// render, by what the render or a person says of it.
func KeptFromForce(owner Owner, desired, found *unstructured.Unstructured) string {
	obj := desired.DeepCopy()
	obj.SetUID(found.GetUID())
	annotations, labels := found.GetAnnotations(), found.GetLabels()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(annotations, desired.GetAnnotations())
	maps.Copy(labels, desired.GetLabels())
	obj.SetAnnotations(annotations)
	obj.SetLabels(labels)
	return Policy{Delete: true}.Keeps(owner, render.IDOf(desired), obj)
}
