package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
)

// tryAnew finds out whether an object whose update is refused could be deleted and created anew, and plans that if the render says so. The
// error is the refusal, with what a person can do, if there is something.
func (p *Planner) tryAnew(ctx context.Context, owner live.Owner, item *Item, refused error) error {
	if item.Live == nil || !apierrors.IsInvalid(refused) {
		return refused
	}
	forced, kept := live.Forced(item.Desired), live.KeptFromForce(owner, item.Desired, item.Live)
	switch {
	case forced && kept != "":
		return &advisedError{refused, "it is not deleted to be created anew: " + kept}
	case kept != "" || p.tryCreate(ctx, item.Desired) != nil: // it is not only the update that is refused
		return refused
	case !forced:
		const advice = "the annotation " + v1alpha1.ForceAnnotation + ": " + v1alpha1.ForceEnabled + " would have it deleted and created anew"
		return &advisedError{refused, advice}
	}
	if err := p.tryDelete(ctx, &Removal{ID: item.ID, GVK: item.GVK, Live: item.Live}); err != nil {
		return &advisedError{refused, "to be created anew, it " + err.Error()}
	}
	item.Action, item.health = Recreated, healthOf(owner, item.ID, item.Live)
	if p.wasAsDesired(owner, item) {
		p.noteDrift(owner, item, &Drift{Kind: driftKindOf(owner, item.Live), Fields: fieldsOf(refused)})
	}
	return nil
}

// tryCreate finds out whether the server would take a new object like this one. The name is another one, since the one that is there is in
// the way, and would not take what cannot be changed.
func (p *Planner) tryCreate(ctx context.Context, desired *unstructured.Unstructured) error {
	tried := desired.DeepCopy()
	tried.SetGenerateName(desired.GetName() + "-")
	tried.SetName("")
	return p.Client.Create(ctx, tried, client.DryRunAll, client.FieldOwner(v1alpha1.FieldManager))
}

// makeRoom deletes the object in whose place an item is created. What a finalizer holds is returned.
func (r *run) makeRoom(ctx context.Context, item Item) (live.Unhealthy, error) {
	left, err := r.delete(ctx, Removal{ID: item.ID, GVK: item.GVK, Live: item.Live})
	if len(left) > 0 && item.Live.GetDeletionTimestamp().IsZero() { // a later pass creates it
		r.mu.Lock()
		defer r.mu.Unlock()
		r.set.Changes = append(r.set.Changes, Change{ID: item.ID, Action: Deleted})
	}
	return left, err
}
