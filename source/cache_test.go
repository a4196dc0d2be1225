package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

// oneEntry is the size on disk of a commit with one small file: its block and that of the folder.
const oneEntry = 2 * blockSize

func cacheFor(entries int64) func(*Options) {
	return func(o *Options) { o.CacheSize = entries * oneEntry }
}

// fetchNew makes a commit on main, fetches it and returns its hash.
func (w *world) fetchNew(version string) (string, *Artifact) {
	w.Helper()
	hash := w.commit(map[string]string{"app.yaml": version})
	w.clock.advance(time.Second)
	return hash, w.fetch(w.request(mainBranch))
}

func (w *world) wantCached(commits ...string) {
	w.Helper()
	got := w.cached()
	slices.Sort(got)
	slices.Sort(commits)
	if diff := cmp.Diff(commits, got, cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("commits on disk (-want +got):\n%s", diff)
	}
}

func TestARestartKeepsTheCache(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.fetch(w.request(mainBranch))
	w.restart()
	a := w.fetch(w.request(mainBranch))
	wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
	w.wantCounts(2, 1)
}

func TestTheLeastRecentlyUsedEntryIsEvicted(t *testing.T) {
	for name, between := range map[string]func(*world){
		"in one process":  func(*world) {},
		"after a restart": (*world).restart,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gitserver.Options{}, cacheFor(2))
			a, artifact := w.fetchNew("a")
			artifact.Close()
			w.git("branch", "a", a)
			b, artifact := w.fetchNew("b")
			artifact.Close()
			w.clock.advance(time.Second)
			w.fetch(w.request(v1alpha1.GitRef{Branch: "a"})).Close()
			w.wantCached(a, b)

			between(w)
			c, artifact := w.fetchNew("c")
			artifact.Close()
			w.wantCached(a, c)
		})
	}
}

func TestASmallerLimitHoldsAfterARestart(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, cacheFor(2))
	_, artifact := w.fetchNew("a")
	artifact.Close()
	b, artifact := w.fetchNew("b")
	artifact.Close()
	w.options.CacheSize = oneEntry
	w.restart()
	w.wantCached(b)
}

func TestAnEntryInUseIsNeverEvicted(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, cacheFor(1))
	a, inUse := w.fetchNew("a")
	b, artifact := w.fetchNew("b")
	w.wantCached(a, b) // over the limit, since both are read
	wantFiles(t, inUse.FS, map[string]string{"app.yaml": "a"})

	inUse.Close()
	inUse.Close()
	w.wantCached(b)
	wantFiles(t, artifact.FS, map[string]string{"app.yaml": "b"})
	if _, err := fs.ReadFile(inUse.FS, "app.yaml"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("reading a closed artifact: %v", err)
	}
}

func TestAnArtifactLargerThanTheCacheIsUsable(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.CacheSize = 1 })
	hash, artifact := w.fetchNew("a")
	w.wantCached(hash)
	wantFiles(t, artifact.FS, map[string]string{"app.yaml": "a"})
	artifact.Close()
	w.wantCached()
}

// file is the path on disk of a file of the only entry.
func (w *world) file(name string) string {
	w.Helper()
	found, err := filepath.Glob(filepath.Join(w.options.CacheDir, entriesDir, "*", "*", treeDir, name))
	w.must(err)
	if len(found) != 1 {
		w.Fatalf("found %q", found)
	}
	return found[0]
}

func TestADamagedEntryIsDownloadedAgain(t *testing.T) {
	for name, damage := range map[string]func(*world){
		"changed file": func(w *world) { w.must(os.WriteFile(w.file("app.yaml"), []byte("version: 9\n"), 0o600)) },
		"empty file":   func(w *world) { w.must(os.Truncate(w.file("app.yaml"), 0)) },
		"missing file": func(w *world) { w.must(os.Remove(w.file("app.yaml"))) },
		"other file": func(w *world) {
			w.must(os.WriteFile(filepath.Join(filepath.Dir(w.file("app.yaml")), "b.yaml"), nil, 0o600))
		},
		"file became a symlink": func(w *world) {
			w.must(os.Remove(w.file("app.yaml")))
			w.must(os.Symlink("elsewhere", filepath.Join(w.file(""), "app.yaml")))
		},
		"no tree":           func(w *world) { w.must(os.RemoveAll(w.file(""))) },
		"no entry.json":     func(w *world) { w.must(os.Remove(w.file("../" + entryFile))) },
		"broken entry.json": func(w *world) { w.must(os.WriteFile(w.file("../"+entryFile), []byte("{"), 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gitserver.Options{})
			w.fetch(w.request(mainBranch))
			damage(w)
			w.restart()
			wantFiles(t, w.fetch(w.request(mainBranch)).FS, map[string]string{"app.yaml": "version: 1\n"})
			w.wantCounts(2, 2)
		})
	}
}

func TestACacheThatIsEmptiedUnderUsIsFilledAgain(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.fetch(w.request(mainBranch)).Close()
	w.must(os.RemoveAll(filepath.Join(w.options.CacheDir, entriesDir)))
	wantFiles(t, w.fetch(w.request(mainBranch)).FS, map[string]string{"app.yaml": "version: 1\n"})
	w.wantCounts(2, 2)
}

func TestHalfWrittenEntriesAreRemovedAtStart(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	half := filepath.Join(w.options.CacheDir, tmpDir, "new-1", treeDir)
	w.must(os.MkdirAll(half, 0o700))
	w.must(os.WriteFile(filepath.Join(half, "app.yaml"), []byte("version: 9\n"), 0o600))
	w.restart()
	left, err := os.ReadDir(filepath.Join(w.options.CacheDir, tmpDir))
	w.must(err)
	if len(left) != 0 {
		t.Errorf("%d half written entries are left", len(left))
	}
}

func TestAFailedDownloadLeavesNothingBehind(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.MaxArtifactSize = 4 })
	w.fail(w.request(mainBranch))
	w.wantCached()
	left, err := os.ReadDir(filepath.Join(w.options.CacheDir, tmpDir))
	w.must(err)
	if len(left) != 0 {
		t.Errorf("%d temporary files are left", len(left))
	}
}

func TestOnlyTheOwnerCanReadTheCache(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.commit(map[string]string{"sub/b.yaml": "b"})
	w.fetch(w.request(mainBranch))
	w.must(filepath.WalkDir(w.options.CacheDir, func(path string, d fs.DirEntry, err error) error {
		w.must(err)
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	}))
}

func TestAFetcherThatCannotWorkIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ok := Options{Reader: &cluster{}, CacheDir: t.TempDir()}
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no reader":          {func(o *Options) { o.Reader = nil }, "no reader"},
		"no cache directory": {func(o *Options) { o.CacheDir = "" }, "no cache directory"},
		"negative size":      {func(o *Options) { o.CacheSize = -1 }, "negative"},
		"directory is a file": {func(o *Options) { o.CacheDir = file },
			"open source cache " + file},
	} {
		t.Run(name, func(t *testing.T) {
			o := ok
			test.change(&o)
			_, err := NewFetcher(o)
			wantError(t, err, test.want)
		})
	}
}

func TestWaitingForAnEntryEndsWithTheContext(t *testing.T) {
	c, err := openCache(t.TempDir(), 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	unclaim, err := c.claim(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	defer unclaim()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = c.get(ctx, "a/b", func(*os.Root) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v", err)
	}
}
