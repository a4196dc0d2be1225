package renderstore_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

// entry is an entry for a render that was applied at a time.
func entry(number, second int) renderstore.Entry {
	return renderstore.Entry{Ref: ref(number), SyncedAt: at(second)}
}

func refs(numbers ...int) []render.Ref {
	var out []render.Ref
	for _, n := range numbers {
		out = append(out, ref(n))
	}
	return out
}

func TestPlanPrune(t *testing.T) {
	five := []renderstore.Entry{entry(3, 3), entry(1, 1), entry(5, 5), entry(2, 2), entry(4, 4)}
	for name, c := range map[string]struct {
		entries   []renderstore.Entry
		blobs     []render.Ref
		retention renderstore.Retention
		want      renderstore.Plan
		wantErr   bool
	}{
		"the newest N entries stay, and their renders": {
			entries: five, blobs: refs(1, 2, 3, 4, 5), retention: renderstore.Retention{Keep: 3, Recorded: ref(5)},
			want: renderstore.Plan{Entries: []renderstore.Entry{entry(1, 1), entry(2, 2)}, Blobs: refs(1, 2)},
		},
		"0 keeps all entries and all renders": {
			entries: five, blobs: refs(1, 2, 3, 4, 5, 6), retention: renderstore.Retention{Keep: 0, Recorded: ref(5)},
		},
		"a negative value has the same effect": {
			entries: five, blobs: refs(1, 2, 3, 4, 5, 6), retention: renderstore.Retention{Keep: -3, Recorded: ref(5)},
		},
		"fewer entries than N": {
			entries: five, blobs: refs(1, 2, 3, 4, 5), retention: renderstore.Retention{Keep: 10, Recorded: ref(5)},
		},
		"a render without an entry goes": {
			entries: five, blobs: refs(6, 5, 7), retention: renderstore.Retention{Keep: 10, Recorded: ref(5)},
			want: renderstore.Plan{Blobs: refs(6, 7)},
		},
		"protected renders stay, also when their entries are gone": {
			entries: five, blobs: refs(1, 2, 3, 4, 5, 6),
			retention: renderstore.Retention{Keep: 2, Recorded: ref(5), Protected: refs(1, 6)},
			want:      renderstore.Plan{Entries: []renderstore.Entry{entry(1, 1), entry(2, 2), entry(3, 3)}, Blobs: refs(2, 3)},
		},
		"the render just applied stays, also when it is the oldest": {
			entries: five, blobs: refs(1, 2, 3, 4, 5), retention: renderstore.Retention{Keep: 2, Recorded: ref(1)},
			want: renderstore.Plan{Entries: []renderstore.Entry{entry(1, 1), entry(2, 2), entry(3, 3)}, Blobs: refs(2, 3)},
		},
		"a second entry for a render goes, and does not count": {
			entries: []renderstore.Entry{entry(1, 1), entry(2, 2), entry(2, 9), entry(3, 3)}, blobs: refs(1, 2, 3),
			retention: renderstore.Retention{Keep: 2, Recorded: ref(3)},
			want:      renderstore.Plan{Entries: []renderstore.Entry{entry(1, 1), entry(2, 9)}, Blobs: refs(1)},
		},
		"a listing without the recorded render is not believed": {
			entries: five, blobs: refs(1, 2, 3, 4, 5, 6), retention: renderstore.Retention{Keep: 1, Recorded: ref(6)}, wantErr: true,
		},
		"an empty listing is not believed": {
			blobs: refs(1, 2), retention: renderstore.Retention{Keep: 1, Recorded: ref(1)}, wantErr: true,
		},
		"without a recorded render no listing is believed": {
			entries: five, blobs: refs(6), retention: renderstore.Retention{Keep: 1}, wantErr: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := renderstore.PlanPrune(c.entries, c.blobs, c.retention)
			if (err != nil) != c.wantErr {
				t.Errorf("got error %v, want one: %v", err, c.wantErr)
			}
			if diff := cmp.Diff(c.want, got, compareRefs, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// situation draws listings and a retention. The recorded render is in the history in most of them.
type situation struct {
	entries   []renderstore.Entry
	blobs     []render.Ref
	retention renderstore.Retention
}

func drawSituation(t *rapid.T) situation {
	number := rapid.IntRange(0, 12)
	anEntry := rapid.Custom(func(t *rapid.T) renderstore.Entry {
		return entry(number.Draw(t, "render"), rapid.IntRange(0, 40).Draw(t, "second"))
	})
	entries := rapid.SliceOfNDistinct(anEntry, 1, 20, func(e renderstore.Entry) renderstore.Entry { return e }).Draw(t, "entries")
	aRef := rapid.Custom(func(t *rapid.T) render.Ref { return ref(number.Draw(t, "render")) })
	return situation{
		entries: entries,
		blobs:   rapid.SliceOfDistinct(aRef, func(r render.Ref) string { return r.String() }).Draw(t, "blobs"),
		retention: renderstore.Retention{
			Keep:      rapid.IntRange(-2, 15).Draw(t, "keep"),
			Protected: rapid.SliceOfN(aRef, 0, 4).Draw(t, "protected"),
			Recorded:  rapid.OneOf(aRef, rapid.SampledFrom(entryRefs(entries))).Draw(t, "recorded"),
		},
	}
}

func entryRefs(entries []renderstore.Entry) []render.Ref {
	var out []render.Ref
	for _, e := range entries {
		out = append(out, e.Ref)
	}
	return out
}

func TestPlanPruneHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		plan, err := renderstore.PlanPrune(s.entries, s.blobs, s.retention)
		believed := slices.Contains(entryRefs(s.entries), s.retention.Recorded)
		if s.retention.Keep <= 0 || !believed {
			if len(plan.Entries)+len(plan.Blobs) > 0 {
				t.Fatalf("deletes %+v, want nothing", plan)
			}
			if (err != nil) != (s.retention.Keep > 0) {
				t.Fatalf("got error %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		left := without(s.entries, plan.Entries)
		blobsLeft := without(s.blobs, plan.Blobs)
		for _, r := range slices.Concat(s.retention.Protected, []render.Ref{s.retention.Recorded}, entryRefs(left)) {
			if slices.Contains(s.blobs, r) && !slices.Contains(blobsLeft, r) {
				t.Fatalf("deletes render %s, which is protected or has an entry", r)
			}
		}
		for _, r := range blobsLeft {
			if r != s.retention.Recorded && !slices.Contains(s.retention.Protected, r) && !slices.Contains(entryRefs(left), r) {
				t.Fatalf("keeps render %s, which nothing needs", r)
			}
		}
		if want := newest(s.entries, s.retention.Keep); !cmp.Equal(want, left, compareRefs, cmpopts.SortSlices(earlier)) {
			t.Fatalf("leaves the entries %v, want the newest %d: %v", left, s.retention.Keep, want)
		}
		again, err := renderstore.PlanPrune(left, blobsLeft, s.retention)
		if len(again.Entries)+len(again.Blobs) > 0 {
			t.Fatalf("a second time it deletes %+v, %v, want nothing", again, err)
		}
	})
}

// newest computes what is to stay in the plainest way: for each render its oldest entry, and of these the newest n.
func newest(entries []renderstore.Entry, n int) []renderstore.Entry {
	first := make(map[render.Ref]renderstore.Entry)
	for _, e := range entries {
		if old, ok := first[e.Ref]; !ok || e.SyncedAt.Before(old.SyncedAt) {
			first[e.Ref] = e
		}
	}
	var all []renderstore.Entry
	for _, e := range first {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b renderstore.Entry) int {
		if earlier(a, b) {
			return 1
		}
		return -1
	})
	return all[:min(n, len(all))]
}

// earlier orders entries by time, and those of the same time as the history does: by ref, the larger first.
func earlier(a, b renderstore.Entry) bool {
	if !a.SyncedAt.Equal(b.SyncedAt) {
		return a.SyncedAt.Before(b.SyncedAt)
	}
	return a.Ref.String() > b.Ref.String()
}

func without[T comparable](all, gone []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return slices.Contains(gone, v) })
}
