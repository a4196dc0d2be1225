package main

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// fromSource is what the source renders in these tests.
var fromSource = refC

// script moves the status of a Release on by one step, as a controller would. It says whether there was one.
type script func(*v1alpha1.Release) (moved bool)

// control plays a script to the Releases of a namespace until the test ends.
func control(t *testing.T, env *testenv.Environment, namespace string, play script) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events, err := env.Client.Watch(ctx, &v1alpha1.ReleaseList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			release, ok := event.Object.(*v1alpha1.Release)
			if !ok || !play(release) {
				continue
			}
			// After a conflict there is a newer event, which is played to.
			if err := env.Client.Status().Update(ctx, release); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				t.Errorf("write the status of Release %s: %v", release.Name, err)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		events.Stop()
		<-done
	})
}

// wanted is the render that a Release shall run.
func wanted(r *v1alpha1.Release) string {
	if r.Pin != nil {
		return r.Pin.RenderRef
	}
	return fromSource
}

// unseen says whether the status is from before the last change, or the last sync request.
func unseen(r *v1alpha1.Release) bool {
	return r.Status.ObservedGeneration != r.Generation || r.Status.LastHandledSyncAt != r.Annotations[v1alpha1.SyncRequestedAtAnnotation]
}

// says sets a condition, about the Release as it is now.
func says(r *v1alpha1.Release, name string, status metav1.ConditionStatus, reason, message string) {
	with(r, metav1.Condition{
		Type: name, Status: status, Reason: reason, Message: message, ObservedGeneration: r.Generation, LastTransitionTime: metav1.Now(),
	})
}

// begin notes that a pass works on the Release as it is now.
func begin(r *v1alpha1.Release) {
	r.Status.ObservedGeneration = r.Generation
	r.Status.LastHandledSyncAt, r.Status.LastHandledSyncRef = r.Annotations[v1alpha1.SyncRequestedAtAnnotation], wanted(r)
	r.Status.Pin = nil
	if r.Pin != nil {
		r.Status.Pin = &v1alpha1.PinStatus{RenderRef: r.Pin.RenderRef, Intent: v1alpha1.PinRollback}
		if lastApplied(r.Status) == r.Pin.RenderRef {
			r.Status.Pin.Intent = v1alpha1.PinFreeze
		}
	}
	says(r, v1alpha1.ConditionRendered, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Rendered 2 objects")
}

// finish notes that what is wanted is applied in full, and healthy.
func finish(r *v1alpha1.Release) {
	now := metav1.Now()
	r.Status.LastSuccessful = &v1alpha1.RenderRecord{RenderRef: wanted(r), Time: now}
	r.Status.LastAttempted = r.Status.LastSuccessful
	begin(r)
	says(r, v1alpha1.ConditionApplied, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Applied 2 objects of render "+short(wanted(r)))
	says(r, v1alpha1.ConditionHealthy, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "All objects are healthy")
}

// works applies what is wanted, in two steps.
func works(r *v1alpha1.Release) bool {
	switch {
	case unseen(r):
		begin(r)
		says(r, v1alpha1.ConditionApplied, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "Waiting for wave 2 to be healthy: Deployment podinfo")
	case current(r, v1alpha1.ConditionApplied) != nil && current(r, v1alpha1.ConditionApplied).Status == metav1.ConditionUnknown:
		finish(r)
	default:
		return false
	}
	return true
}

// fails says of whatever is wanted that it cannot be applied.
func fails(reason, message, progress string) script {
	return func(r *v1alpha1.Release) bool {
		if !unseen(r) {
			return false
		}
		begin(r)
		says(r, v1alpha1.ConditionApplied, metav1.ConditionFalse, reason, message)
		says(r, progress, metav1.ConditionTrue, reason, message)
		return true
	}
}

// recovers fails once in a way that is tried again, and then applies.
func recovers(r *v1alpha1.Release) bool {
	if fails(v1alpha1.ReasonDeployFailed, "The render store does not answer", v1alpha1.ConditionReconciling)(r) {
		return true
	}
	if reasonOf(r, v1alpha1.ConditionApplied) != v1alpha1.ReasonDeployFailed {
		return false
	}
	finish(r)
	return true
}
