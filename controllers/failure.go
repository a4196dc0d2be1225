package controllers

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Retry says when a failed pass is tried again.
type Retry int

// The retries.
const (
	// Backoff tries again by itself, soon and then ever more slowly.
	Backoff Retry = iota
	// Interval tries again at the next interval, or when a watch fires. Trying sooner would not help.
	Interval
	// OnChange tries again when the source or the Release changes. Both are looked at every interval.
	OnChange
)

// Failure is why a pass ended before its last step. It is the only error type that a step makes, and is mapped to the status in
// one place, nextStatus.
type Failure struct {
	Condition string                 // the condition that says so
	Status    metav1.ConditionStatus // of that condition: False, or Unknown if nothing is wrong
	Reason    string
	Retry     Retry
	Err       error // starts upper case and names the next move: it is the message of the condition
}

func (f *Failure) Error() string { return f.Reason + ": " + f.Err.Error() }

// Unwrap is the cause.
func (f *Failure) Unwrap() error { return f.Err }

func notRendered(reason string, retry Retry, format string, args ...any) *Failure {
	return &Failure{v1alpha1.ConditionRendered, metav1.ConditionFalse, reason, retry, fmt.Errorf(format, args...)}
}

func notApplied(reason string, retry Retry, format string, args ...any) *Failure {
	return &Failure{v1alpha1.ConditionApplied, metav1.ConditionFalse, reason, retry, fmt.Errorf(format, args...)}
}
