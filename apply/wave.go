package apply

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/live"
)

// position is where in an apply an object comes: its wave, and the stage inside the wave. A prune goes the other way round.
type position struct {
	wave  int32
	stage stage
}

// stage orders kinds inside a wave, since some kinds make others possible, and some get in the way of others.
type stage int

const (
	stageProviders    stage = iota // what other objects need to exist at all
	stageObjects                   // everything else
	stageInterceptors              // what sits in the way of requests for other objects, and may not be able to answer yet
)

func stageOf(kind schema.GroupKind) stage {
	switch kind {
	case live.CRDKind, live.NamespaceKind:
		return stageProviders
	case schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
		schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
		schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		return stageInterceptors
	}
	return stageObjects
}

func (p position) compare(other position) int {
	return cmp.Or(cmp.Compare(p.wave, other.wave), cmp.Compare(p.stage, other.stage))
}

// positionOf is the position of an object. Without an annotation of its wave it is in wave 0.
func positionOf(obj *unstructured.Unstructured) (position, error) {
	wave, err := live.WaveOf(obj)
	return position{wave, stageOf(obj.GroupVersionKind().GroupKind())}, err
}

// grouped cuts a sorted list into runs of equal keys.
func grouped[T any, K comparable](list []T, key func(T) K) [][]T {
	var groups [][]T
	for len(list) > 0 {
		first := key(list[0])
		n := slices.IndexFunc(list, func(t T) bool { return key(t) != first })
		if n < 0 {
			n = len(list)
		}
		groups, list = append(groups, list[:n]), list[n:]
	}
	return groups
}
