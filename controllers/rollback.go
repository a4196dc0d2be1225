package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

// longestReason is how much of what failed a rollback keeps, in bytes.
const longestReason = 1024

// rolledBack says whether a rollback holds: the source renders what failed, or does not say, and nobody has asked for a sync since.
func (p pass) rolledBack(current Selection) bool {
	back := p.release.Status.Rollback
	if back == nil || p.release.Spec.FailurePolicy.Action != v1alpha1.FailureActionRollback || p.asked() {
		return false
	}
	if current.Render.IsZero() || current.Render.Ref().String() == back.From {
		p.seen.Rollback = back
		return true
	}
	return false
}

// fromRollback selects the render that was last healthy, out of the store.
func (r *ReleaseReconciler) fromRollback(ctx context.Context, p pass) (Selection, *Failure) {
	back := p.seen.Rollback
	ref, err := render.ParseRef(back.To)
	if err != nil {
		return Selection{}, notApplied(v1alpha1.ReasonRolledBack, OnChange, "The rollback names no render: %w; ask for a sync to end it", err)
	}
	selection, err := r.readStored(ctx, p, ref, FromRollback)
	switch {
	case err == nil:
		return selection, nil
	case errors.Is(err, renderstore.ErrDisabled), errors.Is(err, renderstore.ErrNotFound), errors.Is(err, renderstore.ErrCorrupt):
		return Selection{}, notApplied(v1alpha1.ReasonRolledBack, Interval,
			"Render %s failed (%s), and the one to roll back to cannot be had: %w; mend the source, or pin a render of the history",
			short(back.From), back.Reason, err)
	default:
		return Selection{}, notApplied(v1alpha1.ReasonDeployFailed, Backoff, "The render to roll back to cannot be read: %w", err)
	}
}

// heldBack says that the last healthy render is applied instead of the one that the source renders.
func (p pass) heldBack() *Failure {
	back := p.seen.Rollback
	return notApplied(v1alpha1.ReasonRolledBack, OnChange,
		"Render %s failed, so render %s runs, which was last healthy: mend the source, or ask for a sync to try again. What failed: %s",
		short(back.From), short(back.To), back.Reason)
}

// fallBack begins a rollback if failurePolicy asks for one, and what failed had changed something. Only a render of the source is rolled
// back: so a rollback is never rolled back itself, and a pin holds.
func (r *ReleaseReconciler) fallBack(p pass, failure *Failure) *Failure {
	attempted := p.seen.Attempted
	if failure == nil || attempted == nil || attempted.Origin != FromSource || p.release.Spec.FailurePolicy.Action != v1alpha1.FailureActionRollback {
		return failure
	}
	if !p.seen.Began && p.seen.Applied == nil {
		return failure // what runs is as it was
	}
	from, healthy := attempted.Render.Ref().String(), p.release.Status.LastHealthy
	switch {
	case !r.Store.Enabled():
		return failure.because("it is not rolled back, since there is no render store")
	case healthy == nil:
		return failure.because("it is not rolled back, since no render was healthy yet")
	case healthy.RenderRef == from:
		return failure.because("it is not rolled back, since it is the render that was last healthy")
	}
	if len(p.seen.FailHooks) > 0 {
		return failure.because("convoy rolls back when what it runs on a failure has ended: " + p.seen.FailHooks.String())
	}
	reason := failure.Error()
	if len(reason) > longestReason {
		reason = cut(reason, longestReason)
	}
	p.seen.Rollback = &v1alpha1.RollbackStatus{From: from, To: healthy.RenderRef, Time: seconds(p.now), Reason: reason}
	p.seen.RollsBack = true
	return failure.because(fmt.Sprintf("convoy rolls back to render %s, which was last healthy", short(healthy.RenderRef)))
}

// interrupted keeps the deadline of a rollout that is in progress while its dry run fails, which may mend by itself. Past it, the rollout
// has failed half way.
func (p pass) interrupted(selection Selection) {
	if p.deleting() || !p.goesOn(selection) {
		return
	}
	sync := p.release.Status.Sync
	p.seen.Attempted = &selection
	p.seen.Waiting = &WaitingFact{Waiting: apply.Waiting{Phase: sync.Phase, Wave: sync.Wave, Hook: sync.Hook}, Since: sync.StartedAt.Time}
	p.seen.Began = p.deadline() <= 0
}

// because adds what follows to the message of a failure.
func (f *Failure) because(what string) *Failure {
	next := *f
	next.Err = fmt.Errorf("%w; %s", f.Err, what)
	return &next
}
