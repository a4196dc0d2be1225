package renderstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/renderstore"
)

const manyEntries = 10_000

// overLocal runs a benchmark over the drivers that need no server.
func overLocal(b *testing.B, run func(b *testing.B, f fixture)) {
	for _, name := range []string{"mem", "file"} {
		b.Run(name, func(b *testing.B) { run(b, open(b, drivers[name](b))) })
	}
}

// fill gives a Release many entries, each with a render.
func fill(b *testing.B, f fixture) {
	b.Helper()
	for i := range manyEntries {
		syncedAt := at(0).Add(time.Duration(i) * time.Second).Format("20060102T150405.000000000Z")
		f.put(b, fmt.Sprintf("team/app/history/%s-%s.json", syncedAt, ref(i)), "{}")
		f.put(b, "team/app/blobs/"+ref(i).String(), "[]")
	}
}

func BenchmarkPut(b *testing.B) {
	overLocal(b, func(b *testing.B, f fixture) {
		archive := f.Archive("team", "app")
		i := 0
		for b.Loop() {
			b.StopTimer()
			r := newRender(b, i)
			i++
			b.StartTimer()
			if err := archive.Put(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkHistoryOf10000(b *testing.B) {
	overLocal(b, func(b *testing.B, f fixture) {
		archive := f.Archive("team", "app")
		fill(b, f)
		for b.Loop() {
			entries, err := archive.History(b.Context())
			if err != nil || len(entries) != manyEntries {
				b.Fatalf("got %d entries, %v", len(entries), err)
			}
		}
	})
}

func BenchmarkPruneOf10000(b *testing.B) {
	overLocal(b, func(b *testing.B, f fixture) {
		archive := f.Archive("team", "app")
		for b.Loop() {
			b.StopTimer()
			fill(b, f)
			b.StartTimer()
			result, err := archive.Prune(b.Context(), renderstore.Retention{Keep: 10, Recorded: ref(manyEntries - 1)})
			if err != nil || result.Entries != manyEntries-10 || result.Blobs != manyEntries-10 {
				b.Fatalf("deleted %+v, %v", result, err)
			}
		}
	})
}
