package renderstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

// applyAll applies renders 0 to n-1 in this order, at the times of their numbers.
func applyAll(t testing.TB, a *renderstore.Archive, n int) {
	t.Helper()
	for i := range n {
		apply(t, a, newRender(t, i), i)
	}
}

// numbers are those of the renders 0 to n-1 that can be read.
func numbers(t testing.TB, a *renderstore.Archive, n int) []int {
	t.Helper()
	var out []int
	for i := range n {
		if stored(t, a, newRender(t, i).Ref()) {
			out = append(out, i)
		}
	}
	return out
}

func TestPruneKeepsTheNewestEntriesAndTheirRenders(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		applyAll(t, archive, 6)
		apply(t, f.Archive("team", "app-2"), newRender(t, 0), 0)
		f.put(t, "team/app/blobs/README", "not ours")
		f.put(t, "team/app/history/README", "not ours")
		f.put(t, "team/app/other/"+newRender(t, 0).Ref().String(), "not ours")

		result, err := archive.Prune(t.Context(), renderstore.Retention{
			Keep: 2, Recorded: newRender(t, 5).Ref(), Protected: []render.Ref{newRender(t, 1).Ref(), {}},
		})
		if err != nil || result != (renderstore.Result{Entries: 4, Blobs: 3}) {
			t.Errorf("got %+v, %v", result, err)
		}
		if got := history(t, archive); len(got) != 2 || got[0].SyncedAt != at(5) || got[1].SyncedAt != at(4) {
			t.Errorf("the history is %v", got)
		}
		if diff := cmp.Diff([]int{1, 4, 5}, numbers(t, archive, 6)); diff != "" {
			t.Errorf("renders (-want +got):\n%s", diff)
		}
		for _, key := range []string{"team/app/blobs/README", "team/app/history/README", "team/app/other/" + newRender(t, 0).Ref().String()} {
			if f.object(t, key) != "not ours" {
				t.Errorf("%s was touched", key)
			}
		}
		if other := f.Archive("team", "app-2"); len(history(t, other)) != 1 || !stored(t, other, newRender(t, 0).Ref()) {
			t.Error("the renders of another Release were touched")
		}
	})
}

func TestKeepZeroAndLessKeepAllEntriesAndAllBlobs(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		applyAll(t, archive, 3)
		if err := archive.Put(t.Context(), newRender(t, 3)); err != nil { // has no entry
			t.Fatal(err)
		}
		before := f.keys(t, "team/app/")
		for _, keep := range []int{0, -1, -10} {
			if _, err := archive.Prune(t.Context(), renderstore.Retention{Keep: keep, Recorded: newRender(t, 2).Ref()}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(before, f.keys(t, "team/app/")); diff != "" {
			t.Errorf("keys (-before +after):\n%s", diff)
		}
	})
}

func TestCollectedRenderThatIsAppliedAgainGetsANewEntry(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		applyAll(t, archive, 3)
		if _, err := archive.Prune(t.Context(), renderstore.Retention{Keep: 1, Recorded: newRender(t, 2).Ref()}); err != nil {
			t.Fatal(err)
		}
		apply(t, archive, newRender(t, 0), 9)
		got := history(t, archive)
		if len(got) != 2 || got[0] != (renderstore.Entry{Ref: newRender(t, 0).Ref(), SyncedAt: at(9)}) {
			t.Errorf("the history is %v", got)
		}
		if !stored(t, archive, newRender(t, 0).Ref()) {
			t.Error("the render is not stored again")
		}
	})
}

func TestListingWithoutTheRecordedRenderIsNotBelieved(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	applyAll(t, archive, 4)
	faults.Inject(faultstore.Fault{Op: renderstore.OpList, Key: "/history/", Effect: faultstore.Half})
	result, err := archive.Prune(t.Context(), renderstore.Retention{Keep: 1, Recorded: newRender(t, 3).Ref()})
	if err == nil || !strings.Contains(err.Error(), "without render") || result != (renderstore.Result{}) {
		t.Errorf("got %+v, %v", result, err)
	}
	faults.Clear()
	if len(history(t, archive)) != 4 || len(numbers(t, archive, 4)) != 4 {
		t.Error("something was deleted")
	}
}

func TestFailedListingDeletesNothing(t *testing.T) {
	for _, prefix := range []string{"/blobs/", "/history/"} {
		store, faults := broken(t)
		archive := store.Archive("team", "app")
		applyAll(t, archive, 4)
		faults.Inject(faultstore.Fault{Op: renderstore.OpList, Key: prefix})
		_, err := archive.Prune(t.Context(), renderstore.Retention{Keep: 1, Recorded: newRender(t, 3).Ref()})
		if !errors.Is(err, faultstore.ErrInjected) {
			t.Errorf("%s: got %v", prefix, err)
		}
		faults.Clear()
		if len(history(t, archive)) != 4 || len(numbers(t, archive, 4)) != 4 {
			t.Errorf("%s: something was deleted", prefix)
		}
	}
}

func TestEntriesAreDeletedBeforeBlobs(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	applyAll(t, archive, 5)
	var deleted []string
	faults.OnCall(func(op, key string) {
		if op == renderstore.OpDelete {
			deleted = append(deleted, strings.Split(key, "/")[2])
		}
	})
	// One at a time, so that the recorder needs no lock.
	for keep := 4; keep > 0; keep-- {
		if _, err := archive.Prune(t.Context(), renderstore.Retention{Keep: keep, Recorded: newRender(t, 4).Ref()}); err != nil {
			t.Fatal(err)
		}
	}
	want := slices.Repeat([]string{"history", "blobs"}, 4)
	if diff := cmp.Diff(want, deleted); diff != "" {
		t.Errorf("deletes (-want +got):\n%s", diff)
	}
}

func TestOneFailingDeleteDoesNotStopTheOthers(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	applyAll(t, archive, 6)
	retention := renderstore.Retention{Keep: 1, Recorded: newRender(t, 5).Ref()}
	faults.Inject(faultstore.Fault{Op: renderstore.OpDelete, Key: "/blobs/" + newRender(t, 2).Ref().String()})

	result, err := archive.Prune(t.Context(), retention)
	if !errors.Is(err, faultstore.ErrInjected) || !strings.Contains(err.Error(), "/blobs/"+newRender(t, 2).Ref().String()) {
		t.Errorf("got %v, want an error that names the key", err)
	}
	if result != (renderstore.Result{Entries: 5, Blobs: 4}) {
		t.Errorf("got %+v", result)
	}
	if diff := cmp.Diff([]int{2, 5}, numbers(t, archive, 6)); diff != "" {
		t.Errorf("renders (-want +got):\n%s", diff)
	}
	faults.Clear()
	if result, err = archive.Prune(t.Context(), retention); err != nil || result != (renderstore.Result{Blobs: 1}) {
		t.Errorf("the next time: got %+v, %v", result, err)
	}
}

func TestEntryThatCannotBeDeletedKeepsItsRender(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	applyAll(t, archive, 4)
	faults.Inject(faultstore.Fault{Op: renderstore.OpDelete, Key: newRender(t, 1).Ref().String() + ".json"})
	if _, err := archive.Prune(t.Context(), renderstore.Retention{Keep: 1, Recorded: newRender(t, 3).Ref()}); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff([]int{1, 3}, numbers(t, archive, 4)); diff != "" {
		t.Errorf("renders (-want +got):\n%s", diff)
	}
	for _, e := range history(t, archive) {
		if !stored(t, archive, e.Ref) {
			t.Errorf("entry %v has no render", e)
		}
	}
}

func TestDeletingWhatIsGoneAlreadyIsSuccess(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		applyAll(t, archive, 4)
		// Another process deletes everything that the plan names, before this one does.
		racing, err := renderstore.Open(t.Context(), "mem://", renderstore.WithBucket(func(renderstore.Bucket) renderstore.Bucket {
			return &deletedMeanwhile{Bucket: f.bucket}
		}))
		if err != nil {
			t.Fatal(err)
		}
		retention := renderstore.Retention{Keep: 1, Recorded: newRender(t, 3).Ref()}
		if _, err := racing.Archive("team", "app").Prune(t.Context(), retention); err != nil {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]int{3}, numbers(t, archive, 4)); diff != "" {
			t.Errorf("renders (-want +got):\n%s", diff)
		}
	})
}

func TestManyFailuresAreToldInShort(t *testing.T) {
	store, faults := broken(t)
	archive := store.Archive("team", "app")
	applyAll(t, archive, 50)
	faults.Inject(faultstore.Fault{Op: renderstore.OpDelete, Err: fmt.Errorf("line one\nline two")})
	err := archive.Purge(t.Context())
	if err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "97 more") {
		t.Errorf("got %v", err)
	}
}
