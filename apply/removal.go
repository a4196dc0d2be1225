package apply

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// budget holds the deletes of a pass against the policy. A percentage counts from what the Release recorded.
func budget(p live.Policy, removals []Removal, recorded int) error {
	if p.MaxDeletes == nil {
		return nil
	}
	deletes := 0
	for _, r := range removals {
		if r.Live != nil && r.Keep == "" && r.Live.GetDeletionTimestamp().IsZero() {
			deletes++
		}
	}
	limit := p.MaxDeletes.IntValue()
	if p.MaxDeletes.Type == intstr.String {
		percent, err := strconv.Atoi(strings.TrimSuffix(p.MaxDeletes.StrVal, "%"))
		if err != nil {
			return fmt.Errorf("prunePolicy.maxDeletes %q: want a number or a percentage", p.MaxDeletes.StrVal)
		}
		limit = recorded * percent / 100
	}
	if deletes > limit {
		return &PruneRefusedError{Deletes: deletes, Limit: limit, Policy: p.MaxDeletes.String()}
	}
	return nil
}

// planRemovals reads what was recorded and is not in the render any more, and decides what becomes of it.
func (p *Planner) planRemovals(ctx context.Context, req Request, items []Item) ([]Removal, error) {
	inRender := map[render.ObjectID]bool{}
	for _, item := range items {
		inRender[item.ID] = true
	}
	var removals []Removal
	for id, e := range req.Inventory {
		if !inRender[id] {
			removals = append(removals, Removal{ID: id, GVK: e.GroupVersionKind()})
		}
	}
	slices.SortFunc(removals, func(a, b Removal) int { return a.ID.Compare(b.ID) })
	errs := make([]error, len(removals))
	served := sync.OnceValues(func() (live.Kinds, error) { return live.DiscoverKinds(ctx, p.Discovery) })
	var g errgroup.Group
	g.SetLimit(parallel)
	for i := range removals {
		g.Go(func() error {
			errs[i] = p.planRemoval(ctx, req, &removals[i], served)
			return nil
		})
	}
	g.Wait() //nolint:errcheck // the errors are in errs, one a removal
	var failed ObjectErrors
	for i, err := range errs {
		if err != nil {
			failed = append(failed, ObjectError{removals[i].ID, err})
		}
	}
	slices.SortStableFunc(removals, func(a, b Removal) int { return b.position.compare(a.position) })
	return removals, failed.orNil()
}

func (p *Planner) planRemoval(ctx context.Context, req Request, r *Removal, served func() (live.Kinds, error)) error {
	r.position.stage = stageOf(r.ID.GroupKind())
	obj, err := p.readRecorded(ctx, r, served)
	if err != nil && abandons(req.Policy, err) {
		return nil
	}
	if err != nil || obj == nil {
		return err
	}
	r.Live = obj
	if pos, err := positionOf(obj); err == nil { // somebody may have broken the annotation of a live object: then it goes in wave 0
		r.position = pos
	}
	r.Ours = req.Owner.Owns(obj)
	if r.Keep = req.Policy.Keeps(req.Owner, r.ID, obj); r.Keep == "" {
		return p.tryDelete(ctx, r)
	}
	return nil
}

// readRecorded reads an object that is recorded; nil if it is gone. Its kind may be served in another version than the recorded one
// by now: only if it is served in none, the object went with it.
func (p *Planner) readRecorded(ctx context.Context, r *Removal, served func() (live.Kinds, error)) (*unstructured.Unstructured, error) {
	reader := live.Reader{Client: p.Client}
	obj, err := reader.Get(ctx, live.Target{ID: r.ID, GVK: r.GVK})
	if !live.NotServed(err) {
		return obj, err
	}
	kinds, err := served()
	if err != nil {
		return nil, fmt.Errorf("look up its kind: %w", err)
	}
	version, err := kinds.Version(r.ID.GroupKind())
	if version == "" || err != nil {
		return nil, err
	}
	r.GVK.Version = version
	return reader.Get(ctx, live.Target{ID: r.ID, GVK: r.GVK})
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
