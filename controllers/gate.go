package controllers

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// gate stops a pass that may not apply now. What it stops is not stored. A deletion passes.
func gate(p pass) *Failure {
	if p.release.Spec.Suspend && !p.deleting() {
		return &Failure{
			Condition: v1alpha1.ConditionApplied, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonSuspended, Retry: OnChange,
			Err: errors.New("Nothing is applied while spec.suspend is true"), //nolint:staticcheck // it is the message of a condition
		}
	}
	return nil
}
