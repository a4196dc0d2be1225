package gitserver

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serve starts a server with one repository, app.git, that has one commit.
func serve(t *testing.T, o Options) (*Server, *Repository) {
	t.Helper()
	root := t.TempDir()
	repo, err := Init(filepath.Join(root, "app.git"))
	must(t, err)
	_, err = repo.Commit("first", map[string]string{"a.yaml": "a: 1\n", `odd "name"`: ""})
	must(t, err)
	server, err := Start(root, o)
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	return server, repo
}

// clone returns the files that a clone gets.
func clone(t *testing.T, url string) (map[string]string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.CommandContext(t.Context(), "git", "-c", "credential.helper=", "clone", "--quiet", url, dir).CombinedOutput(); err != nil {
		t.Logf("git clone: %s", out)
		return nil, err
	}
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	}))
	return files, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantClone(t *testing.T, url string, want map[string]string) {
	t.Helper()
	got, err := clone(t, url)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clone (-want +got):\n%s", diff)
	}
}

func TestGitClonesWhatWasCommitted(t *testing.T) {
	server, repo := serve(t, Options{})
	wantClone(t, server.URL("app.git"), map[string]string{"a.yaml": "a: 1\n", `odd "name"`: ""})

	hash, err := repo.Commit("second", map[string]string{"sub/b.yaml": "b: 1\n"})
	must(t, err)
	if head, err := repo.Git("rev-parse", "HEAD"); err != nil || head != hash {
		t.Errorf("HEAD is %s (%v), Commit returned %s", head, err, hash)
	}
	_, err = repo.Remove("third", "a.yaml", `odd "name"`)
	must(t, err)
	wantClone(t, server.URL("app.git"), map[string]string{"sub/b.yaml": "b: 1\n"})

	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "x"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "x", "c.yaml"), []byte("c: 1\n"), 0o644))
	_, err = repo.CommitDir("fourth", dir)
	must(t, err)
	wantClone(t, server.URL("app.git"), map[string]string{"x/c.yaml": "c: 1\n"})
}

func TestCountsGrowWithEachRequest(t *testing.T) {
	server, _ := serve(t, Options{})
	if got := server.Counts(); got != (Counts{}) {
		t.Errorf("before any request: %+v", got)
	}
	_, err := clone(t, server.URL("app.git"))
	must(t, err)
	if got := server.Counts(); got.Resolves != 1 || got.Downloads == 0 {
		t.Errorf("after one clone: %+v", got)
	}
}

func TestBreakStopAndResume(t *testing.T) {
	server, _ := serve(t, Options{})
	url := server.URL("app.git")
	server.Break(http.NotFoundHandler())
	if _, err := clone(t, url); err == nil {
		t.Error("a broken server can be cloned from")
	}
	server.Break(nil)
	must(t, server.Stop())
	if _, err := clone(t, url); err == nil {
		t.Error("a stopped server can be cloned from")
	}
	must(t, server.Resume())
	if _, err := clone(t, url); err != nil {
		t.Error("a server that was started again cannot be cloned from")
	}
	if err := server.Resume(); err == nil {
		t.Error("a running server can be started again")
	}
}

func TestOnlyTheRightCredentialsAreServed(t *testing.T) {
	server, _ := serve(t, Options{Username: "bob", Password: "secret", BearerToken: "token"})
	for name, test := range map[string]struct {
		set  func(*http.Request)
		want int
	}{
		"none":           {func(*http.Request) {}, http.StatusUnauthorized},
		"wrong password": {func(r *http.Request) { r.SetBasicAuth("bob", "guess") }, http.StatusUnauthorized},
		"basic":          {func(r *http.Request) { r.SetBasicAuth("bob", "secret") }, http.StatusOK},
		"bearer":         {func(r *http.Request) { r.Header.Set("Authorization", "Bearer token") }, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL("app.git")+"/info/refs?service=git-upload-pack", nil)
			must(t, err)
			test.set(req)
			res, err := http.DefaultClient.Do(req)
			must(t, err)
			must(t, res.Body.Close())
			if res.StatusCode != test.want {
				t.Errorf("status %d, want %d", res.StatusCode, test.want)
			}
		})
	}
}
