package renderstore_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/renderstore"
)

// files are the files and the empty directories below a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			below, err := os.ReadDir(path)
			if err != nil || len(below) > 0 {
				return err
			}
		}
		name, err := filepath.Rel(dir, path)
		out = append(out, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestFilesCanBeFoundByAPerson(t *testing.T) {
	dir := t.TempDir()
	f := open(t, "file://"+dir)
	r := newRender(t, 1)
	apply(t, f.Archive("team", "app"), r, 1)
	want := []string{
		"team/app/blobs/" + r.Ref().String(),
		"team/app/history/20261129T160001.123456789Z-" + r.Ref().String() + ".json",
	}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join(dir, want[0]))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); got != r.Ref().String() {
		t.Errorf("sha256sum of the file is %s, want %s", got, r.Ref())
	}
}

func TestNoSidecarFilesWhateverTheURLSays(t *testing.T) {
	dir := t.TempDir()
	apply(t, open(t, "file://"+dir+"?metadata=&no_tmp_dir=true").Archive("team", "app"), newRender(t, 1), 1)
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("got %v, want 2 files", got)
	}
}

func TestCreateDirCreatesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	apply(t, open(t, "file://"+dir+"?create_dir=true").Archive("team", "app"), newRender(t, 1), 1)
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("got %v, want 2 files", got)
	}
}

func TestRelativeDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	archive := open(t, "file://./store?create_dir=true").Archive("team", "app")
	apply(t, archive, newRender(t, 1), 1)
	if got := files(t, "store"); len(got) != 2 || len(history(t, archive)) != 1 {
		t.Errorf("got files %v and history %v", got, history(t, archive))
	}
}

func TestTemporaryDirectoryThatIsMissingNamesTheNextMove(t *testing.T) {
	archive := open(t, "file://"+t.TempDir()).Archive("team", "app")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	err := archive.Put(t.Context(), newRender(t, 1))
	if err == nil || !strings.Contains(err.Error(), "no such file or directory: add no_tmp_dir=true to the URL of the render store") {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, renderstore.ErrNotFound) {
		t.Error("that the temporary directory is missing says nothing about the render")
	}
}

func TestPurgeLeavesNoEmptyDirectories(t *testing.T) {
	dir := t.TempDir()
	f := open(t, "file://"+dir)
	for _, name := range []string{"app", "app-2"} {
		apply(t, f.Archive("team", name), newRender(t, 1), 1)
		apply(t, f.Archive("other", name), newRender(t, 1), 1)
	}
	f.put(t, "team/app/blobs/stranded.18a.tmp", "half")
	f.put(t, "team/app/deep/er/file", "not ours")
	for _, a := range []*renderstore.Archive{f.Archive("team", "app"), f.Archive("other", "app"), f.Archive("other", "app-2")} {
		if err := a.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := files(t, dir)
	if len(got) != 3 || got[0] != "other" || !strings.HasPrefix(got[1], "team/app-2/blobs/") || !strings.HasPrefix(got[2], "team/app-2/history/") {
		t.Errorf("left %v, want the files of team/app-2 and the directory of the namespace other", got)
	}
}

func TestDirectoryThatCannotBeReadIsAnError(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"a file":       func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a loop":       func(dir string) error { return os.Symlink(filepath.Base(dir), dir) },
		"out of store": func(dir string) error { return os.Symlink("/", dir) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			archive := open(t, "file://"+dir).Archive("team", "app")
			if err := os.MkdirAll(filepath.Join(dir, "team", "app"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(dir, "team", "app", "history")); err != nil {
				t.Fatal(err)
			}
			if got, err := archive.History(t.Context()); err == nil {
				t.Errorf("got the history %v, want an error", got)
			}
			if added, err := archive.Append(t.Context(), record(ref(1), 1)); err == nil || added {
				t.Errorf("Append: got %v, %v, want an error", added, err)
			}
		})
	}
}

func TestStoreDirectoryThatIsGoneIsNoEmptyStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	archive := open(t, "file://"+dir+"?create_dir=true").Archive("team", "app")
	r := newRender(t, 1)
	apply(t, archive, r, 1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Get(t.Context(), r.Ref()); err == nil || errors.Is(err, renderstore.ErrNotFound) {
		t.Errorf("Get: got %v", err)
	}
	if n, err := archive.Count(t.Context()); err == nil {
		t.Errorf("Count: got %d", n)
	}
	if err := archive.Purge(t.Context()); err != nil {
		t.Errorf("Purge: nothing of the Release is left, but got %v", err)
	}
	apply(t, archive, r, 2) // which makes the directory again
	if !stored(t, archive, r.Ref()) || len(history(t, archive)) != 1 {
		t.Error("the store does not work again")
	}
}

func TestErrorsOfFilesAreTheSameOnEveryTry(t *testing.T) {
	dir := t.TempDir()
	archive := open(t, "file://"+dir+"?no_tmp_dir=true").Archive("team", "app")
	if err := os.MkdirAll(filepath.Join(dir, "team", "app"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A name that is just short enough for the render and too long for its temporary file.
	if err := os.Symlink(filepath.Join(dir, strings.Repeat("x", 300)), filepath.Join(dir, "team", "app", "blobs")); err != nil {
		t.Fatal(err)
	}
	first, second := archive.Put(t.Context(), newRender(t, 1)), archive.Put(t.Context(), newRender(t, 1))
	if first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("got %v, then %v", first, second)
	}
}
