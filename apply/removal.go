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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// Policy is what happens to objects that left the render.
type Policy struct {
	// Delete deletes them; otherwise they are left running and lose their owner labels.
	Delete bool
	// KeptBecause says why nothing is deleted, if so.
	KeptBecause string
	// Abandon lets go also of what the rights do not reach any more. Its owner labels stay, which is harmless once their Release is
	// gone.
	Abandon bool
	// MaxDeletes limits the deletes of one pass; nil is no limit.
	MaxDeletes *intstr.IntOrString
}

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
func (p Policy) budget(removals []Removal, recorded int) error {
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
	if err != nil && req.Policy.abandons(err) {
		return nil
	}
	if err != nil || obj == nil {
		return err
	}
	r.Live = obj
	if pos, err := positionOf(obj); err == nil { // somebody may have broken the annotation of a live object: then it goes in wave 0
		r.position = pos
	}
	r.Ours = ours(req.Owner, obj)
	if r.Keep = req.Owner.keeps(r); r.Keep == "" {
		r.Keep = req.Policy.keep(r)
	}
	if r.Keep == "" {
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

// ours says whether a recorded object is still the owner's: it has its labels, or not both of anybody's and fields that convoy applied.
func ours(owner Owner, obj *unstructured.Unstructured) bool {
	label, namespace := obj.GetLabels()[v1alpha1.ReleaseNameLabel], obj.GetLabels()[v1alpha1.ReleaseNamespaceLabel]
	if label != "" && namespace != "" {
		return label == v1alpha1.OwnerLabelValue(owner.Name) && namespace == owner.Namespace
	}
	return slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == v1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// keeps says why an object cannot be deleted before the owner itself; empty if it can.
func (o Owner) keeps(r *Removal) string {
	switch {
	case r.Live.GetUID() == o.UID:
		return "it is this Release itself"
	case r.ID.GroupKind() == namespaceKind && r.ID.Name == o.Namespace:
		return "it is the namespace of this Release"
	}
	return ""
}

// abandons says whether a missing right is no failure.
func (p Policy) abandons(err error) bool { return p.Abandon && apierrors.IsForbidden(err) }

// keep says why an object is left running; empty if it is to be deleted.
func (p Policy) keep(r *Removal) string {
	protected := []schema.GroupKind{crdKind, namespaceKind, pvcKind}
	annotation := r.Live.GetAnnotations()[v1alpha1.PruneAnnotation]
	switch {
	case !r.Ours:
		return "it is not this Release's any more"
	case annotation == v1alpha1.PruneDisabled:
		return "its annotation " + v1alpha1.PruneAnnotation + " says " + v1alpha1.PruneDisabled
	case !p.Delete:
		return p.KeptBecause
	case slices.Contains(protected, r.ID.GroupKind()) && annotation != v1alpha1.PruneEnabled:
		return "its kind is protected; the annotation " + v1alpha1.PruneAnnotation + ": " + v1alpha1.PruneEnabled + " allows deleting it"
	}
	return ""
}
