package controllers

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// longestMessage keeps a Release small, whatever a server answers. The API allows 32 KiB in one condition.
const longestMessage = 4096

// parts are the conditions that Ready sums up, in the order in which a pass gets to them.
var parts = []string{v1alpha1.ConditionRendered, v1alpha1.ConditionApplied, v1alpha1.ConditionHealthy}

// seconds is a time as the API stores it, so that what is written equals what is read back.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second).UTC()) }

// nextStatus computes the status from what a pass saw. It is pure and a fixed point: where nothing changed in the world, it returns
// the old status. Conditions that the pass did not get to stay, with the generation for which they were true.
func nextStatus(old v1alpha1.ReleaseStatus, release *v1alpha1.Release, seen Observation, failure *Failure, now time.Time) v1alpha1.ReleaseStatus {
	next := *old.DeepCopy()
	next.ObservedGeneration = release.Generation
	next.Sync = nextSync(seen, release)
	next.Rollback = seen.Rollback
	next.ResolvedRetentionPolicy = nextRetention(old, release, seen)
	if seen.Attempted != nil {
		next.LastAttempted = seen.Attempted.record(old.LastAttempted, now)
	}
	if seen.Applied != nil {
		next.LastSuccessful = seen.Applied.record(old.LastSuccessful, now)
		if seen.Health != nil && len(seen.Health.Unhealthy) == 0 {
			next.LastHealthy = seen.Applied.record(old.LastHealthy, now)
		}
		next.Render = seen.Applied.Render.Ref().Short()
	}

	if seen.Sync != nil {
		next.LastHandledSyncAt, next.LastHandledSyncRef = seen.Sync.At, seen.Sync.Ref.String()
	}
	next.Pin = nextPin(release.Pin, next)

	said := outcome(seen, failure)
	for _, part := range parts {
		if c, ok := said[part]; ok {
			setCondition(&next.Conditions, c, release.Generation, now)
		}
	}
	setCondition(&next.Conditions, ready(next.Conditions, release.Pin != nil), release.Generation, now)
	present := progress(seen, failure)
	for _, name := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if name == present.Type {
			setCondition(&next.Conditions, present, release.Generation, now)
		} else {
			meta.RemoveStatusCondition(&next.Conditions, name)
		}
	}
	return next
}

// setCondition sets a condition once a pass: twice would move its transition time.
func setCondition(conditions *[]metav1.Condition, c metav1.Condition, generation int64, now time.Time) {
	c.Message, c.ObservedGeneration, c.LastTransitionTime = shortened(c.Message), generation, seconds(now)
	meta.SetStatusCondition(conditions, c)
}

// outcome is what the pass says of Rendered, Applied and Healthy, as far as it got. What failed overrides what was seen.
func outcome(seen Observation, failure *Failure) map[string]metav1.Condition {
	said := map[string]metav1.Condition{}
	say := func(condition string, status metav1.ConditionStatus, reason, message string) {
		said[condition] = metav1.Condition{Type: condition, Status: status, Reason: reason, Message: message}
	}
	if r := seen.Rendered; r != nil {
		say(v1alpha1.ConditionRendered, metav1.ConditionTrue, v1alpha1.ReasonSucceeded,
			fmt.Sprintf("Rendered %s as %s from %s", objects(r.Objects), r.Ref.Short(), r.Summary))
	}
	if a := seen.Applied; a != nil {
		say(v1alpha1.ConditionApplied, metav1.ConditionTrue, v1alpha1.ReasonSucceeded,
			fmt.Sprintf("Applied %s of render %s", objects(a.Objects), a.Render.Ref().Short()))
	} else if w := seen.Waiting; w != nil && w.Phase != v1alpha1.SyncPhaseHealth {
		say(v1alpha1.ConditionApplied, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, waitingMessage(*w))
	}
	switch h := seen.Health; {
	case h == nil && seen.Attempted != nil:
		say(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, v1alpha1.ReasonProgressing,
			fmt.Sprintf("Render %s is not applied in full yet", seen.Attempted.Render.Ref().Short()))
	case h == nil:
	case h.Unread != nil:
		say(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "The objects cannot be read: "+h.Unread.Error())
	case h.Late != "":
		say(v1alpha1.ConditionHealthy, metav1.ConditionFalse, v1alpha1.ReasonDegraded, h.Late)
	case len(h.Unhealthy) > 0:
		say(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, waitingMessage(*seen.Waiting))
	default:
		say(v1alpha1.ConditionHealthy, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "All objects are healthy")
	}
	for _, f := range []*Failure{seen.SourceFailure, contested(seen.Fights), failure} {
		if f != nil {
			say(f.Condition, f.Status, f.Reason, f.Err.Error())
		}
	}
	return said
}

// progress is Reconciling or Stalled, whichever is true; the zero value if neither is.
func progress(seen Observation, failure *Failure) metav1.Condition {
	if failure == nil && seen.Waiting == nil {
		failure = contested(seen.Fights)
	}
	c := metav1.Condition{Status: metav1.ConditionTrue}
	switch {
	case failure == nil && seen.Waiting != nil:
		c.Type, c.Reason, c.Message = v1alpha1.ConditionReconciling, v1alpha1.ReasonProgressing, waitingMessage(*seen.Waiting)
	case failure == nil || failure.Status != metav1.ConditionFalse:
	case failure.Retry == Backoff:
		c.Type, c.Reason, c.Message = v1alpha1.ConditionReconciling, failure.Reason, failure.Err.Error()
	default:
		c.Type, c.Reason, c.Message = v1alpha1.ConditionStalled, failure.Reason, failure.Err.Error()
	}
	return c
}

func nextSync(seen Observation, release *v1alpha1.Release) *v1alpha1.SyncStatus {
	w := seen.Waiting
	if w == nil {
		return nil
	}
	sync := &v1alpha1.SyncStatus{StartedAt: seconds(w.Since), Wave: w.Wave, Hook: w.Hook, Phase: w.Phase}
	if release.DeletionTimestamp.IsZero() && seen.Attempted != nil {
		sync.RenderRef = seen.Attempted.Render.Ref().String()
	}
	return sync
}

func nextRetention(old v1alpha1.ReleaseStatus, release *v1alpha1.Release, seen Observation) *v1alpha1.ResolvedRetentionPolicy {
	next := &v1alpha1.ResolvedRetentionPolicy{KeepHistory: release.Spec.RetentionPolicy.Resolved()}
	switch {
	case seen.HistoryCount != nil:
		next.HistoryCount = int32(*seen.HistoryCount)
	case old.ResolvedRetentionPolicy != nil:
		next.HistoryCount = old.ResolvedRetentionPolicy.HistoryCount
	}
	return next
}

// ready sums the other conditions up. What is wrong with the source does not count while a pin makes it unneeded.
func ready(conditions []metav1.Condition, pinned bool) metav1.Condition {
	sum := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}
	}
	for _, bad := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, part := range parts {
			if pinned && part == v1alpha1.ConditionRendered {
				continue
			}
			if c := meta.FindStatusCondition(conditions, part); c != nil && c.Status == bad {
				return sum(bad, c.Reason, c.Message)
			}
		}
	}
	if meta.FindStatusCondition(conditions, v1alpha1.ConditionHealthy) == nil {
		return sum(metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "Nothing was applied yet")
	}
	applied := meta.FindStatusCondition(conditions, v1alpha1.ConditionApplied)
	return sum(metav1.ConditionTrue, v1alpha1.ReasonSucceeded, applied.Message+", and all are healthy")
}

// waitingMessage says what is awaited.
func waitingMessage(w WaitingFact) string {
	switch w.Phase {
	case v1alpha1.SyncPhaseWave:
		return fmt.Sprintf("Waiting for wave %d to be healthy: %s", w.Wave, w.Objects)
	case v1alpha1.SyncPhasePreSync, v1alpha1.SyncPhasePostSync, v1alpha1.SyncPhasePreDelete, v1alpha1.SyncPhasePostDelete:
		return fmt.Sprintf("Waiting for a %s hook: %s", w.Phase, w.Objects)
	case v1alpha1.SyncPhasePrune:
		return fmt.Sprintf("Waiting for objects of wave %d to be gone: %s", w.Wave, w.Objects)
	default:
		return fmt.Sprintf("Waiting for the objects to be healthy: %s", w.Objects)
	}
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// shortened cuts a message to what a condition should hold.
func shortened(message string) string {
	if len(message) <= longestMessage {
		return message
	}
	return cut(message, longestMessage)
}

// cut shortens a text to at most n bytes, at a character.
func cut(text string, n int) string {
	const ellipsis = " …"
	text = text[:n-len(ellipsis)]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return strings.TrimSpace(text) + ellipsis
}

// short shortens a stored ref for people.
func short(ref string) string {
	parsed, err := render.ParseRef(ref)
	if err != nil {
		return ref
	}
	return parsed.Short()
}
