package apply

import (
	"context"
	"strings"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
)

var deletionEvents = []string{v1alpha1.HookPreDelete, v1alpha1.HookPostDelete}

// forDeletion says whether a hook runs when its Release is deleted.
func forDeletion(hook live.Hook) bool {
	return (&HookRun{Deletes: true}).runs(hook)
}

// preDelete runs the hooks before the prune of a deletion, unless that is done already: the record of them may be for a request before.
func (r *run) preDelete(ctx context.Context) error {
	if r.plan.pruned {
		return nil
	}
	return r.hooks(ctx, v1alpha1.SyncPhasePreDelete)
}

func (r *run) postDelete(ctx context.Context) error {
	return r.hooks(ctx, v1alpha1.SyncPhasePostDelete)
}

// AllSucceeded says that the inventory has nothing but hooks that have succeeded.
func AllSucceeded(inventory live.Inventory) bool {
	for _, e := range inventory {
		if !strings.HasSuffix(e.Hook, hookSucceeded) {
			return false
		}
	}
	return true
}

// Clear removes what is left of a deletion once everything has run: its hooks. That they have succeeded must be recorded before.
func (a *Applier) Clear(ctx context.Context, plan *Plan, set *ChangeSet) error {
	r := &run{Applier: a, plan: plan, set: *set}
	defer func() { *set = r.set }()
	var removals []Removal
	var failed ObjectErrors
	for _, t := range r.set.Inventory.Targets() {
		obj, err := (live.Reader{Client: a.Client}).Get(ctx, t)
		if err != nil && !live.NotServed(err) { // of what is not served there is nothing
			failed = append(failed, ObjectError{t.ID, err})
			continue
		}
		rm := Removal{ID: t.ID, GVK: t.GVK, Live: obj}
		if obj != nil {
			rm.Keep, rm.Ours = plan.policy.Keeps(plan.Owner, t.ID, obj), plan.Owner.Owns(obj)
		}
		removals = append(removals, rm)
	}
	if len(failed) > 0 {
		return failed
	}
	return r.removeAll(ctx, removals)
}
