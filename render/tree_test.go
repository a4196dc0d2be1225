package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// onDisk writes a source with symbolic links to a folder, and opens it as a root that no file can leave.
func onDisk(t testing.TB, source files, links map[string]string) fs.FS {
	t.Helper()
	dir := t.TempDir()
	for name, content := range source {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(target, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root.FS()
}

func TestSymbolicLinksInsideTheSourceAreFollowed(t *testing.T) {
	source := files{"app/a.yaml": manifest("a"), "common/b.yaml": manifest("b"), "common/c.txt": manifest("c"), "common/.d/d.yaml": manifest("d")}
	for name, tc := range map[string]struct {
		links map[string]string
		dir   string
		want  []string
	}{
		"to a file":                {map[string]string{"app/link.yaml": "../common/b.yaml"}, "app", []string{"a", "b"}},
		"to a file of other name":  {map[string]string{"app/link.yaml": "../common/c.txt"}, "app", []string{"a", "c"}},
		"to a folder":              {map[string]string{"app/link": "../common"}, "app", []string{"a", "b"}},
		"to a link":                {map[string]string{"app/link": "../other", "other": "common"}, "app", []string{"a", "b"}},
		"to a hidden folder":       {map[string]string{"app/link": "../common/.d"}, "app", []string{"a", "d"}},
		"to a file next to it":     {map[string]string{"app/link.yaml": "a.yaml"}, "app", []string{"a"}},
		"to the folder above":      {map[string]string{"app/link": ".."}, "app", []string{"a", "b"}},
		"to the folder it is in":   {map[string]string{"app/link": "."}, "app", []string{"a"}},
		"two to each other's home": {map[string]string{"app/x": "../common", "common/y": "../app"}, "app", []string{"a", "b"}},
		"the path is a link":       {map[string]string{"here": "app"}, "here", []string{"a"}},
		"the path is in a link":    {map[string]string{"here": "."}, "here/app", []string{"a"}},
		"a name with dots":         {map[string]string{"app/..data": "../common", "app/b.yaml": "..data/b.yaml"}, "app", []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Build(t.Context(), onDisk(t, source, tc.links), tc.dir, v1alpha1.RenderSpec{})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for _, name := range tc.want {
				want = append(want, "ConfigMap "+name)
			}
			if diff := cmp.Diff(want, identities(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSymbolicLinksOutOfTheSourceAreErrors(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.yaml"), []byte(manifest("outside")), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		link, target string
		dir          string
		want         string
	}{
		"absolute":       {"app/x.yaml", filepath.Join(outside, "secret.yaml"), "app", "app/x.yaml: is a symbolic link that leaves the source, to " + outside + "/secret.yaml: commit the file itself"},
		"upwards":        {"app/x.yaml", "../../secret.yaml", "app", "app/x.yaml: is a symbolic link that leaves the source, to ../../secret.yaml: commit the file itself"},
		"up and back in": {"app/x.yaml", "../../" + filepath.Base(outside), "app", "app/x.yaml: is a symbolic link that leaves the source, to ../../" + filepath.Base(outside) + ": commit the file itself"},
		"a folder":       {"app/x", outside, "app", "app/x: is a symbolic link that leaves the source, to " + outside + ": commit the file itself"},
		"the path":       {"here", outside, "here", `path "here": here: is a symbolic link that leaves the source, to ` + outside + ": commit the file itself"},
		"to nothing":     {"app/x.yaml", "none.yaml", "app", "app/x.yaml: is a symbolic link to app/none.yaml, which is not there: file does not exist"},
		"into itself":    {"app/x", "x/y", "app", "app/x: is one of more than 40 symbolic links on the way to a file"},
		"to itself":      {"app/x.yaml", "x.yaml", "app", "app/x.yaml: is one of more than 40 symbolic links on the way to a file"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := onDisk(t, files{"app/a.yaml": manifest("a")}, map[string]string{tc.link: tc.target})
			_, err := Build(t.Context(), fsys, tc.dir, v1alpha1.RenderSpec{})
			wantError(t, err, tc.want)
		})
	}
}

func TestWhatIsNoFileIsAnError(t *testing.T) {
	tree := fstest.MapFS{"a.yaml": &fstest.MapFile{Mode: fs.ModeNamedPipe}}
	_, err := Build(t.Context(), tree, "", v1alpha1.RenderSpec{})
	wantError(t, err, "a.yaml: not a regular file")
}

// unreadable fails to open one file, and to list one folder.
type unreadable struct {
	fs.FS
	name string
}

var errDisk = errors.New("input/output error")

func (u unreadable) Open(name string) (fs.File, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errDisk}
	}
	return u.FS.Open(name)
}

func TestAnErrorOfTheDiskIsNeverReadAsEmpty(t *testing.T) {
	source := files{"app/a.yaml": manifest("a"), "app/sub/b.yaml": manifest("b"), "k/kustomization.yaml": "resources: [a.yaml]", "k/a.yaml": manifest("a")}
	for name, tc := range map[string]struct{ dir, want string }{
		"app/a.yaml":           {"app", "app/a.yaml: input/output error"},
		"app/sub":              {"app", "app/sub: input/output error"},
		"k/a.yaml":             {"k", "k/kustomization.yaml: resources: k/a.yaml: input/output error"},
		"k/kustomization.yaml": {"k", "k/kustomization.yaml: input/output error"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(t.Context(), unreadable{source.fs(), name}, tc.dir, v1alpha1.RenderSpec{})
			wantError(t, err, tc.want)
			if !errors.Is(err, errDisk) {
				t.Errorf("%v hides its cause", err)
			}
		})
	}
}

// counting counts what is asked of a file system.
type counting struct {
	fstest.MapFS
	calls *int
}

func (c counting) Open(name string) (fs.File, error) {
	*c.calls++
	return c.MapFS.Open(name)
}

func (c counting) Stat(name string) (fs.FileInfo, error) {
	*c.calls++
	return c.MapFS.Stat(name)
}

func (c counting) Lstat(name string) (fs.FileInfo, error) {
	*c.calls++
	return c.MapFS.Lstat(name)
}

// Folders are looked up once, and each file twice, so that 10,000 files take ten times as long as 1,000.
func TestTheSourceIsAskedOncePerFile(t *testing.T) {
	const count = 1000
	source := fstest.MapFS{}
	for i := range count {
		source[fmt.Sprintf("a/b/c/%d.yaml", i)] = &fstest.MapFile{Data: []byte(manifest(fmt.Sprintf("c%d", i)))}
	}
	calls := 0
	r, err := Build(t.Context(), counting{source, &calls}, "a/b/c", v1alpha1.RenderSpec{})
	if err != nil || r.Len() != count {
		t.Fatalf("%d objects and error %v", r.Len(), err)
	}
	if limit := 2*count + 20; calls > limit {
		t.Errorf("%d calls for %d files, want at most %d", calls, count, limit)
	}
}

func TestACancelledBuildStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	source := files{"app/a.yaml": manifest("a"), "k/kustomization.yaml": "resources: [a.yaml]", "k/a.yaml": manifest("a")}
	for _, dir := range []string{"app", "k"} {
		if r, err := Build(ctx, source.fs(), dir, v1alpha1.RenderSpec{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: built %d objects with error %v", dir, r.Len(), err)
		}
	}
}
