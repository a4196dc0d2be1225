package controllers

import (
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const (
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = time.Minute

	// lookAgain bounds how long a pass in progress waits for a watch to fire: not every kind can be watched.
	lookAgain = 30 * time.Second
)

// report writes what the pass saw into the status, if that says something new, and decides when the next pass starts.
func (r *ReleaseReconciler) report(ctx context.Context, p pass, failure *Failure) (reconcile.Result, error) {
	defer r.Metrics.step("report")()
	if p.deleting() && failure == nil && p.seen.Waiting == nil {
		r.backoff.forget(p.release.UID)
		return reconcile.Result{}, nil // the Release is gone
	}
	r.countHistory(ctx, p)
	old := p.release.Status
	next := nextStatus(old, p.release, *p.seen, failure, p.now)
	if !apiequality.Semantic.DeepEqual(old, next) {
		release := p.release.DeepCopy()
		release.Status = next
		patch := client.MergeFromWithOptions(p.release, client.MergeFromWithOptimisticLock{})
		err := r.Client.Status().Patch(ctx, release, patch, client.FieldOwner(controllerName))
		switch {
		case apierrors.IsConflict(err):
			return reconcile.Result{RequeueAfter: firstBackoff}, nil // somebody else wrote it since the pass began
		case apierrors.IsNotFound(err):
			return reconcile.Result{}, nil
		case err != nil:
			return reconcile.Result{}, fmt.Errorf("write the status of Release %s/%s: %w", p.release.Namespace, p.release.Name, err)
		}
	}
	r.announce(ctx, p, next, failure)
	r.Metrics.outcome(p.release, next)
	return reconcile.Result{RequeueAfter: r.next(p, failure)}, nil
}

// next is when the next pass starts, if no watch starts one before.
func (r *ReleaseReconciler) next(p pass, failure *Failure) time.Duration {
	if p.seen.RollsBack || p.seen.Begins {
		return firstBackoff
	}
	if failure != nil && failure.Retry == Backoff {
		return r.backoff.next(p.release.UID)
	}
	if p.seen.SourceFailure != nil {
		return min(r.backoff.next(p.release.UID), r.expiry(p))
	}
	r.backoff.forget(p.release.UID)
	// A little later than the interval, so that the source is due, and not all Releases at once.
	after := wait.Jitter(max(r.polls.next(p.release, p.now), 0)+time.Second, 0.05)
	after = min(after, r.expiry(p))
	if p.deleting() {
		after = lookAgain
	}
	if round := p.nextRound(); round > 0 {
		after = min(after, round)
	}
	if p.seen.Waiting == nil && len(p.seen.FailHooks) == 0 {
		return after
	}
	after = min(after, lookAgain)
	if p.seen.Waiting == nil {
		return after
	}
	if left := p.deadline(); left > 0 {
		after = min(after, left+time.Second)
	}
	return after
}

// expiry is how long until the pin ends by itself.
func (r *ReleaseReconciler) expiry(p pass) time.Duration {
	pin := p.release.Pin
	switch {
	case pin == nil || pin.ExpiresAt == nil:
		return math.MaxInt64
	case pin.Expired(p.now):
		return lookAgain // it could not be taken off
	default:
		return pin.ExpiresAt.Sub(p.now) + time.Second
	}
}

// announce logs the outcome and makes events of what is new in it.
func (r *ReleaseReconciler) announce(ctx context.Context, p pass, next v1alpha1.ReleaseStatus, failure *Failure) {
	logger := log.FromContext(ctx)
	r.announcePin(p)
	for _, f := range []*Failure{contested(p.seen.Fights), failure} {
		if f != nil && f.Status == "False" {
			r.announceFailure(ctx, p, next, f)
		}
	}
	if err := p.seen.RecordErr; err != nil {
		logger.Error(err, "The render is applied, and its history is not up to date")
		r.event(p.release, corev1.EventTypeWarning, v1alpha1.EventHistoryFailed, "Record",
			"The render is applied, and its history is not up to date: %v", err)
	}
	if a := p.seen.Applied; a != nil && (p.rollsOut(a.Selection) || a.Changes != tally{}) {
		logger.Info("Render applied", "renderRef", a.Render.Ref().String(), "revision", a.Revision,
			"created", a.Changes.created, "configured", a.Changes.configured, "recreated", a.Changes.recreated,
			"deleted", a.Changes.deleted)
		r.event(p.release, corev1.EventTypeNormal, v1alpha1.EventApplied, "Apply", "Applied %s %s from %s: %s",
			a.noun(), a.Render.Ref().Short(), a.Summary, a.Changes)
	}
}

func (r *ReleaseReconciler) announceFailure(ctx context.Context, p pass, next v1alpha1.ReleaseStatus, f *Failure) {
	log.FromContext(ctx).Info("Pass failed", "condition", f.Condition, "reason", f.Reason, "error", shortened(f.Err.Error()))
	reason := f.Reason
	if p.deleting() {
		reason = v1alpha1.EventDeletionHeld
	}
	if isNews(p.release.Status, next, f.Condition) {
		r.event(p.release, corev1.EventTypeWarning, reason, "Reconcile", "%s", f.Err)
	}
}

// isNews says whether a condition says something else than before.
func isNews(old, next v1alpha1.ReleaseStatus, condition string) bool {
	was, is := meta.FindStatusCondition(old.Conditions, condition), meta.FindStatusCondition(next.Conditions, condition)
	return was == nil || is == nil || was.Status != is.Status || was.Reason != is.Reason || was.Message != is.Message
}

// event makes an event on the Release. The API takes 1 KiB of text in one.
func (r *ReleaseReconciler) event(release *v1alpha1.Release, kind, reason, action, format string, args ...any) {
	const longest = 1000
	note := fmt.Sprintf(format, args...)
	if len(note) > longest {
		note = cut(note, longest)
	}
	r.Events.Eventf(release, nil, kind, reason, action, "%s", note)
}

// backoff makes the retries of a failing Release ever slower.
type backoff struct {
	limiter workqueue.TypedRateLimiter[types.UID]
}

func newBackoff() *backoff {
	return &backoff{workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](firstBackoff, lastBackoff)}
}

func (b *backoff) next(uid types.UID) time.Duration { return b.limiter.When(uid) }
func (b *backoff) forget(uid types.UID)             { b.limiter.Forget(uid) }
