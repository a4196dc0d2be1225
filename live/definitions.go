package live

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crdVersion is in which CustomResourceDefinitions are read.
const crdVersion = "v1"

// definitionCache holds what was built from the CustomResourceDefinitions of the server, one state of each.
type definitionCache struct {
	client     client.Reader
	normalizer Normalizer

	mu    sync.Mutex
	built map[string]builtDefinition // by name
}

// builtDefinition is what one state of a definition makes of its kind.
type builtDefinition struct {
	uid        types.UID
	generation int64
	merger     merger
}

// named merges objects of the kind that a definition on the server defines; nil if there is no such definition.
func (c *definitionCache) named(ctx context.Context, name string) (*merger, error) {
	state := &metav1.PartialObjectMetadata{}
	state.SetGroupVersionKind(CRDKind.WithVersion(crdVersion))
	key := client.ObjectKey{Name: name}
	if err := c.client.Get(ctx, key, state); Gone(err) { // an aggregated API has kinds without a definition
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get CustomResourceDefinition %s: %w", name, err)
	}
	if known := c.known(state); known != nil {
		return known, nil
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(CRDKind.WithVersion(crdVersion))
	if err := c.client.Get(ctx, key, crd); err != nil {
		return nil, fmt.Errorf("get CustomResourceDefinition %s: %w", name, err)
	}
	m, err := c.of(crd)
	return &m, err
}

// of merges objects of the kind that a definition as it is on the server defines.
func (c *definitionCache) of(crd *unstructured.Unstructured) (merger, error) {
	if known := c.known(crd); known != nil {
		return *known, nil
	}
	m, err := mergerBy(c.normalizer, crd)
	if err != nil {
		return m, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.built[crd.GetName()] = builtDefinition{crd.GetUID(), crd.GetGeneration(), m}
	return m, nil
}

// known is what was built from a state of a definition; nil if it was not yet.
func (c *definitionCache) known(state metav1.Object) *merger {
	c.mu.Lock()
	defer c.mu.Unlock()
	built, ok := c.built[state.GetName()]
	if !ok || built.uid != state.GetUID() || built.generation != state.GetGeneration() {
		return nil
	}
	return &built.merger
}

// mergerBy merges objects of the kind that a definition defines.
func mergerBy(normalizer Normalizer, crd *unstructured.Unstructured) (merger, error) {
	normal, converter, err := normalizer.Custom(crd)
	if err != nil {
		return merger{}, fmt.Errorf("read the schema of CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	strategy, _, err := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy")
	if err != nil {
		return merger{}, fmt.Errorf("read CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	schemaOf := func(context.Context, schema.GroupVersion) (managedfields.TypeConverter, error) { return converter, nil }
	return merger{normal, schemaOf, strategy == "Webhook"}, nil
}
