package renderstore_test

import (
	"errors"
	"testing"

	"github.com/convoy-dev/convoy/renderstore"
)

func TestEmptyURLGivesAWorkingDisabledStore(t *testing.T) {
	store, err := renderstore.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if store.Enabled() {
		t.Error("the store says that it is enabled")
	}
	archive := store.Archive("team", "app")

	added, appendErr := archive.Append(t.Context(), record(ref(1), 1))
	result, pruneErr := archive.Prune(t.Context(), renderstore.Retention{Keep: 1, Recorded: ref(1)})
	for what, err := range map[string]error{
		"Put": archive.Put(t.Context(), newRender(t, 1)), "Append": appendErr, "Prune": pruneErr, "Purge": archive.Purge(t.Context()),
	} {
		if err != nil {
			t.Errorf("%s: a write does nothing, but got %v", what, err)
		}
	}
	if added || result != (renderstore.Result{}) {
		t.Errorf("writes did something: added %v, deleted %+v", added, result)
	}

	_, getErr := archive.Get(t.Context(), ref(1))
	_, historyErr := archive.History(t.Context())
	_, summaryErr := archive.Summary(t.Context(), renderstore.Entry{Ref: ref(1), SyncedAt: at(1)})
	for what, err := range map[string]error{"Get": getErr, "History": historyErr, "Summary": summaryErr} {
		if !errors.Is(err, renderstore.ErrDisabled) || errors.Is(err, renderstore.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrDisabled", what, err)
		}
	}
	if n, err := archive.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("got count %d, %v, want 0", n, err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenStoreIsEnabled(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		if !f.Enabled() {
			t.Error("the store says that it is disabled")
		}
	})
}
