package controllers

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// gate stops a pass that may not apply now. What it stops is not stored. A deletion and a pin pass: they are what people do when they
// cannot wait.
func gate(p pass, selection Selection) *Failure {
	release := p.release
	switch {
	case p.deleting():
		return nil
	case selection.Origin == FromPin:
		p.handleSync(selection)
		return nil
	case selection.Origin == FromRollback && !release.Spec.Suspend:
		return nil
	case release.Spec.Suspend:
		return held(v1alpha1.ReasonSuspended, "Nothing is applied while spec.suspend is true")
	case p.handleSync(selection) || release.Spec.SyncPolicy.Mode != v1alpha1.SyncManual || p.wasAskedFor(selection):
		return nil
	}
	return held(v1alpha1.ReasonWaitingForSync, "Render %s waits for a sync request: kubectl convoy release sync %s",
		selection.Render.Ref().Short(), release.Name)
}

func held(reason, format string, args ...any) *Failure {
	return &Failure{v1alpha1.ConditionApplied, metav1.ConditionUnknown, reason, OnChange, fmt.Errorf(format, args...)}
}

// handleSync says whether somebody asked for a sync since the last one, and notes that this pass acts on it.
func (p pass) handleSync(selection Selection) bool {
	if !p.asked() {
		return false
	}
	p.seen.Sync = &SyncFact{At: syncRequest(p.release), Ref: selection.Render.Ref()}
	return true
}

// asked says whether somebody asked for a sync since the last one that was acted on.
func (p pass) asked() bool {
	at := syncRequest(p.release)
	return at != "" && at != p.release.Status.LastHandledSyncAt
}

// wasAskedFor says whether the selection is applied already, or was what the last sync request was for.
func (p pass) wasAskedFor(selection Selection) bool {
	ref, status := selection.Render.Ref().String(), p.release.Status
	return ref == status.LastHandledSyncRef || (status.LastSuccessful != nil && ref == status.LastSuccessful.RenderRef)
}

// syncRequest is when somebody last asked for a sync; empty if nobody did.
func syncRequest(release *v1alpha1.Release) string {
	return release.Annotations[v1alpha1.SyncRequestedAtAnnotation]
}
