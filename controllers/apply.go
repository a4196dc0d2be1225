package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
)

// apply does what the plan says, as far as it gets without waiting, and records what is there then.
func (r *ReleaseReconciler) apply(ctx context.Context, p pass, selection Selection, planned *planned) (apply.ChangeSet, *Failure) {
	defer r.Metrics.step("apply")()
	applier := &apply.Applier{Client: planned.target, Memory: r.Memory, Gated: p.rollsOut(selection)}
	changes, err := applier.Apply(ctx, planned.Plan)
	r.tell(ctx, p, changes.Changes)
	r.tellDrift(ctx, p, changes.Changes)
	sum := r.count(p, selection, changes)
	p.seen.Began = sum != tally{} || p.goesOn(selection)
	p.seen.Fights = changes.Fights
	failure := p.ended(changes, err)
	p.seen.Begins = planned.Hooked() && planned.run.ID == ""
	failure = r.failed(ctx, p, applier, planned, &changes, failure)
	if _, recordErr := r.writeInventory(ctx, p.release, planned.shards, changes.Inventory); recordErr != nil && err == nil {
		return changes, notApplied(v1alpha1.ReasonDeployFailed, Backoff, "The inventory cannot be written: %w", recordErr)
	}
	switch {
	case failure != nil || changes.Waiting != nil:
		return changes, failure
	case p.deleting():
		failure = r.clear(ctx, p, applier, planned, &changes)
		return changes, failure
	}
	if err := applier.Finish(ctx, planned.Plan, &changes); err != nil {
		return changes, notApplied(v1alpha1.ReasonDeployFailed, Backoff, "Hooks that are done cannot be deleted: %w", err)
	}
	p.seen.Applied = &AppliedFact{Selection: selection, Objects: len(planned.Items), Changes: sum}
	r.tallies.forget(p.release.UID)
	return changes, nil
}

// ended is why an apply did not do everything; nil if it did, or waits within its deadline.
func (p pass) ended(changes apply.ChangeSet, err error) *Failure {
	var late *Failure
	if changes.Waiting != nil {
		late = p.await(*changes.Waiting)
	}
	if err != nil {
		late = notApplied(v1alpha1.ReasonDeployFailed, Backoff, "The apply ended half way: %w", err)
	}
	if late != nil && p.deleting() && changes.Waiting != nil && changes.Waiting.Hook != "" {
		return late.because(withoutHooks)
	}
	return late
}

// rollsOut says whether the selection is not what was last applied in full, or another one was begun since. One that was is only put right
// where it drifted.
func (p pass) rollsOut(selection Selection) bool {
	ref, status := selection.Render.Ref().String(), p.release.Status
	return status.LastSuccessful == nil || status.LastSuccessful.RenderRef != ref ||
		(status.LastAttempted != nil && status.LastAttempted.RenderRef != ref) || p.goesOn(selection)
}

// goesOn says whether a rollout of the selection is in progress.
func (p pass) goesOn(selection Selection) bool {
	sync := p.release.Status.Sync
	return sync != nil && sync.RenderRef == selection.Render.Ref().String() && sync.Phase != v1alpha1.SyncPhaseHealth
}

// await notes what the pass waits for. The deadline counts from when the wait for the same thing began, which the status keeps.
func (p pass) await(waiting apply.Waiting) *Failure {
	fact := &WaitingFact{Waiting: waiting, Since: p.now}
	p.seen.Waiting = fact
	if sync := p.release.Status.Sync; sync != nil && sync.Phase == waiting.Phase && sync.Wave == waiting.Wave &&
		sync.Hook == waiting.Hook && !waiting.Started && sync.RenderRef == p.attempted() && sync.StartedAt.Time.Before(p.now) {
		fact.Since = sync.StartedAt.Time
	}
	hook := waiting.Hook != ""
	failed := (hook || waiting.Phase == v1alpha1.SyncPhaseWave) && waiting.Objects.Failed()
	if !failed && p.now.Sub(fact.Since) < p.release.Spec.Timeout.Duration {
		return nil
	}
	if failed && hook {
		return notApplied(v1alpha1.ReasonHookFailed, OnChange, "A %s hook failed: %s. Mend it, or ask for a sync to run it again", waiting.Phase,
			waiting.Objects)
	}
	if failed {
		return notApplied(v1alpha1.ReasonDeployFailed, Interval, "Wave %d failed: %s", waiting.Wave, waiting.Objects)
	}
	return notApplied(v1alpha1.ReasonTimedOut, Interval, "Not done within %s. %s", p.release.Spec.Timeout.Duration, waitingMessage(*fact))
}

// attempted is the render in progress, as status.sync names it.
func (p pass) attempted() string {
	if p.seen.Attempted == nil {
		return ""
	}
	return p.seen.Attempted.Render.Ref().String()
}

// deadline is how long until the wait in progress times out.
func (p pass) deadline() time.Duration {
	return p.seen.Waiting.Since.Add(p.release.Spec.Timeout.Duration).Sub(p.now)
}

// tell logs, counts and, for what needs a person's eye, makes an event of what was done.
func (r *ReleaseReconciler) tell(ctx context.Context, p pass, changes []apply.Change) {
	logger := log.FromContext(ctx)
	for _, change := range changes {
		r.Metrics.object(change.Action)
		logger.V(1).Info("Object written", "object", change.ID.String(), "action", string(change.Action), "why", change.Reason)
		if change.Action == apply.Skipped {
			r.event(p.release, corev1.EventTypeNormal, v1alpha1.EventPruneSkipped, "Prune", "%s was left running: %s", change.ID, change.Reason)
		}
	}
}
