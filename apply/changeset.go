package apply

import (
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Change is what was done to one object.
type Change struct {
	ID     render.ObjectID
	Action Action
	Reason string // why it was skipped
}

// Waiting is why an apply ended before everything was done.
type Waiting struct {
	Phase   v1alpha1.SyncPhase
	Wave    int32
	Objects live.Unhealthy // what is awaited
}

// ChangeSet is what an apply did.
type ChangeSet struct {
	// Changes are the objects that were changed or skipped, in the order in which it happened.
	Changes []Change
	// Inventory is what is to be recorded now: what is there, and what is still planned.
	Inventory live.Inventory
	// Objects are the live objects of the render, as far as they were applied.
	Objects []*unstructured.Unstructured
	// Waiting is nil if everything was done.
	Waiting *Waiting
}

// Count says to how many objects something was done.
func (c ChangeSet) Count(action Action) int {
	n := 0
	for _, change := range c.Changes {
		if change.Action == action {
			n++
		}
	}
	return n
}
