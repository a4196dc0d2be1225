package renderstore_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

func TestRenderIsStoredByteForByteUnderItsRef(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		r := newRender(t, 1)
		if err := f.Archive("team", "app").Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		key := "team/app/blobs/" + r.Ref().String()
		if diff := cmp.Diff([]string{key}, f.keys(t, "team/")); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		data := f.object(t, key)
		if data != string(r.Bytes()) {
			t.Errorf("stored %q, want %q", data, r.Bytes())
		}
		if got, want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(data))), r.Ref().String(); got != want {
			t.Errorf("the SHA-256 of what is stored is %s, want the renderRef %s", got, want)
		}
	})
}

func TestGetReturnsTheRenderThatWasPut(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive := f.Archive("team", "app")
		empty, err := render.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []render.Render{newRender(t, 1), newRender(t, 2), empty} {
			if err := archive.Put(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			got, err := archive.Get(t.Context(), want.Ref())
			if err != nil {
				t.Fatal(err)
			}
			if got.Ref() != want.Ref() || string(got.Bytes()) != string(want.Bytes()) || got.Len() != want.Len() {
				t.Errorf("got %s with %d objects, want %s with %d", got.Ref(), got.Len(), want.Ref(), want.Len())
			}
		}
	})
}

func TestBlobIsWriteOnce(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		r := newRender(t, 1)
		key := "team/app/blobs/" + r.Ref().String()
		marked := strings.Repeat("x", len(r.Bytes())) // of the same size, so that a second write shows
		f.put(t, key, marked)
		if err := f.Archive("team", "app").Put(t.Context(), r); err != nil {
			t.Fatalf("a render that exists already is not a failure: %v", err)
		}
		if got := f.object(t, key); got != marked {
			t.Errorf("the render was written again: %q", got)
		}
	})
}

func TestPutReplacesARenderThatIsHalfThere(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive, r := f.Archive("team", "app"), newRender(t, 1)
		f.put(t, "team/app/blobs/"+r.Ref().String(), string(r.Bytes()[:10]))
		if err := archive.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Get(t.Context(), r.Ref()); err != nil {
			t.Errorf("the render is still not usable: %v", err)
		}
	})
}

func TestMissingRenderIsErrNotFound(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		apply(t, f.Archive("team", "other"), newRender(t, 1), 1) // the bucket itself is there
		_, err := f.Archive("team", "app").Get(t.Context(), ref(1))
		if !errors.Is(err, renderstore.ErrNotFound) || errors.Is(err, renderstore.ErrCorrupt) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		want := fmt.Sprintf("read render sha256:%s… of team/app: not in the render store", ref(1).Short())
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	})
}

func TestReadVerifiesTheRender(t *testing.T) {
	r := newRender(t, 1)
	for name, data := range map[string]string{
		"empty":            "",
		"half":             string(r.Bytes()[:len(r.Bytes())/2]),
		"another render":   string(newRender(t, 2).Bytes()),
		"one byte changed": strings.Replace(string(r.Bytes()), "settings", "sEttings", 1),
		"one byte more":    string(r.Bytes()) + "\n",
		"far too large":    strings.Repeat(" ", render.MaxBytes+10),
	} {
		t.Run(name, func(t *testing.T) {
			onEveryDriver(t, func(t *testing.T, f fixture) {
				f.put(t, "team/app/blobs/"+r.Ref().String(), data)
				_, err := f.Archive("team", "app").Get(t.Context(), r.Ref())
				if !errors.Is(err, renderstore.ErrCorrupt) || errors.Is(err, renderstore.ErrNotFound) {
					t.Errorf("got %v, want ErrCorrupt", err)
				}
			})
		})
	}
}

func TestNoMoreIsReadThanARenderMayHave(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		f.put(t, "team/app/blobs/x", "0123456789")
		for limit, want := range map[int64]string{4: "0123", 10: "0123456789", 11: "0123456789"} {
			if got, err := f.bucket.Read(t.Context(), "team/app/blobs/x", limit); err != nil || string(got) != want {
				t.Errorf("limit %d: got %q, %v, want %q", limit, got, err, want)
			}
		}
		limits := &limitRecorder{Bucket: f.bucket}
		archive := fixture{bucket: limits}.another(t).Archive("team", "app")
		_, _ = archive.Get(t.Context(), ref(1))
		_, _ = archive.Summary(t.Context(), entry(1, 1))
		if diff := cmp.Diff([]int64{render.MaxBytes + 1, 64 << 10}, limits.seen); diff != "" {
			t.Errorf("limits (-want +got):\n%s", diff)
		}
	})
}

// limitRecorder is a bucket that remembers how much was to be read at most.
type limitRecorder struct {
	renderstore.Bucket
	seen []int64
}

func (b *limitRecorder) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	b.seen = append(b.seen, limit)
	return b.Bucket.Read(ctx, key, limit)
}

func TestStoredBytesThatAreNoRenderAreErrCorrupt(t *testing.T) {
	f := open(t, "mem://")
	data := "not JSON"
	f.put(t, "team/app/blobs/"+render.RefOf([]byte(data)).String(), data)
	if _, err := f.Archive("team", "app").Get(t.Context(), render.RefOf([]byte(data))); !errors.Is(err, renderstore.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

func TestPutOfNoRenderIsAnError(t *testing.T) {
	if err := open(t, "mem://").Archive("team", "app").Put(t.Context(), render.Render{}); err == nil {
		t.Error("no error")
	}
}

func TestPurgeDeletesEverythingOfTheReleaseAndNothingElse(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		long := strings.Repeat("a", 253)
		releases := [][2]string{
			{"team", "app"}, {"team", "app-2"}, {"team", "ap"}, {"team", "app.v2"}, {"team-2", "app"}, {"app", "team"},
			{long, long}, {long, long[:252]}, {"team", long},
		}
		all := make(map[string][]string)
		for _, r := range releases {
			apply(t, f.Archive(r[0], r[1]), newRender(t, 1), 1)
			prefix := r[0] + "/" + r[1] + "/"
			f.put(t, prefix+"notes.txt", "not ours")
			f.put(t, prefix+"blobs/deep/er", "not ours")
			all[prefix] = f.keys(t, prefix)
		}
		for _, r := range [][2]string{{"team", "app"}, {long, long}} {
			for range 2 { // again is no failure
				if err := f.Archive(r[0], r[1]).Purge(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			all[r[0]+"/"+r[1]+"/"] = nil
		}
		for prefix, want := range all {
			if diff := cmp.Diff(want, f.keys(t, prefix)); diff != "" {
				t.Errorf("keys of %.20s (-want +got):\n%s", prefix, diff)
			}
		}
	})
}

func TestReleasesDoNotShareRenders(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		r := newRender(t, 1)
		apply(t, f.Archive("team", "app"), r, 1)
		for _, other := range []*renderstore.Archive{f.Archive("team", "app-2"), f.Archive("team", "ap"), f.Archive("other", "app")} {
			if stored(t, other, r.Ref()) || len(history(t, other)) != 0 {
				t.Error("a Release sees the renders of another one")
			}
		}
	})
}

func TestConcurrentPutsAndAppendsLeaveOneEntry(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		r := newRender(t, 1)
		errs := make(chan error, 16)
		var added sync.Map
		var group sync.WaitGroup
		for i := range 8 {
			archive := f.another(t).Archive("team", "app")
			group.Go(func() {
				errs <- archive.Put(t.Context(), r)
				ok, err := archive.Append(t.Context(), record(r.Ref(), i))
				if ok {
					added.Store(i, true)
				}
				errs <- err
			})
		}
		group.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		archive := f.Archive("team", "app")
		if !stored(t, archive, r.Ref()) {
			t.Error("the render is not stored")
		}
		entries := history(t, archive)
		if len(entries) != 1 || len(f.keys(t, "team/app/history/")) != 1 {
			t.Fatalf("got entries %v in keys %v, want one", entries, f.keys(t, "team/app/history/"))
		}
		if _, ok := added.Load(entries[0].SyncedAt.Second()); !ok {
			t.Errorf("entry %v stayed, but its Append said that it was not added", entries[0])
		}
	})
}

func TestArchiveOfNoKubernetesNameIsAnError(t *testing.T) {
	f := open(t, "mem://")
	f.put(t, "team/app/blobs/x", "x")
	for _, names := range [][2]string{{"", "app"}, {"team", ""}, {"team", ".."}, {"team", "app/blobs"}, {"..", "team"}, {"team", strings.Repeat("a", 254)}} {
		archive := f.Archive(names[0], names[1])
		_, getErr := archive.Get(t.Context(), ref(1))
		_, historyErr := archive.History(t.Context())
		_, countErr := archive.Count(t.Context())
		_, appendErr := archive.Append(t.Context(), record(ref(1), 1))
		_, pruneErr := archive.Prune(t.Context(), renderstore.Retention{Keep: 1, Recorded: ref(1)})
		for _, err := range []error{archive.Put(t.Context(), newRender(t, 1)), getErr, historyErr, countErr, appendErr, pruneErr, archive.Purge(t.Context())} {
			if err == nil || errors.Is(err, renderstore.ErrNotFound) {
				t.Errorf("archive of %.20q: got error %v", names, err)
			}
		}
	}
	if got := f.keys(t, "team/"); len(got) != 1 {
		t.Errorf("keys are now %v", got)
	}
}

func TestSizeIsThatOfTheStoredRender(t *testing.T) {
	onEveryDriver(t, func(t *testing.T, f fixture) {
		archive, r := f.Archive("team", "app"), newRender(t, 1)
		if _, err := archive.Size(t.Context(), r.Ref()); !errors.Is(err, renderstore.ErrNotFound) {
			t.Errorf("before it is stored: got %v, want ErrNotFound", err)
		}
		if err := archive.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		size, err := archive.Size(t.Context(), r.Ref())
		if err != nil || size != int64(len(r.Bytes())) {
			t.Errorf("got %d, %v, want %d", size, err, len(r.Bytes()))
		}
		if _, err := f.Archive("team", "other").Size(t.Context(), r.Ref()); !errors.Is(err, renderstore.ErrNotFound) {
			t.Errorf("of another Release: got %v, want ErrNotFound", err)
		}
	})
}

func TestSizeWithoutAStoreIsErrDisabled(t *testing.T) {
	store, err := renderstore.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Archive("team", "app").Size(t.Context(), ref(1)); !errors.Is(err, renderstore.ErrDisabled) {
		t.Errorf("got %v, want ErrDisabled", err)
	}
}
