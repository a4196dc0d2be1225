package source

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var appFiles = map[string]string{"app.yaml": "version: 1\n", "base/sub/b.yaml": "b: 1\n"}

func TestTheFilesOfAnArchiveAreTheSource(t *testing.T) {
	w := newWorldWithoutGit(t)
	for name, content := range map[string][]byte{"app.tgz": tarFiles(t, appFiles), "app.zip": zipFiles(t, appFiles)} {
		t.Run(name, func(t *testing.T) {
			server := serveFile(t, content, nil)
			url := server.URL + "/" + name
			a := w.fetch(archiveRequest(url, "", ""))
			if want := url + "@" + sumOf(content); a.Summary() != want {
				t.Errorf("summary %s, want %s", a.Summary(), want)
			}
			wantFiles(t, a.FS, appFiles)
			wantFiles(t, w.fetch(archiveRequest(url, sumOf(content), "")).FS, appFiles)
		})
	}
}

func TestAnArchiveThatDidNotChangeIsNotDownloadedAgain(t *testing.T) {
	w := newWorldWithoutGit(t)
	server := serveFile(t, tarFiles(t, appFiles), nil)
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	first := w.fetch(req)
	if again := w.fetch(req); again.Revision != first.Revision {
		t.Errorf("revision %s, want %s", again.Revision, first.Revision)
	}
	server.wantCounts(t, 2, 1)

	changed := map[string]string{"app.yaml": "version: 2\n"}
	server.set(tarFiles(t, changed), nil)
	a := w.fetch(req)
	if a.Revision == first.Revision {
		t.Error("the revision is the same")
	}
	wantFiles(t, a.FS, changed)
	wantFiles(t, first.FS, appFiles)
	server.wantCounts(t, 3, 2)
	w.wantNoLeftovers()
}

func TestAnArchiveIsDownloadedAgainIfItsFilesLeftTheCache(t *testing.T) {
	w := newWorldWithoutGit(t, func(o *Options) { o.CacheSize = 1 })
	server := serveFile(t, tarFiles(t, appFiles), nil)
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	w.fetch(req).Close()
	wantFiles(t, w.fetch(req).FS, appFiles)
	server.wantCounts(t, 2, 2)
}

func TestAServerWithoutETagsSendsTheArchiveEachTime(t *testing.T) {
	w := newWorldWithoutGit(t)
	server := serveFile(t, tarFiles(t, appFiles), nil)
	server.etags = false
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	if first, again := w.fetch(req), w.fetch(req); first.Revision != again.Revision {
		t.Error("the same content has another revision")
	}
	server.wantCounts(t, 2, 2)
	w.wantNoLeftovers()
}

func TestAnArchiveWithADigestIsNotAskedForWhileItIsCached(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, nil)
	req := archiveRequest(server.URL+"/app.tgz", sumOf(content), "")
	w.fetch(req)
	server.set(nil, http.NotFound)
	wantFiles(t, w.fetch(req).FS, appFiles)
	w.restart()
	wantFiles(t, w.fetch(req).FS, appFiles)
	server.wantCounts(t, 1, 1)
}

func TestAnArchiveWithAnotherDigestIsRefused(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	server := serveFile(t, tarFiles(t, map[string]string{"evil.yaml": "evil\n"}), nil)
	req := archiveRequest(server.URL+"/app.tgz", sumOf(content), "")
	w.fail(req, "fetch "+server.URL+"/app.tgz: the digest of what the server sends is sha256:", "and not "+sumOf(content)+" as the source says")
	w.wantCached()
	w.wantNoLeftovers()
	server.set(content, nil)
	w.clock.advance(failureMemory)
	wantFiles(t, w.fetch(req).FS, appFiles)
}

// wantNoLeftovers wants no temporary file to be left.
func (w *world) wantNoLeftovers() {
	w.Helper()
	left, err := os.ReadDir(filepath.Join(w.options.CacheDir, tmpDir))
	w.must(err)
	if len(left) != 0 {
		w.Errorf("%d temporary files are left, such as %s", len(left), left[0].Name())
	}
}

func TestWhatAServerAnswersInAnArchivesPlaceIsAnError(t *testing.T) {
	status := func(code int, headers ...string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				rw.Header().Set(headers[i], headers[i+1])
			}
			http.Error(rw, "a long page", code)
		}
	}
	half := tarFiles(t, map[string]string{"a": strings.Repeat("a", 1000)})
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"401":       {status(401), "answers 401 Unauthorized: it wants credentials, and secretRef names none"},
		"404":       {status(404), "answers 404 Not Found: there is no such archive"},
		"429":       {status(429), "answers 429 Too Many Requests"},
		"500":       {status(500), "answers 500 Internal Server Error"},
		"204":       {status(204), "answers 204 No Content"},
		"304":       {status(304), "answers 304 Not Modified"},
		"a page":    {status(200, "Content-Type", "text/html"), "it is neither a tar.gz nor a zip archive"},
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, "it is neither a tar.gz nor a zip archive"},
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the server ends the connection"},
		"half": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", fmt.Sprint(len(half)))
			_, _ = rw.Write(half[:len(half)/2])
		}, "the server ends the connection in the middle of an answer"},
		"too long": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", fmt.Sprint(int64(1)<<40))
		}, "its files hold more than 268435456 bytes, the limit of one artifact"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWithoutGit(t)
			server := serveFile(t, tarFiles(t, appFiles), nil)
			server.set(server.content, test.handler)
			req := archiveRequest(server.URL+"/app.tgz", "", "")
			err := w.failure(req, "fetch "+server.URL+"/app.tgz", test.want)
			if strings.Contains(err.Error(), "a long page") {
				t.Errorf("the error quotes the page: %v", err)
			}
			w.wantCached()
			w.wantNoLeftovers()
			server.set(server.content, nil)
			w.clock.advance(failureMemory)
			wantFiles(t, w.fetch(req).FS, appFiles)
		})
	}
}

func TestAServerThatIsBusyIsNotAskedBeforeItAllowsIt(t *testing.T) {
	w := newWorldWithoutGit(t)
	server := serveFile(t, tarFiles(t, appFiles), nil)
	server.set(server.content, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "60")
		rw.WriteHeader(http.StatusTooManyRequests)
	})
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	w.fail(req, "the server answers 429 Too Many Requests; it is asked again when it allows it")
	server.set(server.content, nil)
	w.clock.advance(59 * time.Second)
	w.fail(req, "429 Too Many Requests")
	server.wantCounts(t, 1, 0)
	w.clock.advance(time.Second)
	wantFiles(t, w.fetch(req).FS, appFiles)
}

func TestAServerCannotPutUsOffForEver(t *testing.T) {
	for _, value := range []string{"999999999999999999", "1000000", time.Now().Add(24 * time.Hour).UTC().Format(http.TimeFormat)} {
		err := busy(&http.Response{Header: http.Header{"Retry-After": {value}}}, fmt.Errorf("busy"))
		if got := memoryOf(err); value[0] != '9' && got != maxFailureMemory || got > maxFailureMemory {
			t.Errorf("%s: %s", value, got)
		}
	}
	for _, value := range []string{"", "-5", "soon", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), "1"} {
		if got := memoryOf(busy(&http.Response{Header: http.Header{"Retry-After": {value}}}, fmt.Errorf("busy"))); got != failureMemory {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func TestAnArchiveServerThatNeverAnswersIsCutOff(t *testing.T) {
	w := newWorldWithoutGit(t, func(o *Options) { o.ResolveTimeout, o.DownloadTimeout = short, 2*short })
	address, cut := silence(t)
	w.fail(archiveRequest("http://"+address+"/app.tgz", "", ""), "no answer within 200ms")
	<-cut
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, nil)
	server.set(content, func(rw http.ResponseWriter, req *http.Request) {
		_, _ = rw.Write(content[:10])
		_ = http.NewResponseController(rw).Flush()
		<-req.Context().Done()
	})
	w.fail(archiveRequest(server.URL+"/app.tgz", "", ""), "the download is not complete within 400ms")
	w.wantNoLeftovers()
}

func TestAnArchiveThatIsRejectedIsNotDownloadedAgain(t *testing.T) {
	w := newWorldWithoutGit(t)
	server := serveFile(t, tarOf(t, regular("../evil", "x")), nil)
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	w.fail(req, "no clean relative path")
	w.clock.advance(failureMemory)
	w.fail(req, "no clean relative path")
	server.wantCounts(t, 2, 1)
	w.wantNoLeftovers()
}

func TestReleasesThatShareAnArchiveShareOneDownload(t *testing.T) {
	w := newWorldWithoutGit(t)
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, nil)
	arrived, open := make(chan struct{}, 100), make(chan struct{})
	server.set(content, func(rw http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-open
		_, _ = rw.Write(content)
	})
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	req.MaxAge = time.Minute // for those that come when the first has its answer
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			a, err := w.fetcher.Fetch(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Close()
			if got, err := fs.ReadFile(a.FS, "app.yaml"); err != nil || string(got) != appFiles["app.yaml"] {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	<-arrived
	close(open)
	wg.Wait()
	server.wantCounts(t, 1, 0)
	w.wantNoReaders()
}
