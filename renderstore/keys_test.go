package renderstore

import (
	"strings"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/render"
)

func TestKeysSortByTime(t *testing.T) {
	keys, err := newReleaseKeys("team", "app")
	if err != nil {
		t.Fatal(err)
	}
	times := []time.Time{
		time.Date(999, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 9, 29, 9, 5, 0, 0, time.UTC),
		time.Date(2026, 11, 29, 16, 10, 48, 0, time.UTC),
		time.Date(2026, 11, 29, 16, 10, 48, 1, time.UTC),
		time.Date(2026, 11, 29, 16, 10, 48, 100_000_000, time.UTC),
		time.Date(2026, 11, 29, 17, 30, 0, 0, time.FixedZone("", 3600)), // 16:30 in UTC
		time.Date(2026, 11, 29, 16, 31, 0, 0, time.UTC),
	}
	previous := ""
	for _, at := range times {
		key := keys.entry(Entry{Ref: render.RefOf(nil), SyncedAt: at})
		if key <= previous {
			t.Errorf("%s does not sort after %s", key, previous)
		}
		if len(key) != len(keys.entry(Entry{Ref: render.RefOf(nil)})) {
			t.Errorf("%s has another length", key)
		}
		previous = key
	}
}

func TestLongestKeysFitEveryObjectStore(t *testing.T) {
	keys, err := newReleaseKeys(strings.Repeat("n", 253), strings.Repeat("a", 253))
	if err != nil {
		t.Fatal(err)
	}
	key := keys.entry(Entry{Ref: render.RefOf(nil)})
	if len(key) > 1024 { // the limit of S3, GCS and Azure
		t.Errorf("the key has %d bytes", len(key))
	}
	for _, part := range strings.Split(key+".18a0000000000000.tmp", "/") { // the name of a file while it is written
		if len(part) > 255 { // the limit of file systems
			t.Errorf("%s has %d bytes", part, len(part))
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	keys, err := newReleaseKeys("team", "app")
	if err != nil {
		f.Fatal(err)
	}
	ref := render.RefOf(nil).String()
	for _, seed := range []string{
		keys.entry(Entry{Ref: render.RefOf(nil), SyncedAt: time.Unix(0, 1)}),
		"team/app/history/20261129T161048,000000000Z-" + ref + ".json",
		"team/app/history/20261129T161048.000000000Z-" + ref + ".json.json",
		"team/app/history/20261129T161048.000000000Z-" + strings.ToUpper(ref) + ".json",
		"team/app/history/20260231T161048.000000000Z-" + ref + ".json",
		"team/app/history/", "team/app-2/history/x", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		e, ok := keys.parseEntry(key)
		if !ok {
			return
		}
		if got := keys.entry(e); got != key {
			t.Errorf("%q is read as %v, whose key is %q", key, e, got)
		}
		if again, ok := keys.parseEntry(key); !ok || again != e {
			t.Errorf("%q is read as %v, then as %v", key, e, again)
		}
	})
}

func FuzzParseBlobs(f *testing.F) {
	keys, err := newReleaseKeys("team", "app")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(keys.blob(render.RefOf(nil)))
	f.Add(keys.blob(render.RefOf(nil)) + ".tmp")
	f.Fuzz(func(t *testing.T, key string) {
		for _, ref := range keys.parseBlobs([]string{key}) {
			if got := keys.blob(ref); got != key {
				t.Errorf("%q is read as %s, whose key is %q", key, ref, got)
			}
		}
	})
}
