package apply

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// Removal is one object that left the render.
type Removal struct {
	ID   render.ObjectID
	GVK  schema.GroupVersionKind
	Live *unstructured.Unstructured // nil if it is gone already
	Keep string                     // why it is left running; empty if it is deleted
	Ours bool                       // false if it is somebody else's by now

	position position
}

// deletes counts the objects that a prune deletes.
func deletes(removals []Removal) int {
	n := 0
	for _, r := range removals {
		if r.Live != nil && r.Keep == "" && r.Live.GetDeletionTimestamp().IsZero() {
			n++
		}
	}
	return n
}

// planRemovals reads what was recorded and is not in the render any more, and decides what becomes of it.
func (p *Planner) planRemovals(ctx context.Context, req Request, items []Item, hooks live.HookSet) ([]Removal, error) {
	inRender := map[render.ObjectID]bool{}
	for _, item := range items {
		inRender[item.ID] = true
	}
	var removals []Removal
	for id, e := range req.Inventory {
		if !inRender[id] && !hooks.Has(id) {
			removals = append(removals, Removal{ID: id, GVK: e.GroupVersionKind()})
		}
	}
	slices.SortFunc(removals, func(a, b Removal) int { return a.ID.Compare(b.ID) })
	served := sync.OnceValues(func() (live.Kinds, error) { return live.DiscoverKinds(ctx, p.Discovery) })
	errs := inParallel(len(removals), func(i int) error { return p.planRemoval(ctx, req, &removals[i], served) })
	failed := objectErrors(errs, func(i int) render.ObjectID { return removals[i].ID })
	slices.SortStableFunc(removals, func(a, b Removal) int { return b.position.compare(a.position) })
	return removals, failed.orNil()
}

func (p *Planner) planRemoval(ctx context.Context, req Request, r *Removal, served func() (live.Kinds, error)) error {
	r.position.stage = stageOf(r.ID.GroupKind())
	obj, err := live.Reader{Client: p.Client}.Recorded(ctx, live.Target{ID: r.ID, GVK: r.GVK}, served)
	if err != nil && abandons(req.Policy, err) {
		return nil
	}
	if err != nil || obj == nil {
		return err
	}
	r.Live, r.GVK = obj, obj.GroupVersionKind()
	if pos, err := positionOf(obj); err == nil { // somebody may have broken the annotation of a live object: then it goes in wave 0
		r.position = pos
	}
	r.Ours = req.Owner.Owns(obj)
	if r.Keep = req.Policy.Keeps(req.Owner, r.ID, obj); r.Keep == "" {
		return p.tryDelete(ctx, r)
	}
	return nil
}

// tryDelete finds out before anything is changed that a delete would be refused.
func (p *Planner) tryDelete(ctx context.Context, r *Removal) error {
	err := p.Client.Delete(ctx, r.Live.DeepCopy(), client.DryRunAll)
	if err == nil || live.Gone(err) {
		return nil
	}
	return fmt.Errorf("would not be deleted: %w", err)
}

// abandons says whether a missing right is no failure.
func abandons(p live.Policy, err error) bool { return p.Abandon && apierrors.IsForbidden(err) }
