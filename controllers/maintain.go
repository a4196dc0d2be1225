package controllers

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// maintain keeps what runs from drifting in a pass that does not apply what the source renders, since that cannot be had, fails its dry run,
// or waits for a request. What runs is the render that was last applied in full, out of the store. The failure is why it is not the wanted
// one, and what is wrong with what runs.
func (r *ReleaseReconciler) maintain(ctx context.Context, p pass, wanted Selection, held *Failure) *Failure {
	if !p.maintains(wanted, held) {
		return held
	}
	selection, err := r.whatRuns(ctx, p)
	if err != nil {
		log.FromContext(ctx).V(1).Info("What runs is not kept from drifting, since its render cannot be read", "error", err.Error())
		return held
	}
	planned, failure := r.plan(ctx, p, selection)
	if failure == nil {
		failure = r.store(ctx, p, selection, planned)
	}
	if failure == nil {
		changes, applyFailure := r.apply(ctx, p, selection, planned)
		if failure = applyFailure; failure == nil && p.seen.Waiting == nil {
			p.judge(live.Worst(changes.Health))
		}
	}
	switch {
	case failure == nil:
		return held
	case held.Condition == v1alpha1.ConditionRendered:
		p.seen.SourceFailure = held
		return failure
	case held.Status == metav1.ConditionFalse:
		return held.because("what runs cannot be kept from drifting: " + failure.Err.Error())
	default:
		return failure.because(held.Err.Error())
	}
}

// maintains says whether a render other than the wanted one was applied in full, and none was begun since.
func (p pass) maintains(wanted Selection, held *Failure) bool {
	release, status := p.release, p.release.Status
	if p.deleting() || release.Spec.Suspend || release.Pin != nil || status.Rollback != nil {
		return false
	}
	unchanged := []string{v1alpha1.ReasonWaitingForSync, v1alpha1.ReasonDryRunFailed, v1alpha1.ReasonPruneRefused}
	if held.Condition != v1alpha1.ConditionRendered && !slices.Contains(unchanged, held.Reason) {
		return false
	}
	last, begun := status.LastSuccessful, status.LastAttempted
	return last != nil && last.RenderRef != wanted.Render.Ref().String() && begun != nil && begun.RenderRef == last.RenderRef &&
		(status.Sync == nil || status.Sync.Phase == v1alpha1.SyncPhaseHealth)
}

func (r *ReleaseReconciler) whatRuns(ctx context.Context, p pass) (Selection, error) {
	ref, err := render.ParseRef(p.release.Status.LastSuccessful.RenderRef)
	if err != nil {
		return Selection{}, err
	}
	return r.readStored(ctx, p, ref, FromStore)
}
