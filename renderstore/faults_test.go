package renderstore_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

// broken is a store in memory that works until a fault is injected.
func broken(t testing.TB) (*renderstore.Store, *faultstore.Faults) {
	t.Helper()
	store, faults, err := faultstore.Wrap(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	return store, faults
}

// deletedMeanwhile is a bucket of which another process deletes each object just before it is deleted here.
type deletedMeanwhile struct{ renderstore.Bucket }

func (b *deletedMeanwhile) Delete(ctx context.Context, key string) error {
	if err := b.Bucket.Delete(ctx, key); err != nil {
		return err
	}
	return b.Bucket.Delete(ctx, key)
}

// createdMeanwhile is a bucket in which something happens just before an object is created.
type createdMeanwhile struct {
	renderstore.Bucket
	before func()
}

func (b *createdMeanwhile) Create(ctx context.Context, key string, data []byte) error {
	b.before()
	return b.Bucket.Create(ctx, key, data)
}

func TestFailedWriteIsAnErrorAndTheNextOneWorks(t *testing.T) {
	for name, effect := range map[string]faultstore.Effect{"refused": faultstore.Fail, "written but not answered": faultstore.LoseAnswer} {
		t.Run(name, func(t *testing.T) {
			store, faults := broken(t)
			archive, r := store.Archive("team", "app"), newRender(t, 1)
			faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Times: 1, Effect: effect})
			if err := archive.Put(t.Context(), r); !errors.Is(err, faultstore.ErrInjected) {
				t.Errorf("Put: got %v", err)
			}
			if err := archive.Put(t.Context(), r); err != nil {
				t.Errorf("Put again: got %v", err)
			}
			faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Times: 1, Effect: effect})
			if added, err := archive.Append(t.Context(), record(r.Ref(), 1)); added || !errors.Is(err, faultstore.ErrInjected) {
				t.Errorf("Append: got %v, %v", added, err)
			}
			if _, err := archive.Append(t.Context(), record(r.Ref(), 2)); err != nil {
				t.Errorf("Append again: got %v", err)
			}
			if !stored(t, archive, r.Ref()) || len(history(t, archive)) != 1 {
				t.Errorf("the render is not stored, or its history is %v", history(t, archive))
			}
		})
	}
}

func TestPutThatCannotLookAtWhatIsThereIsAnError(t *testing.T) {
	store, faults := broken(t)
	archive, r := store.Archive("team", "app"), newRender(t, 1)
	apply(t, archive, r, 1)
	faults.Inject(faultstore.Fault{Op: renderstore.OpSize})
	if err := archive.Put(t.Context(), r); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("got %v", err)
	}
}

func TestFailedListingIsNeverAnEmptyHistory(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	apply(t, archive, newRender(t, 1), 1)
	faults.Inject(faultstore.Fault{Op: renderstore.OpList})
	if _, err := archive.History(t.Context()); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("History: got %v", err)
	}
	if _, err := archive.Count(t.Context()); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("Count: got %v", err)
	}
	if added, err := archive.Append(t.Context(), record(ref(2), 2)); added || !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("Append: got %v, %v", added, err)
	}
	if err := archive.Purge(t.Context()); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("Purge: got %v", err)
	}
	faults.Clear()
	if got := history(t, archive); len(got) != 1 {
		t.Errorf("the history is now %v", got)
	}
}

func TestAppendThatCannotLookAgainHasAddedTheEntry(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	faults.Inject(faultstore.Fault{Op: renderstore.OpList, Skip: 1})
	if added, err := archive.Append(t.Context(), record(ref(1), 1)); !added || !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("got %v, %v, want true and an error", added, err)
	}
	faults.Clear()
	if got := history(t, archive); len(got) != 1 {
		t.Errorf("the history is %v", got)
	}
}

func TestBrokenReadIsNeitherMissingNorCorrupt(t *testing.T) {
	for name, fault := range map[string]faultstore.Fault{
		"refused":     {Effect: faultstore.Fail},
		"half a body": {Effect: faultstore.Half},
	} {
		t.Run(name, func(t *testing.T) {
			store, faults := broken(t)
			archive, r := store.Archive("team", "app"), newRender(t, 1)
			apply(t, archive, r, 1)
			fault.Op = renderstore.OpRead
			faults.Inject(fault)
			_, getErr := archive.Get(t.Context(), r.Ref())
			_, summaryErr := archive.Summary(t.Context(), renderstore.Entry{Ref: r.Ref(), SyncedAt: at(1)})
			for _, err := range []error{getErr, summaryErr} {
				if err == nil || errors.Is(err, renderstore.ErrNotFound) || errors.Is(err, renderstore.ErrCorrupt) {
					t.Errorf("got %v", err)
				}
			}
			if faults.Broken() != 2 {
				t.Errorf("%d reads were broken, want 2", faults.Broken())
			}
		})
	}
}

func TestGarbledReadIsErrCorrupt(t *testing.T) {
	store, faults := broken(t)
	archive, r := store.Archive("team", "app"), newRender(t, 1)
	apply(t, archive, r, 1)
	faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Effect: faultstore.Garble, Times: 1})
	if _, err := archive.Get(t.Context(), r.Ref()); !errors.Is(err, renderstore.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
	if !stored(t, archive, r.Ref()) {
		t.Error("the render is gone")
	}
}

func TestOperationThatHangsEndsAtItsDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		heeds bool
		late  time.Duration // how long after the deadline it is left
	}{
		"and heeds it":     {true, 0},
		"and heeds it not": {false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, err := renderstore.Open(t.Context(), "mem://",
					renderstore.WithBucket(func(b renderstore.Bucket) renderstore.Bucket { return hanging{Bucket: b, heed: c.heeds} }))
				if err != nil {
					t.Fatal(err)
				}
				for caller, deadline := range map[time.Duration]time.Duration{
					time.Second: time.Second,      // a shorter one counts
					time.Hour:   30 * time.Second, // a longer one is for all operations together
				} {
					ctx, cancel := context.WithTimeout(context.Background(), caller)
					start := time.Now()
					_, err = store.Archive("team", "app").Get(ctx, ref(1))
					if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, renderstore.ErrNotFound) {
						t.Errorf("got %v, want DeadlineExceeded", err)
					}
					if took, want := time.Since(start), deadline+c.late; took != want {
						t.Errorf("with %v of the caller: took %v, want %v", caller, took, want)
					}
					cancel()
				}
				time.Sleep(2 * time.Hour) // of the bubble's clock: lets the reads that were left behind end
			})
		})
	}
}

// hanging is a bucket whose reads take two hours, or until the deadline if they heed it.
type hanging struct {
	renderstore.Bucket
	heed bool
}

func (b hanging) Read(ctx context.Context, _ string, _ int64) ([]byte, error) {
	heeded := ctx.Done()
	if !b.heed {
		heeded = nil
	}
	select {
	case <-heeded:
		return nil, ctx.Err()
	case <-time.After(2 * time.Hour):
		return nil, io.ErrUnexpectedEOF
	}
}

func TestObserverSeesEachOperationOnce(t *testing.T) {
	type call struct {
		op     string
		failed bool
	}
	var calls []call
	store, faults, err := faultstore.Wrap(t.Context(), "mem://", renderstore.WithObserver(func(op string, took time.Duration, err error) {
		if took < 0 {
			t.Errorf("%s took %v", op, took)
		}
		calls = append(calls, call{op, err != nil})
	}))
	if err != nil {
		t.Fatal(err)
	}
	archive, r := store.Archive("team", "app"), newRender(t, 1)
	expect := func(what string, want ...call) {
		t.Helper()
		if !slices.Equal(calls, want) {
			t.Errorf("%s: got %v, want %v", what, calls, want)
		}
		calls = nil
	}
	_, _ = archive.Get(t.Context(), r.Ref())
	expect("a missing render is an answer", call{"read", false})
	_ = archive.Put(t.Context(), r)
	expect("a new render", call{"write", false})
	_ = archive.Put(t.Context(), r)
	expect("a render that exists is an answer", call{"write", false}, call{"size", false})
	faults.Inject(faultstore.Fault{})
	_ = archive.Put(t.Context(), r)
	expect("a failure", call{"write", true})
	_, _ = archive.Count(t.Context())
	expect("a failure", call{"list", true})
}

func TestEndedContextChangesNothing(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		apply(t, archive, newRender(t, 1), 1)
		before := f.keys(t, "team/")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, getErr := archive.Get(ctx, newRender(t, 1).Ref())
		_, countErr := archive.Count(ctx)
		_, appendErr := archive.Append(ctx, record(ref(2), 2))
		for _, err := range []error{archive.Put(ctx, newRender(t, 2)), archive.Purge(ctx), getErr, countErr, appendErr} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
		}
		if diff := cmp.Diff(before, f.keys(t, "team/")); diff != "" {
			t.Errorf("keys (-before +after):\n%s", diff)
		}
	})
}

func TestAppendOfARenderThatTheHistoryHasWritesNothing(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	apply(t, archive, newRender(t, 1), 1)
	faults.Inject(faultstore.Fault{Op: renderstore.OpWrite})
	if added, err := archive.Append(t.Context(), record(newRender(t, 1).Ref(), 2)); added || err != nil {
		t.Errorf("got %v, %v", added, err)
	}
}

func TestPurgeThatFailsInPartGoesOnTheNextTime(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	applyAll(t, archive, 5)
	faults.Inject(faultstore.Fault{Op: renderstore.OpDelete, Skip: 3, Times: 2})
	if err := archive.Purge(t.Context()); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("got %v", err)
	}
	left := len(history(t, archive)) + len(numbers(t, archive, 5))
	if left != 2 {
		t.Errorf("%d keys are left, want the 2 that could not be deleted", left)
	}
	if err := archive.Purge(t.Context()); err != nil {
		t.Error(err)
	}
	if len(history(t, archive))+len(numbers(t, archive, 5)) != 0 {
		t.Error("something is left")
	}
}

func TestClosedStoreStoresNothingAndSaysSo(t *testing.T) {
	for _, url := range []string{"mem://", fileURL(t)} {
		store, err := renderstore.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if err := store.Archive("team", "app").Put(t.Context(), newRender(t, 1)); err == nil {
			t.Errorf("%s: no error", url)
		}
	}
}
