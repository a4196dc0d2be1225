package controllers

import (
	"fmt"

	"github.com/convoy-dev/convoy/apply"
)

// tally counts what was done until a render was applied in full, which may take many passes. A restart forgets those before it.
type tally struct{ created, configured, recreated, deleted int }

func (t tally) String() string {
	text := fmt.Sprintf("%d created, %d configured, %d deleted", t.created, t.configured, t.deleted)
	if t.recreated > 0 {
		text += fmt.Sprintf(", %d recreated", t.recreated)
	}
	return text
}

// count adds the changes of a pass to those of the passes before it.
func (r *ReleaseReconciler) count(p pass, selection Selection, changes apply.ChangeSet) tally {
	sum, _ := r.tallies.get(p.release.UID, selection.Render.Ref().String())
	sum.created += changes.Count(apply.Created)
	sum.configured += changes.Count(apply.Configured)
	sum.recreated += changes.Count(apply.Recreated)
	sum.deleted += changes.Count(apply.Deleted)
	r.tallies.put(p.release.UID, selection.Render.Ref().String(), sum)
	return sum
}
