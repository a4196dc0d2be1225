package renderstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

var compareRefs = cmp.Comparer(func(a, b render.Ref) bool { return a == b })

func TestHistoryEntryHoldsRenderRefSyncedAtAndSummary(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		synced := time.Date(2026, 11, 29, 17, 10, 48, 5000, time.FixedZone("CET", 3600))
		added, err := archive.Append(t.Context(), renderstore.Record{Ref: ref(1), SyncedAt: synced, Summary: "ConfigMap/app@sha256:12"})
		if err != nil || !added {
			t.Fatalf("got %v, %v", added, err)
		}
		key := fmt.Sprintf("team/app/history/20261129T161048.000005000Z-%s.json", ref(1))
		if diff := cmp.Diff([]string{key}, f.keys(t, "team/")); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		want := fmt.Sprintf(`{"renderRef":"%s","syncedAt":"2026-11-29T16:10:48.000005Z","summary":"ConfigMap/app@sha256:12"}`, ref(1))
		if got := f.object(t, key); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		entries := history(t, archive)
		if diff := cmp.Diff([]renderstore.Entry{{Ref: ref(1), SyncedAt: synced.UTC()}}, entries, compareRefs); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if summary, err := archive.Summary(t.Context(), entries[0]); err != nil || summary != "ConfigMap/app@sha256:12" {
			t.Errorf("got summary %q, %v", summary, err)
		}
	})
}

func TestHistoryContainsEachRenderOnce(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		for i, number := range []int{1, 2, 1, 3, 1, 2} {
			apply(t, archive, newRender(t, number), i)
		}
		want := []renderstore.Entry{ // syncedAt is the time of the first apply
			{Ref: newRender(t, 3).Ref(), SyncedAt: at(3)},
			{Ref: newRender(t, 2).Ref(), SyncedAt: at(1)},
			{Ref: newRender(t, 1).Ref(), SyncedAt: at(0)},
		}
		if diff := cmp.Diff(want, history(t, archive), compareRefs); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if got := f.keys(t, "team/app/history/"); len(got) != 3 {
			t.Errorf("got keys %v, want 3", got)
		}
	})
}

func TestAppendSaysWhetherItAdded(t *testing.T) {
	archive := open(t, "mem://").Archive("team", "app")
	for i, want := range []bool{true, false, false} {
		if added, err := archive.Append(t.Context(), record(ref(1), i)); err != nil || added != want {
			t.Errorf("call %d: got %v, %v, want %v", i, added, err, want)
		}
	}
}

func TestHistoryShowsTheOldestOfTwoEntriesForOneRender(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		for _, seconds := range []int{20, 10, 30} {
			f.put(t, fmt.Sprintf("team/app/history/20261129T1600%d.123456789Z-%s.json", seconds, ref(1)), "{}")
		}
		if diff := cmp.Diff([]renderstore.Entry{{Ref: ref(1), SyncedAt: at(10)}}, history(t, archive), compareRefs); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if n, err := archive.Count(t.Context()); err != nil || n != 1 {
			t.Errorf("got count %d, %v, want 1", n, err)
		}
	})
}

func TestOlderOfTwoEntriesStaysWhicheverIsWrittenFirst(t *testing.T) {
	for name, c := range map[string]struct{ mine, theirs int }{
		"another process was a little earlier": {mine: 2, theirs: 1},
		"another process was a little later":   {mine: 1, theirs: 2},
		"at the same time":                     {mine: 1, theirs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryDriver(t, func(t *testing.T, f fixture) {
				var theirsAdded bool
				// The other process does all of its Append after this one has found no entry, and before it writes its own.
				meanwhile := &createdMeanwhile{Bucket: f.bucket, before: func() {
					var err error
					if theirsAdded, err = f.Archive("team", "app").Append(t.Context(), record(ref(1), c.theirs)); err != nil {
						t.Error(err)
					}
				}}
				mine := fixture{bucket: meanwhile}.another(t).Archive("team", "app")
				added, err := mine.Append(t.Context(), record(ref(1), c.mine))
				if err != nil {
					t.Fatal(err)
				}
				if !theirsAdded || added != (c.mine < c.theirs) {
					t.Errorf("theirs added: %v, mine added: %v", theirsAdded, added)
				}
				want := fmt.Sprintf("team/app/history/20261129T16000%d.123456789Z-%s.json", min(c.mine, c.theirs), ref(1))
				if diff := cmp.Diff([]string{want}, f.keys(t, "team/")); diff != "" {
					t.Errorf("keys (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestHistoryComesFromKeysAlone(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		var opened []string
		observe := func(op string, _ time.Duration, _ error) { opened = append(opened, op) }
		store, err := renderstore.Open(t.Context(), "mem://", renderstore.WithObserver(observe),
			renderstore.WithBucket(func(renderstore.Bucket) renderstore.Bucket { return f.bucket }))
		if err != nil {
			t.Fatal(err)
		}
		archive := f.Archive("team", "app")
		for i := range 3 {
			apply(t, archive, newRender(t, i), i)
			f.put(t, fmt.Sprintf("team/app/history/20261129T16000%d.123456789Z-%s.json", i, newRender(t, i).Ref()), "broken")
		}
		archive = store.Archive("team", "app")
		if n := len(history(t, archive)); n != 3 {
			t.Errorf("got %d entries, want 3", n)
		}
		if n, err := archive.Count(t.Context()); n != 3 || err != nil {
			t.Errorf("got count %d, %v, want 3", n, err)
		}
		if _, err := archive.Append(t.Context(), record(newRender(t, 1).Ref(), 9)); err != nil {
			t.Error(err)
		}
		if _, err := archive.Prune(t.Context(), renderstore.Retention{Keep: 2, Recorded: newRender(t, 2).Ref()}); err != nil {
			t.Error(err)
		}
		for _, op := range opened {
			if op == renderstore.OpRead || op == renderstore.OpSize {
				t.Fatalf("an object was opened: %v", opened)
			}
		}
		if len(opened) == 0 {
			t.Error("nothing was observed")
		}
	})
}

func TestHistoryLeavesOutWhatIsNoEntry(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		apply(t, archive, newRender(t, 1), 1)
		for _, name := range []string{"README", "20261129T160000.000000000Z.json", "20261129T160000Z-" + ref(2).String() + ".json",
			"20261129T160000.000000000Z-" + ref(2).String(), "20261129T160000.000000000Z-" + ref(2).String() + ".json.tmp",
			"2026/20261129T160000.000000000Z-" + ref(2).String() + ".json"} {
			f.put(t, "team/app/history/"+name, "{}")
		}
		if got := history(t, archive); len(got) != 1 {
			t.Errorf("got %v, want one entry", got)
		}
	})
}

func TestSummaryOfAnotherEntryIsErrCorrupt(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		e := renderstore.Entry{Ref: ref(1), SyncedAt: at(1)}
		if _, err := archive.Summary(t.Context(), e); !errors.Is(err, renderstore.ErrNotFound) {
			t.Errorf("no entry: got %v, want ErrNotFound", err)
		}
		for _, data := range []string{"", "{", fmt.Sprintf(`{"renderRef":"%s"}`, ref(2))} {
			f.put(t, fmt.Sprintf("team/app/history/20261129T160001.123456789Z-%s.json", ref(1)), data)
			if _, err := archive.Summary(t.Context(), e); !errors.Is(err, renderstore.ErrCorrupt) {
				t.Errorf("%q: got %v, want ErrCorrupt", data, err)
			}
		}
	})
}

func TestSummaryIsStoredWithoutCredentials(t *testing.T) {
	archive := open(t, "mem://").Archive("team", "app")
	for i, c := range []struct{ summary, want string }{
		{"https://git.example/app.git@main/12ab", "https://git.example/app.git@main/12ab"},
		{"https://alice:hunter2@git.example/app.git@main/12ab", "https://git.example/app.git@main/12ab"},
		{"https://alice:hun@ter2@git.example/app.git@v1", "https://git.example/app.git@v1"},
		{"https://token@git.example/app.git@v1", "https://git.example/app.git@v1"},
		{"ConfigMap/app@sha256:12", "ConfigMap/app@sha256:12"},
	} {
		if _, err := archive.Append(t.Context(), renderstore.Record{Ref: ref(i), SyncedAt: at(i), Summary: c.summary}); err != nil {
			t.Fatal(err)
		}
		if got, err := archive.Summary(t.Context(), renderstore.Entry{Ref: ref(i), SyncedAt: at(i)}); got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.summary, got, err, c.want)
		}
	}
}

func TestAppendRejectsWhatMakesNoKey(t *testing.T) {
	f := open(t, "mem://")
	for name, r := range map[string]renderstore.Record{
		"no render":  {SyncedAt: at(1)},
		"year 10000": {Ref: ref(1), SyncedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"year -1":    {Ref: ref(1), SyncedAt: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if added, err := f.Archive("team", "app").Append(t.Context(), r); err == nil || added {
			t.Errorf("%s: got %v, %v, want an error", name, added, err)
		}
	}
	if got := f.keys(t, "team/"); len(got) != 0 {
		t.Errorf("wrote %v", got)
	}
}

func TestTimeZoneAndMonotonicClockDoNotShowInTheHistory(t *testing.T) {
	archive := open(t, "mem://").Archive("team", "app")
	now := time.Now()
	if added, err := archive.Append(t.Context(), renderstore.Record{Ref: ref(1), SyncedAt: now}); err != nil || !added {
		t.Fatalf("got %v, %v", added, err)
	}
	if got := history(t, archive)[0].SyncedAt; !got.Equal(now) || got.Location() != time.UTC {
		t.Errorf("got %v, want %v in UTC", got, now)
	}
}

func TestClockThatJumpsBackDoesNotAgeTheNewestEntry(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		for i, when := range []time.Time{at(10), at(2), at(2)} {
			r := newRender(t, i+1)
			if _, err := archive.Append(t.Context(), renderstore.Record{Ref: r.Ref(), SyncedAt: when}); err != nil {
				t.Fatal(err)
			}
			if newest := history(t, archive)[0]; newest.Ref != r.Ref() {
				t.Errorf("after render %d was added at %v the newest entry is of %s at %v", i+1, when, newest.Ref, newest.SyncedAt)
			}
		}
	})
}
