package live

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// WaveOf reads the wave annotation: convoy's own, else that of Argo CD. An object without one is in wave 0.
func WaveOf(obj *unstructured.Unstructured) (int32, error) {
	annotations := obj.GetAnnotations()
	for _, name := range []string{v1alpha1.SyncWaveAnnotation, v1alpha1.ArgoSyncWaveAnnotation} {
		value, ok := annotations[name]
		if !ok {
			continue
		}
		wave, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("annotation %s: %q is not an integer of 32 bits", name, value)
		}
		return int32(wave), nil
	}
	return 0, nil
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
