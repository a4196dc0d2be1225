package live

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// WaveOf reads the wave annotation. An object without one is in wave 0.
func WaveOf(obj *unstructured.Unstructured) (int32, error) {
	value, ok := obj.GetAnnotations()[v1alpha1.SyncWaveAnnotation]
	if !ok {
		return 0, nil
	}
	wave, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("annotation %s: %q is not an integer of 32 bits", v1alpha1.SyncWaveAnnotation, value)
	}
	return int32(wave), nil
}

// CheckOrder fails if an object comes in an earlier wave than the definition or the namespace that it needs. The providers are the waves
// of those in the render.
func (d Definitions) CheckOrder(id render.ObjectID, wave int32, providers map[render.ObjectID]int32) error {
	if w, ok := providers[d[id.GroupKind()].ID]; ok && w > wave {
		return fmt.Errorf("is in wave %d, before its CustomResourceDefinition in wave %d", wave, w)
	}
	namespace := render.ObjectID{Kind: NamespaceKind.Kind, Name: id.Namespace}
	if w, ok := providers[namespace]; ok && w > wave {
		return fmt.Errorf("is in wave %d, before its Namespace in wave %d", wave, w)
	}
	return nil
}
