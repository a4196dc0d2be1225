package source

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

var mainBranch = v1alpha1.GitRef{Branch: "main"}

// gate holds back every answer of the server until it is opened; arrived tells of each request.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
}

func (w *world) gate() gate {
	g := gate{arrived: make(chan struct{}, 100), open: make(chan struct{})}
	git := gitserver.Handler(w.root)
	w.server.Break(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		g.arrived <- struct{}{}
		<-g.open
		git.ServeHTTP(rw, req)
	}))
	return g
}

func TestReleasesThatShareASourceShareOneFetch(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	g := w.gate()
	req := w.request(mainBranch)
	req.MaxAge = time.Minute // for those that come when the first has its answer
	var wg sync.WaitGroup
	artifacts := make(chan *Artifact, 10)
	for range 10 {
		wg.Go(func() {
			a, err := w.fetcher.Fetch(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			artifacts <- a
		})
	}
	<-g.arrived
	close(g.open)
	wg.Wait()
	close(artifacts)
	n := 0
	for a := range artifacts {
		n++
		wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
		a.Close()
	}
	if n != 10 {
		t.Errorf("%d artifacts, want 10", n)
	}
	w.wantCounts(1, 1)
}

func TestTheSameRevisionIsNotDownloadedAgain(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.fetch(w.request(mainBranch))
	w.fetch(w.request(mainBranch))
	w.wantCounts(2, 1)
	w.fetch(w.request(v1alpha1.GitRef{}))
	w.git("tag", "v1.0.0", "main")
	w.fetch(w.request(v1alpha1.GitRef{Tag: "v1.0.0"}))
	w.wantCounts(4, 1)

	hash := w.commit(map[string]string{"app.yaml": "version: 2\n"})
	a := w.fetch(w.request(mainBranch))
	if a.Revision != "main@sha1:"+hash {
		t.Errorf("revision %s, want the new commit %s", a.Revision, hash)
	}
	wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 2\n"})
	w.wantCounts(5, 2)
}

func TestAnArtifactKeepsItsFilesWhenTheSourceMovesOn(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	old := w.fetch(w.request(mainBranch))
	w.commit(map[string]string{"app.yaml": "version: 2\n"})
	w.fetch(w.request(mainBranch))
	wantFiles(t, old.FS, map[string]string{"app.yaml": "version: 1\n"})
}

func TestARevisionYoungerThanMaxAgeIsUsedAgain(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	req := w.request(mainBranch)
	req.MaxAge = time.Minute
	first := w.fetch(req)
	w.commit(map[string]string{"app.yaml": "version: 2\n"})

	w.clock.advance(time.Minute - 1)
	if a := w.fetch(req); a.Revision != first.Revision {
		t.Errorf("revision %s, want the one resolved before, %s", a.Revision, first.Revision)
	}
	w.wantCounts(1, 1)

	w.clock.advance(1)
	if a := w.fetch(req); a.Revision == first.Revision {
		t.Error("a revision as old as MaxAge was used again")
	}
	w.wantCounts(2, 2)
}

func TestAFailureIsRememberedForFiveSeconds(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.server.Break(http.NotFoundHandler())
	w.fail(w.request(mainBranch), "404 Not Found")
	w.server.Break(nil)
	w.clock.advance(failureMemory - 1)
	w.fail(w.request(mainBranch), "404 Not Found")
	w.wantCounts(1, 0)

	w.fetch(w.request(v1alpha1.GitRef{})) // another reference is not held up
	w.wantCounts(2, 1)

	w.clock.advance(1)
	w.fetch(w.request(mainBranch))
	w.wantCounts(3, 1)
}

func TestAFailureOfAKnownRevisionIsAnError(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.fetch(w.request(mainBranch))
	w.must(w.server.Stop())
	w.fail(w.request(mainBranch), "fetch "+w.server.URL("app.git")+" at branch main", "connection refused")
	w.must(w.server.Resume())
	w.clock.advance(failureMemory)
	w.fetch(w.request(mainBranch))
	w.wantCounts(2, 1)
}

func TestACallerThatGivesUpDoesNotStopTheOthers(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	g := w.gate()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := w.fetcher.Fetch(ctx, w.request(mainBranch))
		gone <- err
	}()
	<-g.arrived
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that gave up got %v", err)
	}
	close(g.open)
	req := w.request(mainBranch)
	req.MaxAge = time.Minute
	w.fetch(req).Close()
	w.wantCounts(1, 1)
	w.wantNoReaders()
}

// wantNoReaders waits until nothing holds an entry of the cache.
func (w *world) wantNoReaders() {
	w.Helper()
	c := w.fetcher.git.cache
	deadline := time.Now().Add(10 * time.Second)
	for {
		c.mu.Lock()
		readers := 0
		for _, e := range c.entries {
			readers += e.readers
		}
		c.mu.Unlock()
		if readers == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%d readers hold entries of the cache", readers)
		}
		runtime.Gosched()
	}
}

func TestAPanicInADecoderIsAnError(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.fetcher.git.cache.now = func() time.Time { panic("bug") }
	w.fail(w.request(mainBranch), "internal error")
}

func TestATagThatMovesDuringTheFetchNeverMixesRevisions(t *testing.T) {
	for name, moved := range map[string]struct {
		orphan bool // the commit before the move has no name any more
		want   string
	}{
		"forward":   {false, ""},
		"elsewhere": {true, "download commit"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gitserver.Options{})
			old := w.git("rev-parse", "main")
			w.git("tag", "v1.0.0", old)
			move := func() {
				if moved.orphan {
					w.git("update-ref", "-d", "refs/heads/main")
				}
				w.commit(map[string]string{"app.yaml": "version: 2\n"})
				w.git("tag", "--force", "v1.0.0", "main")
			}
			git := gitserver.Handler(w.root)
			w.server.Break(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				if req.Method == http.MethodPost {
					move()
				}
				git.ServeHTTP(rw, req)
			}))
			req := w.request(v1alpha1.GitRef{Tag: "v1.0.0"})
			if moved.want != "" {
				w.fail(req, moved.want, old)
			} else {
				a := w.fetch(req)
				if a.Revision != "v1.0.0@sha1:"+old {
					t.Errorf("revision %s, want the one that was resolved", a.Revision)
				}
				wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
			}
			w.server.Break(nil)
			w.clock.advance(failureMemory)
			a := w.fetch(req)
			if want := "v1.0.0@sha1:" + w.git("rev-parse", "main"); a.Revision != want {
				t.Errorf("revision %s, want %s", a.Revision, want)
			}
			wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 2\n"})
		})
	}
}
