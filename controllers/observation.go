package controllers

import (
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// Observation is what the steps of a pass saw. Steps add to it; only the report reads it. A nil member was not seen.
type Observation struct {
	// Rendered is what the source renders now.
	Rendered *RenderedFact
	// SourceFailure is why the source does not render, in a pass that does not need it.
	SourceFailure *Failure
	// Sync is the sync request that the pass acts on.
	Sync *SyncFact
	// Attempted is the selection whose apply has begun.
	Attempted *Selection
	// Waiting is what the apply or the assessment waits for, and since when.
	Waiting *WaitingFact
	// Applied is the selection that is applied in full.
	Applied *AppliedFact
	// Fights are the objects that somebody keeps changing.
	Fights []apply.Fight
	// Health is the health of what runs.
	Health *HealthFact
	// Rollback is the rollback that holds, or that begins; nil if there is none.
	Rollback *v1alpha1.RollbackStatus
	// Began says that the apply of the attempted selection has changed something, in this pass or in one before.
	Began bool
	// RollsBack says that Rollback begins with the next pass.
	RollsBack bool
	// Begins says that the hooks of the rollout start with the next pass.
	Begins bool
	// FailHooks are the SyncFail hooks that still run.
	FailHooks live.Unhealthy
	// HistoryCount is the number of entries in the render store.
	HistoryCount *int
	// RecordErr is why the history entry was not written or old renders were not collected.
	RecordErr error
}

// RenderedFact says that the source was rendered.
type RenderedFact struct {
	Ref     render.Ref
	Objects int
	Summary string
}

// SyncFact is a sync request, and the render that it was for.
type SyncFact struct {
	At  string // the value of the annotation
	Ref render.Ref
}

// WaitingFact is what is awaited since when.
type WaitingFact struct {
	apply.Waiting
	Since time.Time
}

// AppliedFact says that a selection is applied in full.
type AppliedFact struct {
	Selection
	Objects int
	Changes tally
}

// HealthFact is the health of what runs.
type HealthFact struct {
	Unhealthy live.Unhealthy
	Late      string // why it counts as degraded; empty if it does not
	Unread    error  // why it could not be read; nil if it was
}

// Origin says why a render was selected.
type Origin string

// The origins.
const (
	FromSource   Origin = "source"   // it is what the source renders now
	FromPin      Origin = "pin"      // somebody pinned it
	FromRollback Origin = "rollback" // the source's render failed, and this is the one that was last healthy
	FromStore    Origin = "store"    // it is the one that was last applied, and what the source renders cannot be had, or waits
	FromDeletion Origin = "deletion" // the Release is being deleted, so it is the empty render
)

// Selection is the render that a pass applies, and why that one.
type Selection struct {
	Render   render.Render
	Origin   Origin
	Revision string // of the source
	Summary  string // for the history: the source's origin, @ and its revision
}

// noun is what people call the selected render.
func (s Selection) noun() string {
	switch s.Origin {
	case FromPin:
		return "pinned render"
	case FromRollback:
		return "last healthy render"
	default:
		return "render"
	}
}

// record is the entry of the status for a selection. The time is kept as long as the render stays the same.
func (s Selection) record(old *v1alpha1.RenderRecord, now time.Time) *v1alpha1.RenderRecord {
	next := &v1alpha1.RenderRecord{RenderRef: s.Render.Ref().String(), Revision: s.Revision, Time: seconds(now)}
	if old != nil && old.RenderRef == next.RenderRef {
		next.Time = old.Time
	}
	return next
}
