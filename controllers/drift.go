package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/render"
)

// tellDrift logs and counts what was put back, and makes one event of it.
func (r *ReleaseReconciler) tellDrift(ctx context.Context, p pass, changes []apply.Change) {
	var stories []string
	for _, change := range changes {
		if change.Drift == nil {
			continue
		}
		r.Metrics.drift(change.Drift.Kind)
		log.FromContext(ctx).Info("Drift put back", "object", change.ID.String(), "kind", string(change.Drift.Kind),
			"managers", someOf(change.Drift.Managers, ", "), "fields", someOf(change.Drift.Fields, ", "))
		stories = append(stories, story(change.ID, *change.Drift))
	}
	if len(stories) > 0 {
		r.event(p.release, corev1.EventTypeWarning, v1alpha1.EventDrifted, "PutBack", "Put back %s: %s", objects(len(stories)),
			someOf(stories, "; "))
	}
}

// contested is why Applied does not say that all is well while somebody keeps changing objects; nil if nobody does.
func contested(fights []apply.Fight) *Failure {
	if len(fights) == 0 {
		return nil
	}
	var stories []string
	for _, fight := range fights {
		stories = append(stories, story(fight.ID, fight.Drift))
	}
	return notApplied(v1alpha1.ReasonContested, Interval, "Somebody keeps changing %s after it was put back: %s. convoy puts it back ever more slowly: "+
		"stop the other, or leave the fields to it with the annotation %s", objects(len(stories)), someOf(stories, "; "),
		v1alpha1.IgnoreDriftAnnotation)
}

// nextRound is how long until a fight is to be looked at again; 0 if there is none.
func (p pass) nextRound() (wait time.Duration) {
	for _, fight := range p.seen.Fights {
		if left := max(fight.Next.Sub(p.now), 0) + time.Second; wait == 0 || left < wait {
			wait = left
		}
	}
	return wait
}

// story tells what happened to an object, without values.
func story(id render.ObjectID, drift apply.Drift) string {
	by := "somebody"
	if len(drift.Managers) > 0 {
		by = someOf(drift.Managers, ", ")
	}
	switch {
	case drift.Kind == apply.DriftDeleted:
		return id.String() + " was deleted"
	case drift.Kind == apply.DriftUnlabelled:
		return fmt.Sprintf("%s had its owner labels changed by %s (%s)", id, by, someOf(drift.Fields, ", "))
	case len(drift.Fields) == 0:
		return fmt.Sprintf("%s had fields taken over by %s", id, by)
	default:
		return fmt.Sprintf("%s was changed by %s (%s)", id, by, someOf(drift.Fields, ", "))
	}
}

// someOf joins the first of a list, and counts the rest.
func someOf(list []string, separator string) string {
	const most = 3
	joined := strings.Join(list[:min(len(list), most)], separator)
	if rest := len(list) - most; rest > 0 {
		joined += fmt.Sprintf("%sand %d more", separator, rest)
	}
	return joined
}
