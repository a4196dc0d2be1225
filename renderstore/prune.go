package renderstore

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/convoy-dev/convoy/render"
)

const (
	// parallelDeletes is how many objects are deleted at the same time.
	parallelDeletes = 16

	// maxDeleteErrors is how many errors of deletes are told in full; an object store that is down gives the same one each time.
	maxDeleteErrors = 3
)

// Result says what Prune deleted.
type Result struct {
	Entries int
	Blobs   int
}

// Prune deletes what the Retention does not keep: first the entries, then the renders. If a listing fails or is not to be believed,
// nothing is deleted. A delete that fails does not stop the others, but an entry that could not be deleted keeps its render. What is
// neither an entry nor a render is left alone. Without an object store it does nothing.
func (a *Archive) Prune(ctx context.Context, r Retention) (Result, error) {
	if err := a.usable(); err != nil || r.Keep <= 0 {
		return Result{}, unlessDisabled(err)
	}
	plan, err := a.plan(ctx, r)
	if err != nil {
		return Result{}, fmt.Errorf("prune the history of %s: %w", a.release, err)
	}
	result, err := a.execute(ctx, plan)
	if err != nil {
		return result, fmt.Errorf("prune the history of %s: %w", a.release, err)
	}
	return result, nil
}

// plan lists the renders before the history, so that a render that another process records meanwhile has its entry in the listing.
func (a *Archive) plan(ctx context.Context, r Retention) (Plan, error) {
	blobs, err := a.bucket.List(ctx, a.keys.blobs())
	if err != nil {
		return Plan{}, fmt.Errorf("list the renders: %w", err)
	}
	entries, err := a.entries(ctx)
	if err != nil {
		return Plan{}, fmt.Errorf("list the entries: %w", err)
	}
	return PlanPrune(entries, a.keys.parseBlobs(blobs), r)
}

func (a *Archive) execute(ctx context.Context, plan Plan) (Result, error) {
	remaining, entriesErr := a.deleteAll(ctx, a.entryKeys(plan.Entries))
	needed := make(map[render.Ref]bool)
	for _, e := range a.keys.parseEntries(remaining) {
		needed[e.Ref] = true
	}
	var blobs []string
	for _, ref := range plan.Blobs {
		if !needed[ref] {
			blobs = append(blobs, a.keys.blob(ref))
		}
	}
	left, blobsErr := a.deleteAll(ctx, blobs)
	return Result{Entries: len(plan.Entries) - len(remaining), Blobs: len(blobs) - len(left)}, join(entriesErr, blobsErr)
}

// deleteAll deletes keys, several at a time, and goes on if one cannot be deleted. It returns those that could not be deleted. A key
// that is gone already is deleted.
func (a *Archive) deleteAll(ctx context.Context, keys []string) (remaining []string, err error) {
	errs := make([]error, len(keys))
	var group errgroup.Group
	group.SetLimit(parallelDeletes)
	for i, key := range keys {
		group.Go(func() error {
			if err := a.bucket.Delete(ctx, key); !errors.Is(err, ErrNotFound) {
				errs[i] = err
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	var told []error
	for i, err := range errs {
		if err == nil {
			continue
		}
		remaining = append(remaining, keys[i])
		if len(told) < maxDeleteErrors {
			told = append(told, fmt.Errorf("delete %s: %w", keys[i], err))
		}
	}
	if more := len(remaining) - len(told); more > 0 {
		told = append(told, fmt.Errorf("and %d more could not be deleted", more))
	}
	return remaining, join(told...)
}
