package controllers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fmt"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
)

// assess computes the health of everything that was applied. What is on its way has until the deadline.
func (r *ReleaseReconciler) assess(p pass, changes apply.ChangeSet) *Failure {
	defer r.Metrics.step("assess")()
	unhealthy := live.Summarize(changes.Objects)
	p.seen.Healthy = &unhealthy
	if len(unhealthy) == 0 {
		return nil
	}
	late := p.await(apply.Waiting{Phase: v1alpha1.SyncPhaseHealth, Objects: unhealthy})
	switch {
	case unhealthy.Failed():
		return degraded("Objects of the applied render have failed: %s", unhealthy)
	case late != nil:
		return degraded("Not healthy within %s: %s", p.release.Spec.Timeout.Duration, unhealthy)
	}
	return nil
}

func degraded(format string, args ...any) *Failure {
	return &Failure{v1alpha1.ConditionHealthy, metav1.ConditionFalse, v1alpha1.ReasonDegraded, Interval, fmt.Errorf(format, args...)}
}
