package apply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// resolve turns the objects of the render into items: in the right namespace, with the owner labels, in the order of the apply.
func (p *Planner) resolve(req Request) ([]Item, error) {
	var errs ObjectErrors
	definitions := live.DefinitionsIn(req.Objects)
	items := make([]Item, 0, len(req.Objects))
	seen := map[render.ObjectID]bool{}
	for _, obj := range req.Objects {
		item, err := p.resolveObject(req, obj, definitions)
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

func (p *Planner) resolveObject(req Request, obj *unstructured.Unstructured, definitions live.Definitions) (Item, error) {
	hash, err := hashOf(req.Ref, obj)
	if err != nil {
		return Item{}, err
	}
	pos, err := positionOf(obj)
	if err != nil {
		return Item{}, err
	}
	if err := live.CheckPruneAnnotation(obj); err != nil {
		return Item{}, err
	}
	if err := live.CheckForceAnnotation(obj); err != nil {
		return Item{}, err
	}
	namespaced, served, err := definitions.Scope(p.Mapper, obj.GroupVersionKind())
	if err != nil {
		return Item{}, err
	}
	desired, err := live.Desired(req.Owner, obj, namespaced)
	if err != nil {
		return Item{}, err
	}
	if _, err := live.LeaveToOthers(desired, nil); err != nil { // the annotation is malformed
		return Item{}, err
	}
	item := Item{ID: render.IDOf(desired), GVK: desired.GroupVersionKind(), Desired: desired, Hash: hash, Action: Created, position: pos}
	if !served {
		item.Untried = kindNotServed
	}
	return item, nil
}

// hashOf is what the inventory keeps of an object. Of a Secret it is the render that it was in: a hash of its own would let whoever may read
// the inventory test what its only value is.
func hashOf(ref render.Ref, obj *unstructured.Unstructured) (string, error) {
	if obj.GroupVersionKind().GroupKind() == live.SecretKind {
		return ref.Short(), nil
	}
	return render.Hash(obj)
}

// outOfOrder are the objects that come in an earlier wave than the definition or the namespace that they need.
func outOfOrder(items []Item, definitions live.Definitions) ObjectErrors {
	providers := map[render.ObjectID]int32{} // the waves of definitions and namespaces
	for _, item := range items {
		if item.position.stage == stageProviders {
			providers[item.ID] = item.position.wave
		}
	}
	var errs ObjectErrors
	for _, item := range items {
		if err := definitions.CheckOrder(item.ID, item.position.wave, providers); err != nil {
			errs = append(errs, ObjectError{item.ID, err})
		}
	}
	return errs
}
