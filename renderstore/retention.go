package renderstore

import (
	"fmt"
	"slices"

	"github.com/convoy-dev/convoy/render"
)

// Retention says what of a Release's history stays.
type Retention struct {
	// Keep is how many entries stay, the newest ones. With 0 or less all entries and all renders stay.
	Keep int

	// Protected are renders that stay even if no entry names them.
	Protected []render.Ref

	// Recorded is the render that was just added to the history, or was in it already. It is protected too. A listing of the history
	// that does not have it is not believed.
	Recorded render.Ref
}

// Plan is what a Retention deletes.
type Plan struct {
	Entries []Entry      // the oldest first
	Blobs   []render.Ref // renders that no remaining entry names, and that are not protected
}

// PlanPrune decides what to delete, from the listings of a history and of stored renders, each in any order. Of several entries for
// one render the oldest counts, and the others are deleted. It is an error, and nothing is to be deleted, if the entries do not have
// the recorded render.
func PlanPrune(entries []Entry, blobs []render.Ref, r Retention) (Plan, error) {
	if r.Keep <= 0 {
		return Plan{}, nil
	}
	if len(entriesFor(r.Recorded, entries)) == 0 {
		return Plan{}, fmt.Errorf("the history was listed with %d entries, but without render %s that was just recorded: nothing is deleted",
			len(entries), short(r.Recorded))
	}
	entries = slices.SortedFunc(slices.Values(entries), NewestFirst)
	history := oncePerRender(entries)

	needed := map[render.Ref]bool{r.Recorded: true}
	for _, ref := range r.Protected {
		needed[ref] = true
	}
	kept := make(map[Entry]bool)
	for _, e := range history[:min(len(history), r.Keep)] {
		kept[e] = true
		needed[e.Ref] = true
	}
	var plan Plan
	for _, e := range slices.Backward(entries) {
		if !kept[e] {
			plan.Entries = append(plan.Entries, e)
		}
	}
	for _, ref := range blobs {
		if !needed[ref] {
			plan.Blobs = append(plan.Blobs, ref)
		}
	}
	return plan, nil
}
