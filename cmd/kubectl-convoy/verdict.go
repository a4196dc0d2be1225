package main

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// state is how far a wait is.
type state int

const (
	pending state = iota // convoy works on it, or will
	reached
	failed // nothing comes of it until somebody does something
)

// verdict is what a Release says about what is waited for.
type verdict struct {
	state   state
	message string
}

// goal is what is waited for. It is pure: a verdict depends on the Release alone.
type goal func(*v1alpha1.Release) verdict

// pinApplied waits for a pinned render to be applied in full.
func pinApplied(ref string) goal {
	return func(r *v1alpha1.Release) verdict {
		pin, status := r.Pin, r.Status
		switch {
		case pin == nil:
			return verdict{failed, "the pin was taken off in the meantime, or has ended by itself"}
		case pin.RenderRef != ref:
			return verdict{failed, fmt.Sprintf("%s pinned render %s in the meantime", pin.PinnedBy, short(pin.RenderRef))}
		}
		v := applied(r)
		if v.state == reached && (lastApplied(status) != ref || status.Pin == nil || status.Pin.Intent != v1alpha1.PinFreeze) {
			return verdict{pending, "Another render is applied still"}
		}
		return v
	}
}

// sourceApplied waits, after an unpin, for what the source renders to be applied in full.
func sourceApplied(r *v1alpha1.Release) verdict {
	if r.Pin != nil {
		return verdict{failed, fmt.Sprintf("%s pinned render %s in the meantime", r.Pin.PinnedBy, short(r.Pin.RenderRef))}
	}
	rendered := current(r, v1alpha1.ConditionRendered)
	if rendered != nil && rendered.Status != metav1.ConditionTrue {
		return unfinished(r, rendered)
	}
	return applied(r)
}

// syncHandled waits for a sync request to be acted on, and for the render that it was for to be applied in full.
func syncHandled(requestedAt string) goal {
	return func(r *v1alpha1.Release) verdict {
		status := r.Status
		switch {
		case r.Spec.Suspend && r.Pin == nil:
			return verdict{failed, "Nothing is applied while spec.suspend is true"}
		case !notBefore(status.LastHandledSyncAt, requestedAt):
			return unhandled(r)
		case lastApplied(status) == status.LastHandledSyncRef && reasonOf(r, v1alpha1.ConditionApplied) == v1alpha1.ReasonWaitingForSync:
			return verdict{reached, "Applied; the source renders something newer by now, which waits for a sync request of its own"}
		}
		return applied(r)
	}
}

// unhandled is the verdict on a sync request that no pass has acted on: what the last pass says may be from before it, and so is no
// failure of the request.
func unhandled(r *v1alpha1.Release) verdict {
	rendered := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionRendered)
	if rendered != nil && rendered.Status == metav1.ConditionFalse {
		return verdict{pending, "The source is not rendered. " + said(rendered)}
	}
	return verdict{pending, "convoy has not acted on the request yet"}
}

// applied is the verdict of Applied, as far as it is about the Release as it is now.
func applied(r *v1alpha1.Release) verdict {
	c := current(r, v1alpha1.ConditionApplied)
	switch {
	case !r.DeletionTimestamp.IsZero():
		return verdict{failed, "the Release is being deleted"}
	case c == nil:
		return verdict{pending, "convoy has not looked at the change yet"}
	case c.Status == metav1.ConditionTrue:
		return verdict{reached, c.Message + "; " + health(r)}
	}
	return unfinished(r, c)
}

// health says how what is applied is doing, which no wait waits for.
func health(r *v1alpha1.Release) string {
	switch c := current(r, v1alpha1.ConditionHealthy); {
	case c == nil:
		return "how they are doing is not known yet"
	case c.Status == metav1.ConditionTrue:
		return "all are healthy"
	default:
		return "not all are healthy: " + c.Message
	}
}

// unfinished is the verdict of a condition that is not True. What convoy tries again by itself is pending, and so is a wave that is late:
// convoy goes on as soon as it is healthy.
func unfinished(r *v1alpha1.Release, c *metav1.Condition) verdict {
	stalled := current(r, v1alpha1.ConditionStalled)
	switch {
	case c.Reason == v1alpha1.ReasonWaitingForSync, c.Reason == v1alpha1.ReasonSuspended:
		return verdict{failed, c.Message}
	case c.Status != metav1.ConditionFalse:
		return verdict{pending, c.Message}
	case stalled != nil && stalled.Reason == c.Reason && c.Reason != v1alpha1.ReasonTimedOut:
		return verdict{failed, said(c)}
	}
	return verdict{pending, said(c) + " (convoy tries on)"}
}

// current is a condition, if it is about the Release as it is now.
func current(r *v1alpha1.Release, condition string) *metav1.Condition {
	c := meta.FindStatusCondition(r.Status.Conditions, condition)
	if c == nil || c.ObservedGeneration != r.Generation {
		return nil
	}
	return c
}

func said(c *metav1.Condition) string { return c.Reason + ": " + c.Message }

func reasonOf(r *v1alpha1.Release, condition string) string {
	if c := current(r, condition); c != nil {
		return c.Reason
	}
	return ""
}

func lastApplied(status v1alpha1.ReleaseStatus) string {
	if status.LastSuccessful == nil {
		return ""
	}
	return status.LastSuccessful.RenderRef
}

// notBefore says whether a sync request was handled that is this one or a later one. Both are times in RFC 3339.
func notBefore(handled, requested string) bool {
	h, err := time.Parse(time.RFC3339Nano, handled)
	if err != nil {
		return false // none was handled
	}
	r, err := time.Parse(time.RFC3339Nano, requested)
	return err == nil && !h.Before(r)
}
