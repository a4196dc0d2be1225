package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

// fileServer serves one file under every path, and counts how often it sends it.
type fileServer struct {
	*httptest.Server
	mu        sync.Mutex
	content   []byte
	etags     bool
	broken    http.HandlerFunc
	requests  int
	downloads int
}

// serveFile starts a server, with TLS if there is a configuration.
func serveFile(t *testing.T, content []byte, config *tls.Config) *fileServer {
	s := &fileServer{content: content, etags: true}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if config == nil {
		s.Start()
	} else {
		s.TLS = config
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *fileServer) serve(rw http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	s.requests++
	content, etags, broken := s.content, s.etags, s.broken
	s.mu.Unlock()
	if broken != nil {
		broken(rw, req)
		return
	}
	if etag := fmt.Sprintf("%q", sumOf(content)); etags {
		rw.Header().Set("ETag", etag)
		if req.Header.Get("If-None-Match") == etag {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
	}
	s.mu.Lock()
	s.downloads++
	s.mu.Unlock()
	_, _ = rw.Write(content)
}

// set changes what is served.
func (s *fileServer) set(content []byte, broken http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content, s.broken = content, broken
}

func (s *fileServer) wantCounts(t *testing.T, requests, downloads int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests != requests || s.downloads != downloads {
		t.Errorf("%d requests and %d downloads, want %d and %d", s.requests, s.downloads, requests, downloads)
	}
}

// sumOf is "sha256:<hex>".
func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return sha256Prefix + hex.EncodeToString(sum[:])
}

func archiveRequest(url, digest, secret string) Request {
	src := &v1alpha1.ArchiveSource{URL: url, Digest: digest}
	if secret != "" {
		src.SecretRef = &v1alpha1.LocalObjectReference{Name: secret}
	}
	return Request{Namespace: namespace, Source: v1alpha1.Source{Archive: src}}
}

// tarOf is a tar.gz archive with these entries.
func tarOf(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		content := e.Linkname
		if e.Typeflag == tar.TypeReg {
			e.Linkname, e.Size = "", int64(len(content))
		}
		if err := w.WriteHeader(&e); err != nil {
			t.Fatal(err)
		}
		if e.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []interface{ Close() error }{w, zipped} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// regular is a file of a tar archive; tarOf takes its content out of Linkname.
func regular(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content, Mode: 0o644}
}

// tarFiles is a tar.gz archive with these files.
func tarFiles(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var entries []tar.Header
	for _, name := range slices.Sorted(maps.Keys(files)) {
		entries = append(entries, regular(name, files[name]))
	}
	return tarOf(t, entries...)
}

// zipFiles is a zip archive with these files.
func zipFiles(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var appFiles = map[string]string{"app.yaml": "version: 1\n", "base/sub/b.yaml": "b: 1\n"}

func TestTheFilesOfAnArchiveAreTheSource(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
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
	w := newWorld(t, gitserver.Options{})
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
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.CacheSize = 1 })
	server := serveFile(t, tarFiles(t, appFiles), nil)
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	w.fetch(req).Close()
	wantFiles(t, w.fetch(req).FS, appFiles)
	server.wantCounts(t, 2, 2)
}

func TestAServerWithoutETagsSendsTheArchiveEachTime(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
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
	w := newWorld(t, gitserver.Options{})
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
	w := newWorld(t, gitserver.Options{})
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

// wantsCredentials serves only who shows one of these headers.
func wantsCredentials(serve http.HandlerFunc, headers ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, req *http.Request) {
		if !slices.Contains(headers, req.Header.Get("Authorization")) {
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		serve(rw, req)
	}
}

func TestAnArchiveWithCredentials(t *testing.T) {
	ca := newAuthority(t)
	w := newWorld(t, gitserver.Options{})
	content := tarFiles(t, appFiles)
	server := serveFile(t, content, ca.server(time.Now().Add(time.Hour)))
	send := func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(content) }
	server.set(content, wantsCredentials(send, "Bearer s3cr3t-token", "Basic Ym9iOnMzY3IzdA=="))
	w.cluster.set(
		secret("basic", map[string]string{"username": "bob", "password": "s3cr3t", "caFile": ca.pem()}),
		secret("bearer", map[string]string{"bearerToken": "s3cr3t-token", "ca.crt": ca.pem()}),
		secret("wrong", map[string]string{"bearerToken": "s3cr3t-guess", "ca.crt": ca.pem()}),
		secret("ca", map[string]string{"ca.crt": ca.pem()}),
	)
	url := server.URL + "/app.tgz"
	for _, name := range []string{"basic", "bearer"} {
		wantFiles(t, w.fetch(archiveRequest(url, sumOf(content), name)).FS, appFiles)
	}
	for name, want := range map[string]string{
		"wrong": "401 Unauthorized: it does not accept the credentials of Secret team/wrong",
		"ca":    "401 Unauthorized: it wants credentials, and secretRef names none",
		"":      "certificate signed by unknown authority",
		"none":  "Secret team/none does not exist",
	} {
		// The digest, and that others have the files in the cache, give no access.
		err := w.failure(archiveRequest(url, sumOf(content), name), want)
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
	w.fail(archiveRequest("http://example.com/app.tgz", "", "basic"), "no credentials are sent over http://")
}

func TestAnArchiveWithAClientCertificate(t *testing.T) {
	ca := newAuthority(t)
	w := newWorld(t, gitserver.Options{})
	certFile, keyFile := ca.client()
	w.cluster.set(
		secret("flux", map[string]string{"certFile": certFile, "keyFile": keyFile, "caFile": ca.pem()}),
		secret("kubernetes", map[string]string{"tls.crt": certFile, "tls.key": keyFile, "ca.crt": ca.pem()}),
		secret("no-key", map[string]string{"certFile": certFile}),
		secret("no-cert", map[string]string{"tls.key": keyFile}),
		secret("bad", map[string]string{"tls.crt": "x", "tls.key": "s3cr3t"}),
	)
	config := ca.server(time.Now().Add(time.Hour))
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool()
	server := serveFile(t, tarFiles(t, appFiles), config)
	for _, name := range []string{"flux", "kubernetes"} {
		wantFiles(t, w.fetch(archiveRequest(server.URL+"/app.tgz", "", name)).FS, appFiles)
	}
	for name, want := range map[string]string{
		"no-key":  `Secret team/no-key: key "keyFile" is missing or empty`,
		"no-cert": `Secret team/no-cert: key "certFile" is missing or empty`,
		"bad":     `keys "tls.crt" and "tls.key" hold no certificate with its private key`,
	} {
		w.fail(archiveRequest(server.URL+"/app.tgz", "", name), want)
	}
}

func TestCredentialsOfAnArchiveAreSentToNoOtherHostAfterARedirect(t *testing.T) {
	ca := newAuthority(t)
	w := newWorld(t, gitserver.Options{})
	certFile, keyFile := ca.client()
	w.cluster.set(
		secret("bearer", map[string]string{"bearerToken": "s3cr3t-token", "ca.crt": ca.pem()}),
		secret("basic", map[string]string{"username": "bob", "password": "s3cr3t", "ca.crt": ca.pem()}),
		secret("certificate", map[string]string{"certFile": certFile, "keyFile": keyFile, "ca.crt": ca.pem()}),
	)
	var leaked atomic.Bool
	config := ca.server(time.Now().Add(time.Hour))
	config.ClientAuth = tls.RequestClientCert
	other := serveFile(t, nil, config)
	content := tarFiles(t, appFiles)
	answer := http.StatusUnauthorized
	other.set(nil, func(rw http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" || len(req.TLS.PeerCertificates) > 0 {
			leaked.Store(true)
		}
		rw.WriteHeader(answer)
		_, _ = rw.Write(content)
	})
	config = ca.server(time.Now().Add(time.Hour))
	config.ClientAuth = tls.RequestClientCert
	server := serveFile(t, nil, config)
	server.set(nil, func(rw http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") == "" && len(req.TLS.PeerCertificates) == 0 {
			t.Error("the host of the URL is not sent the credentials")
		}
		http.Redirect(rw, req, other.URL+"/blob", http.StatusFound)
	})
	for _, name := range []string{"bearer", "basic", "certificate"} {
		answer = http.StatusUnauthorized
		req := archiveRequest(server.URL+"/app.tgz", "", name)
		w.fail(req, "401 Unauthorized: the url redirects to "+strings.TrimPrefix(other.URL, "https://"),
			"is not sent the credentials of Secret team/"+name)
		w.clock.advance(failureMemory)
		answer = http.StatusOK
		wantFiles(t, w.fetch(req).FS, appFiles)
	}
	if leaked.Load() {
		t.Error("the other host got the credentials")
	}
	plain := serveFile(t, content, nil)
	server.set(nil, http.RedirectHandler(plain.URL+"/app.tgz", http.StatusFound).ServeHTTP)
	w.fail(archiveRequest(server.URL+"/app.tgz", "", "bearer"), "the server redirects from https:// to another scheme, which is refused")
	plain.wantCounts(t, 0, 0)
	server.set(nil, http.RedirectHandler("/app.tgz", http.StatusFound).ServeHTTP)
	w.fail(archiveRequest(server.URL+"/loop.tgz", "", "bearer"), "too many redirects")
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
			w := newWorld(t, gitserver.Options{})
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
	w := newWorld(t, gitserver.Options{})
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
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.ResolveTimeout, o.DownloadTimeout = short, 2*short })
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
	w := newWorld(t, gitserver.Options{})
	server := serveFile(t, tarOf(t, regular("../evil", "x")), nil)
	req := archiveRequest(server.URL+"/app.tgz", "", "")
	w.fail(req, "no clean relative path")
	w.clock.advance(failureMemory)
	w.fail(req, "no clean relative path")
	server.wantCounts(t, 2, 1)
	w.wantNoLeftovers()
}
