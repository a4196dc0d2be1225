package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// store keeps the render before the first object is applied, and records every object that may be applied, so that a crash leaks
// nothing. If either fails, nothing is applied.
func (r *ReleaseReconciler) store(ctx context.Context, p pass, selection Selection, planned *planned) *Failure {
	defer r.Metrics.step("store")()
	if selection.Origin != FromDeletion {
		p.seen.Attempted = &selection
		if planned.Changes() || !r.stored.is(p.release.UID, selection.Render.Ref()) {
			if err := p.archive.Put(ctx, selection.Render); err != nil {
				return notApplied(v1alpha1.ReasonDeployFailed, Backoff, "Nothing was applied, since the render cannot be stored: %w", err)
			}
			r.stored.set(p.release.UID, selection.Render.Ref())
		}
	}
	shards, err := r.writeInventory(ctx, p.release, planned.shards, planned.Planned())
	if err != nil {
		return notApplied(v1alpha1.ReasonDeployFailed, Backoff, "Nothing was applied, since the inventory cannot be written: %w", err)
	}
	planned.shards = shards
	return nil
}

// stored remembers which render of each Release this process has stored, so that a pass that changes nothing does not ask the
// store again.
type stored struct {
	mu   sync.Mutex
	refs map[types.UID]render.Ref
}

func newStored() *stored { return &stored{refs: map[types.UID]render.Ref{}} }

func (s *stored) is(uid types.UID, ref render.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refs[uid] == ref
}

func (s *stored) set(uid types.UID, ref render.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refs[uid] = ref
}

func (s *stored) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refs, uid)
}
