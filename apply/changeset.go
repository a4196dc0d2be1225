package apply

import (
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// Change is what was done to one object.
type Change struct {
	ID     render.ObjectID
	Action Action
	Reason string // why it was skipped
	Drift  *Drift // why it had to be put back; nil if it was not drift
}

// Waiting is why an apply ended before everything was done.
type Waiting struct {
	Phase   v1alpha1.SyncPhase
	Wave    int32
	Hook    string         // empty if it is no hook that is awaited
	Started bool           // the hook was started in this pass
	Objects live.Unhealthy // what is awaited
}

// ChangeSet is what an apply did.
type ChangeSet struct {
	// Changes are the objects that were changed or skipped, in the order in which it happened.
	Changes []Change
	// Inventory is what is to be recorded now: what is there, and what is still planned.
	Inventory live.Inventory
	// Health is that of the objects of the render, as far as they were applied.
	Health []live.Health
	// Fights are the objects that somebody keeps changing after they were put back.
	Fights []Fight
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
