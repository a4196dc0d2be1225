package source

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/internal/gitserver"
)

// withLinks fetches a commit with symlinks of every kind.
func withLinks(t *testing.T) fs.FS {
	t.Helper()
	w := newWorld(t, gitserver.Options{})
	base := w.treeOf("100644 a.yaml", w.blob("a"), "120000 to-top", w.blob("../top.yaml"))
	w.point(w.treeOf(
		"120000 absolute", w.blob("/etc/hostname"),
		"40000 base", base,
		"120000 chain", w.blob("link/to-top"),
		"120000 dangling", w.blob("missing.yaml"),
		"120000 escape", w.blob("../../../../../../../../etc/hostname"),
		"120000 escape-by-chain", w.blob("escape"),
		"120000 escape-by-folder", w.blob("base/../.."),
		"120000 inside", w.blob("/top.yaml"),
		"120000 link", w.blob("base"),
		"120000 loop", w.blob("loop"),
		"120000 self", w.blob("."),
		"40000 sub", w.treeOf("120000 up-and-down", w.blob("../base/../sub/../top.yaml"), "120000 escape", w.blob("../../x")),
		"100644 top.yaml", w.blob("top"),
	))
	return w.fetch(w.request(mainBranch)).FS
}

func TestSymlinksInsideTheSourceWork(t *testing.T) {
	files := withLinks(t)
	for name, want := range map[string]string{
		"top.yaml": "top", "base/to-top": "top", "chain": "top", "link/a.yaml": "a", "link/to-top": "top",
		"self/self/top.yaml": "top", "sub/up-and-down": "top",
	} {
		got, err := fs.ReadFile(files, name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestASymlinkToAFolderIsAFolder(t *testing.T) {
	files := withLinks(t)
	entries, err := fs.ReadDir(files, "link")
	if err != nil || len(entries) != 2 || entries[0].Name() != "a.yaml" {
		t.Errorf("entries: %v, %v", entries, err)
	}
	if info, err := fs.Stat(files, "link"); err != nil || !info.IsDir() {
		t.Errorf("stat: %v, %v", info, err)
	}
	if info, err := fs.Lstat(files, "link"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("lstat: %v, %v", info, err)
	}
	if target, err := fs.ReadLink(files, "absolute"); err != nil || target != "/etc/hostname" {
		t.Errorf("target %q, %v", target, err)
	}
	sub, err := fs.Sub(files, "link")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fs.ReadFile(sub, "to-top"); err != nil || string(got) != "top" {
		t.Errorf("from inside: %q, %v", got, err)
	}
}

func TestAPathThatLeavesTheSourceIsInvalid(t *testing.T) {
	files := withLinks(t)
	for _, name := range []string{"..", "../x", "link/../../x", "/etc/hostname", "link/../top.yaml"} {
		if _, err := fs.ReadFile(files, name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWalkingDoesNotFollowSymlinks(t *testing.T) {
	var got []string
	err := fs.WalkDir(withLinks(t), ".", func(name string, d fs.DirEntry, err error) error {
		if d.Type() != fs.ModeSymlink {
			got = append(got, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", "base", "base/a.yaml", "sub", "top.yaml"}, got); diff != "" {
		t.Errorf("walk (-want +got):\n%s", diff)
	}
}

func TestASymlinkThatLeavesTheSourceIsAnErrorWhenItIsRead(t *testing.T) {
	files := withLinks(t)
	for _, name := range []string{
		"absolute", "inside", "escape", "escape-by-chain", "escape-by-folder", "escape-by-folder/x", "sub/escape", "self/escape",
	} {
		_, open := files.Open(name)
		_, read := fs.ReadFile(files, name)
		_, stat := fs.Stat(files, name)
		_, list := fs.ReadDir(files, name)
		for op, err := range map[string]error{"open": open, "read": read, "stat": stat, "list": list} {
			if !errors.Is(err, errLeavesSource) {
				t.Errorf("%s %s: %v", op, name, err)
			}
			wantError(t, err, name+": symlink leaves the source")
		}
	}
}

func TestOtherErrorsStayWhatTheyAre(t *testing.T) {
	files := withLinks(t)
	for _, name := range []string{"dangling", "missing", "base/missing", "link/missing"} {
		if _, err := fs.ReadFile(files, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := fs.ReadFile(files, "loop")
	wantError(t, err, "loop", "too many levels of symbolic links")
	_, err = fs.ReadFile(files, "link")
	wantError(t, err, "link", "is a directory")
	if _, err := fs.Lstat(files, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lstat: %v", err)
	}
	_, err = fs.ReadLink(files, "top.yaml")
	wantError(t, err, "top.yaml", "invalid argument")
}

func TestTheFileSystemOfAnArtifactKeepsTheContractOfFS(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.commit(map[string]string{"base/a.yaml": "a", "base/sub/b.yaml": "b"})
	if err := fstest.TestFS(w.fetch(w.request(mainBranch)).FS, "app.yaml", "base/a.yaml", "base/sub/b.yaml"); err != nil {
		t.Error(err)
	}
}

func TestSubmodulesAreLeftOut(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.point(w.treeOf("100644 app.yaml", w.blob("a"), "160000 module", w.git("rev-parse", "main")))
	wantFiles(t, w.fetch(w.request(mainBranch)).FS, map[string]string{"app.yaml": "a"})
}

func TestFilesAreAsTheyAreStored(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n"
	want := map[string]string{
		".gitattributes": "* text eol=crlf\n*.bin filter=lfs\n$Id$ ident\n", "crlf.yaml": "a: 1\r\n", "lf.yaml": "a: 1\n",
		"big.bin": pointer, "empty": "", "app.yaml": "version: 1\n", "run.sh": "#!/bin/sh\n",
	}
	w.commit(want)
	wantFiles(t, w.fetch(w.request(mainBranch)).FS, want)
}

func TestANameThatIsNotUTF8DoesNotSpoilTheOthers(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.point(w.treeOf("100644 a.yaml", w.blob("a"), "100644 caf\xe9", w.blob("b")))
	a := w.fetch(w.request(mainBranch))
	if got, err := fs.ReadFile(a.FS, "a.yaml"); err != nil || string(got) != "a" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := fs.ReadFile(a.FS, "caf\xe9"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	w.restart()
	w.fetch(w.request(mainBranch))
	w.wantCounts(2, 1)
}
