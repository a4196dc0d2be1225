package apply

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// resolve turns the objects of the render into items: in the right namespace, with the owner labels, in the order of the apply.
func (p *Planner) resolve(req Request) ([]Item, error) {
	var errs ObjectErrors
	definitions := definitionsIn(req.Objects)
	items := make([]Item, 0, len(req.Objects))
	seen := map[render.ObjectID]bool{}
	for _, obj := range req.Objects {
		item, err := p.resolveObject(req.Owner, obj, definitions)
		if err == nil && seen[item.ID] {
			err = fmt.Errorf("is in the render twice, with and without its namespace: remove one")
		}
		if err != nil {
			errs = append(errs, ObjectError{render.IDOf(obj), err})
			continue
		}
		seen[item.ID] = true
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b Item) int {
		if c := a.position.compare(b.position); c != 0 {
			return c
		}
		return a.ID.Compare(b.ID)
	})
	errs = append(errs, outOfOrder(items, definitions)...)
	return items, errs.orNil()
}

func (p *Planner) resolveObject(owner Owner, obj *unstructured.Unstructured, definitions map[schema.GroupKind]definition) (Item, error) {
	hash, err := render.Hash(obj)
	if err != nil {
		return Item{}, err
	}
	pos, err := positionOf(obj)
	if err != nil {
		return Item{}, err
	}
	if err := errors.Join(checkPruneAnnotation(obj), checkSecret(obj)); err != nil {
		return Item{}, err
	}
	namespaced, why, err := p.scope(obj.GroupVersionKind(), definitions)
	if err != nil {
		return Item{}, err
	}
	desired := desiredFor(owner, obj, namespaced)
	return Item{
		ID: render.IDOf(desired), GVK: desired.GroupVersionKind(), Desired: desired, Hash: hash, Action: Created, Untried: why, position: pos,
	}, nil
}

// scope says whether a kind is namespaced. A kind that is not served counts if its definition is in the same render.
func (p *Planner) scope(gvk schema.GroupVersionKind, definitions map[schema.GroupKind]definition) (bool, untried, error) {
	def, defined := definitions[gvk.GroupKind()]
	if defined && !slices.Contains(def.versions, gvk.Version) {
		return false, "", fmt.Errorf("its CustomResourceDefinition in the render does not serve version %s", gvk.Version)
	}
	mapping, err := p.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err == nil:
		return mapping.Scope.Name() == meta.RESTScopeNameNamespace, "", nil
	case !meta.IsNoMatchError(err):
		return false, "", fmt.Errorf("look up the kind: %w", err)
	case !defined:
		return false, "", errNotServed(gvk)
	}
	return def.namespaced, kindNotServed, nil
}

func errNotServed(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("the server does not serve %s in version %s: install its CustomResourceDefinition, or add it to the source",
		gvk.GroupKind(), gvk.Version)
}

// definition is what a CustomResourceDefinition of the render says of its kind.
type definition struct {
	id         render.ObjectID
	namespaced bool
	versions   []string // served
	wave       int32
}

func definitionsIn(objects []*unstructured.Unstructured) map[schema.GroupKind]definition {
	definitions := map[schema.GroupKind]definition{}
	for _, obj := range objects {
		if obj.GroupVersionKind().GroupKind() != crdKind {
			continue
		}
		// A definition that is malformed fails its own dry run, which says more than could be said here.
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
		versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
		def := definition{id: render.IDOf(obj), namespaced: scope == "Namespaced"}
		if pos, err := positionOf(obj); err == nil {
			def.wave = pos.wave
		}
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if served, _ := version["served"].(bool); served {
				name, _ := version["name"].(string)
				def.versions = append(def.versions, name)
			}
		}
		definitions[schema.GroupKind{Group: group, Kind: kind}] = def
	}
	return definitions
}

// outOfOrder are the objects that come in an earlier wave than the definition or the namespace that they need.
func outOfOrder(items []Item, definitions map[schema.GroupKind]definition) ObjectErrors {
	namespaces := map[string]int32{}
	for _, item := range items {
		if item.ID.GroupKind() == namespaceKind {
			namespaces[item.ID.Name] = item.position.wave
		}
	}
	var errs ObjectErrors
	for _, item := range items {
		if def, ok := definitions[item.ID.GroupKind()]; ok && def.wave > item.position.wave {
			err := fmt.Errorf("is in wave %d, before its CustomResourceDefinition in wave %d", item.position.wave, def.wave)
			errs = append(errs, ObjectError{item.ID, err})
		}
		if wave, ok := namespaces[item.ID.Namespace]; ok && wave > item.position.wave {
			errs = append(errs, ObjectError{item.ID, fmt.Errorf("is in wave %d, before its Namespace in wave %d", item.position.wave, wave)})
		}
	}
	return errs
}

// desiredFor is the object as it is sent: in a namespace if it is namespaced, and marked as the owner's.
func desiredFor(owner Owner, obj *unstructured.Unstructured, namespaced bool) *unstructured.Unstructured {
	desired := obj.DeepCopy()
	switch {
	case !namespaced:
		desired.SetNamespace("") // kubectl drops it too
	case desired.GetNamespace() == "":
		desired.SetNamespace(owner.Namespace)
	}
	labels := desired.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for k, v := range owner.Labels() {
		labels[k] = v
	}
	desired.SetLabels(labels)
	if desired.GroupVersionKind().GroupKind() == secretKind {
		stringDataToData(desired)
	}
	return desired
}

func checkPruneAnnotation(obj *unstructured.Unstructured) error {
	switch value := obj.GetAnnotations()[v1alpha1.PruneAnnotation]; value {
	case "", v1alpha1.PruneDisabled, v1alpha1.PruneEnabled:
		return nil
	default:
		return errors.New("annotation " + v1alpha1.PruneAnnotation + ": want " + v1alpha1.PruneDisabled + " or " + v1alpha1.PruneEnabled +
			", not " + fmt.Sprintf("%q", value))
	}
}
