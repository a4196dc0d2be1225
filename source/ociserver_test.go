package source

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const (
	fluxLayer  = "application/vnd.cncf.flux.content.v1.tar+gzip"
	plainLayer = ocispec.MediaTypeImageLayerGzip
)

// ociServer is a registry with the repository team/app, over TLS. What it answers can be changed.
type ociServer struct {
	*httptest.Server
	t        *testing.T
	registry http.Handler

	mu     sync.Mutex
	broken func(rw http.ResponseWriter, req *http.Request, registry http.Handler)
	blobs  int // requests for blobs
	all    int // requests
}

// newOCIWorld is a world with a registry; the Secret ca has its CA.
func newOCIWorld(t *testing.T, change ...func(*Options)) (*world, *ociServer, *authority) {
	t.Helper()
	ca := newAuthority(t)
	w := newWorldWithoutGit(t, change...)
	w.cluster.set(secret("ca", map[string]string{"ca.crt": ca.pem()}))
	s := &ociServer{t: t, registry: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.TLS = ca.server(time.Now().Add(time.Hour))
	s.TLS.ClientAuth = tls.RequestClientCert
	s.StartTLS()
	t.Cleanup(s.Close)
	return w, s, ca
}

func (s *ociServer) serve(rw http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	s.all++
	if strings.Contains(req.URL.Path, "/blobs/") {
		s.blobs++
	}
	broken := s.broken
	s.mu.Unlock()
	if broken != nil {
		broken(rw, req, s.registry)
		return
	}
	s.registry.ServeHTTP(rw, req)
}

// answer changes what the server answers; nil to mend it.
func (s *ociServer) answer(broken func(rw http.ResponseWriter, req *http.Request, registry http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *ociServer) wantBlobs(n int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs != n {
		s.t.Errorf("%d downloads, want %d", s.blobs, n)
	}
}

// url is that of the repository.
func (s *ociServer) url() string {
	return "oci://" + strings.TrimPrefix(s.URL, "https://") + "/team/app"
}

// do asks the registry itself.
func (s *ociServer) do(method, path, mediaType string, body []byte) {
	s.t.Helper()
	req := httptest.NewRequestWithContext(s.t.Context(), method, "https://registry"+path, bytes.NewReader(body))
	req.Header.Set("Content-Type", mediaType)
	rec := httptest.NewRecorder()
	s.registry.ServeHTTP(rec, req)
	if rec.Code >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
}

// layer is a layer of an artifact.
type layer struct {
	mediaType string
	content   []byte
}

// push stores an artifact under tags, and returns its digest.
func (s *ociServer) push(layers []layer, tags ...string) string {
	s.t.Helper()
	manifest := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: ocispec.DescriptorEmptyJSON,
	}
	for _, l := range append(layers, layer{ocispec.MediaTypeEmptyJSON, []byte("{}")}) {
		d := ocispec.Descriptor{MediaType: l.mediaType, Digest: godigest.FromBytes(l.content), Size: int64(len(l.content))}
		s.do(http.MethodPost, "/v2/team/app/blobs/uploads/?digest="+d.Digest.String(), "application/octet-stream", l.content)
		if l.mediaType != ocispec.MediaTypeEmptyJSON {
			manifest.Layers = append(manifest.Layers, d)
		}
	}
	raw, err := json.Marshal(manifest)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.pushManifest(ocispec.MediaTypeImageManifest, raw, tags...)
}

func (s *ociServer) pushManifest(mediaType string, raw []byte, tags ...string) string {
	s.t.Helper()
	for _, tag := range append(tags, sumOf(raw)) {
		s.do(http.MethodPut, "/v2/team/app/manifests/"+tag, mediaType, raw)
	}
	return sumOf(raw)
}

// pushFiles stores an artifact of Flux with these files.
func (s *ociServer) pushFiles(files map[string]string, tags ...string) string {
	s.t.Helper()
	return s.push([]layer{{fluxLayer, tarFiles(s.t, files)}}, tags...)
}

func ociRequest(url string, ref v1alpha1.OCIRef, secret string) Request {
	src := &v1alpha1.OCISource{URL: url, Ref: ref}
	if secret != "" {
		src.SecretRef = &v1alpha1.LocalObjectReference{Name: secret}
	}
	return Request{Namespace: namespace, Source: v1alpha1.Source{OCI: src}}
}

// version is a set of files that differs by version.
func version(v string) map[string]string {
	return map[string]string{"app.yaml": "version: " + v + "\n"}
}
