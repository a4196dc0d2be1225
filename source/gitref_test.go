package source

import (
	"testing"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

func TestEachKindOfReferenceResolves(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	first := w.git("rev-parse", "main")
	w.git("tag", "v1.0.0", first)
	w.git("branch", "old", first)
	second := w.commit(map[string]string{"app.yaml": "version: 2\n"})
	w.git("tag", "--annotate", "--message", "two", "v1.2.0", second)
	w.git("tag", "--annotate", "--message", "tag of a tag", "nested", "v1.2.0")
	third := w.commit(map[string]string{"app.yaml": "version: 3\n"})
	w.git("tag", "2.0.0", third)
	w.git("tag", "v3.0.0-rc.1", third)
	w.git("tag", "20260131", third)
	w.git("tag", "nightly", third)

	for name, test := range map[string]struct {
		ref           v1alpha1.GitRef
		revision, app string
	}{
		"default branch":              {v1alpha1.GitRef{}, "main@sha1:" + third, "version: 3\n"},
		"branch":                      {v1alpha1.GitRef{Branch: "old"}, "old@sha1:" + first, "version: 1\n"},
		"tag":                         {v1alpha1.GitRef{Tag: "v1.0.0"}, "v1.0.0@sha1:" + first, "version: 1\n"},
		"annotated tag":               {v1alpha1.GitRef{Tag: "v1.2.0"}, "v1.2.0@sha1:" + second, "version: 2\n"},
		"tag of a tag":                {v1alpha1.GitRef{Tag: "nested"}, "nested@sha1:" + second, "version: 2\n"},
		"highest version":             {v1alpha1.GitRef{Semver: ">=1.0.0"}, "2.0.0@sha1:" + third, "version: 3\n"},
		"version in a range":          {v1alpha1.GitRef{Semver: "1.x"}, "v1.2.0@sha1:" + second, "version: 2\n"},
		"prerelease":                  {v1alpha1.GitRef{Semver: ">=3.0.0-0"}, "v3.0.0-rc.1@sha1:" + third, "version: 3\n"},
		"commit at a branch":          {v1alpha1.GitRef{Commit: third}, "sha1:" + third, "version: 3\n"},
		"commit of an annotated tag":  {v1alpha1.GitRef{Commit: second}, "sha1:" + second, "version: 2\n"},
		"commit without a name of it": {v1alpha1.GitRef{Commit: w.orphanParent()}, "sha1:" + w.git("rev-parse", "side^"), "side: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := w.fetcher.Fetch(t.Context(), w.request(test.ref))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if a.Revision != test.revision {
				t.Errorf("revision %s, want %s", a.Revision, test.revision)
			}
			if got, want := a.Summary(), w.server.URL("app.git")+"@"+test.revision; got != want {
				t.Errorf("summary %s, want %s", got, want)
			}
			wantFiles(t, a.FS, map[string]string{"app.yaml": test.app})
		})
	}
}

// orphanParent makes a branch side with two commits and returns the first, which no reference names.
func (w *world) orphanParent() string {
	w.Helper()
	if _, err := w.repo.Git("rev-parse", "--verify", "--quiet", "side"); err != nil {
		w.must(w.repo.FastImport([]byte("commit refs/heads/side\ncommitter a <a> 1 +0000\ndata 0\nM 100644 inline app.yaml\ndata 8\nside: 1\n\n" +
			"commit refs/heads/side\ncommitter a <a> 2 +0000\ndata 0\nM 100644 inline app.yaml\ndata 8\nside: 2\n\n")))
	}
	return w.git("rev-parse", "side^")
}

func TestAMissingReferenceIsNamed(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.git("tag", "v1.0.0", "main")
	w.git("tag", "tree", "main^{tree}")
	missing := "0123456789abcdef0123456789abcdef01234567"
	for name, test := range map[string]struct {
		ref  v1alpha1.GitRef
		want string
	}{
		"branch":               {v1alpha1.GitRef{Branch: "none"}, `has no branch "none"`},
		"tag":                  {v1alpha1.GitRef{Tag: "v9"}, `has no tag "v9"`},
		"a branch is no tag":   {v1alpha1.GitRef{Tag: "main"}, `has no tag "main"`},
		"version":              {v1alpha1.GitRef{Semver: ">=2.0.0"}, `no tag with a version in the range ">=2.0.0"`},
		"range":                {v1alpha1.GitRef{Semver: "two"}, `semver "two" is no range of versions`},
		"commit":               {v1alpha1.GitRef{Commit: missing}, "download commit " + missing + ": no branch or tag of the repository has it"},
		"malformed commit":     {v1alpha1.GitRef{Commit: "abc"}, `commit "abc" is not 40 hex digits`},
		"tag without a commit": {v1alpha1.GitRef{Tag: "tree"}, "is a tree and not a commit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.fetcher.Fetch(t.Context(), w.request(test.ref))
			wantError(t, err, w.server.URL("app.git")+" at "+refString(test.ref), test.want)
		})
	}
}

func TestADeletedBranchIsAnError(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.git("branch", "feature", "main")
	w.fetch(w.request(v1alpha1.GitRef{Branch: "feature"}))
	w.git("branch", "--delete", "--force", "feature")
	w.fail(w.request(v1alpha1.GitRef{Branch: "feature"}), `no branch "feature"`)
}

func TestARepositoryWithoutCommitsIsAnError(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.newRepository("empty.git")
	w.fail(gitRequest(w.server.URL("empty.git"), v1alpha1.GitRef{}, ""), "the repository has no commits")
}

func TestADefaultBranchWithoutCommitsIsAnError(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.git("symbolic-ref", "HEAD", "refs/heads/unborn")
	w.fail(w.request(v1alpha1.GitRef{}), "no default branch", "set ref.branch")
}

func TestADetachedHeadResolves(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	hash := w.git("rev-parse", "main")
	w.git("update-ref", "--no-deref", "HEAD", hash)
	w.commit(map[string]string{"app.yaml": "version: 2\n"})
	if a := w.fetch(w.request(v1alpha1.GitRef{})); a.Revision != "HEAD@sha1:"+hash {
		t.Errorf("revision %s", a.Revision)
	}
}

func TestEqualVersionsResolveToTheLastName(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	for _, tag := range []string{"1.0.0", "v1.0.0", "v1.0.0+build"} {
		w.git("tag", tag, "main")
	}
	want := "v1.0.0+build@sha1:" + w.git("rev-parse", "main")
	if a := w.fetch(w.request(v1alpha1.GitRef{Semver: "1.0.0"})); a.Revision != want {
		t.Errorf("revision %s, want %s", a.Revision, want)
	}
}
