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
	"slices"
	"sync"
	"testing"

	"github.com/convoy-dev/convoy/api/v1alpha1"
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
	s.Server = startServer(t, s.serve, config)
	return s
}

// startServer starts a server, with TLS if there is a configuration.
func startServer(t *testing.T, serve http.HandlerFunc, config *tls.Config) *httptest.Server {
	server := httptest.NewUnstartedServer(serve)
	if config == nil {
		server.Start()
	} else {
		server.TLS = config
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server
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
