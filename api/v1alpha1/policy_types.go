package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// DefaultKeepHistory is how many history entries convoy keeps where retentionPolicy.keepHistory is not set.
const DefaultKeepHistory int32 = 10

// PrunePolicy is what happens to objects that the render no longer has.
type PrunePolicy struct {
	// enabled deletes them. Otherwise they are left running, lose their owner labels and are no longer recorded. Default true.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`

	// maxDeletes is the most objects that one pass may delete: a number, or a percentage of the objects that the Release recorded,
	// rounded down. A render that would delete more is not applied at all. Deleting the Release is not limited. Default: no limit.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^(100|[0-9]{1,2})%$')",message="must be a number from 0 to 2147483647, or a percentage from 0% to 100%"
	MaxDeletes *intstr.IntOrString `json:"maxDeletes,omitempty"`
}

// IsEnabled says whether objects that left the render are deleted.
func (p PrunePolicy) IsEnabled() bool { return ptr.Deref(p.Enabled, true) }

// RetentionPolicy is how much of the history stays in the render store.
type RetentionPolicy struct {
	// keepHistory is the number of history entries to keep. Default 10; 0 or a negative number keeps all entries and all renders.
	// +optional
	KeepHistory *int32 `json:"keepHistory,omitempty"`
}

// Resolved is the number of history entries to keep, with the default filled in.
func (p RetentionPolicy) Resolved() int32 { return ptr.Deref(p.KeepHistory, DefaultKeepHistory) }

// FailurePolicy is what happens when a render fails after it began to change objects.
type FailurePolicy struct {
	// action is None or Rollback. None leaves what is there and tries on. Rollback applies the render that was last healthy, out of the
	// render store, and holds the Release on it until the source renders something else, somebody asks for a sync, or pins. It happens
	// when the apply fails after it changed an object, and when the objects are not healthy within spec.timeout. Default None.
	// +optional
	// +kubebuilder:default=None
	Action FailureAction `json:"action,omitempty"`
}

// FailureAction is what happens when a render fails.
//
// +kubebuilder:validation:Enum=None;Rollback
type FailureAction string

// The failure actions.
const (
	FailureActionNone     FailureAction = "None"
	FailureActionRollback FailureAction = "Rollback"
)
