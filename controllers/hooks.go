package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
)

// hookRun is the rollout or deletion that the pass is a part of; nil if it only puts drift back. Its name is made of what the status and the
// Release say since before its first hook: when the render was first attempted or the Release deleted, and who asked for a sync since. So it
// survives restarts, and a sync request runs hooks again.
func (p pass) hookRun(selection Selection) *apply.HookRun {
	if p.deleting() {
		return &apply.HookRun{Deletes: true, ID: p.runID("deletion", p.release.DeletionTimestamp.Time)}
	}
	if !p.rollsOut(selection) {
		return nil
	}
	run := &apply.HookRun{Rollout: p.rollout(selection)}
	ref := selection.Render.Ref().String()
	if attempted := p.release.Status.LastAttempted; attempted != nil && attempted.RenderRef == ref {
		run.ID = p.runID(ref, attempted.Time.Time)
	}
	return run
}

// rollout is what a rollout of the selection is in the words of Helm.
func (p pass) rollout(selection Selection) live.Rollout {
	switch {
	case p.release.Status.LastSuccessful == nil:
		return live.Install
	case selection.Origin == FromPin || selection.Origin == FromRollback:
		return live.Rollback
	default:
		return live.Upgrade
	}
}

// runID names what began at a time.
func (p pass) runID(what string, began time.Time) string {
	parts := []string{string(p.release.UID), what, began.UTC().Format(time.RFC3339), syncRequest(p.release)}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:5])
}

// failed starts the hooks that run when a rollout fails, if it has changed something.
func (r *ReleaseReconciler) failed(
	ctx context.Context, p pass, applier *apply.Applier, planned *planned, changes *apply.ChangeSet, failure *Failure,
) *Failure {
	if failure == nil || failure.Status != metav1.ConditionFalse || !p.seen.Began {
		return failure
	}
	var err error
	p.seen.FailHooks, err = applier.Fail(ctx, planned.Plan, changes, p.now.Add(-p.release.Spec.Timeout.Duration))
	if err != nil {
		return failure.because("a SyncFail hook cannot be started: " + err.Error())
	}
	return failure
}
