package source

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
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
	w := newWorld(t, gitserver.Options{}, change...)
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

func TestTheLayerOfAnOCIArtifactIsTheSource(t *testing.T) {
	w, s, _ := newOCIWorld(t)
	good, other := tarFiles(t, appFiles), tarFiles(t, version("other"))
	for name, layers := range map[string][]layer{
		"of Flux":               {{fluxLayer, good}},
		"of Flux, not first":    {{plainLayer, other}, {fluxLayer, good}},
		"plain":                 {{plainLayer, good}},
		"of Docker":             {{"application/vnd.docker.image.rootfs.diff.tar.gzip", good}},
		"the first archive":     {{"text/plain", []byte("hello")}, {plainLayer, good}, {plainLayer, other}},
		"a chart":               {{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", good}},
		"with something beside": {{fluxLayer, good}, {"application/vnd.dev.cosign.simplesigning.v1+json", []byte("{}")}},
	} {
		t.Run(name, func(t *testing.T) {
			tag := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			sum := s.push(layers, tag)
			a := w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{Tag: tag}, "ca"))
			if want := s.url() + "@" + tag + "@" + sum; a.Summary() != want {
				t.Errorf("summary %s, want %s", a.Summary(), want)
			}
			wantFiles(t, a.FS, appFiles)
		})
	}
	sum := s.pushFiles(version("latest"), "latest")
	a := w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{}, "ca"))
	if want := "latest@" + sum; a.Revision != want {
		t.Errorf("revision %s, want %s", a.Revision, want)
	}
	wantFiles(t, a.FS, version("latest"))
	w.wantNoLeftovers()
}

func TestADigestOfARegistryIsNotDownloadedAgain(t *testing.T) {
	w, s, _ := newOCIWorld(t)
	sum := s.pushFiles(version("1"), "v1", "stable")
	w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca"))
	w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca"))
	w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "stable"}, "ca"))
	s.wantBlobs(1)

	req := ociRequest(s.url(), v1alpha1.OCIRef{Digest: sum}, "ca")
	a := w.fetch(req)
	if a.Revision != sum {
		t.Errorf("revision %s, want %s", a.Revision, sum)
	}
	s.wantBlobs(2)
	s.answer(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(rw, "down", http.StatusInternalServerError)
	})
	wantFiles(t, w.fetch(req).FS, version("1"))
	w.restart()
	wantFiles(t, w.fetch(req).FS, version("1"))
	s.wantBlobs(2)
	w.fail(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca"), "500 Internal Server Error")
}

func TestTheHighestVersionOfARegistryIsFollowedBackToo(t *testing.T) {
	w, s, _ := newOCIWorld(t)
	for _, v := range []string{"1.0.0", "v1.2.0", "1.10.0", "2.0.0-rc.1", "2.0.0", "20240131", "latest"} {
		s.pushFiles(version(v), v)
	}
	page(s, 2)
	want := func(versions, tag string) {
		t.Helper()
		a := w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{Semver: versions}, "ca"))
		if !strings.HasPrefix(a.Revision, tag+"@sha256:") {
			t.Errorf("range %s: revision %s, want %s", versions, a.Revision, tag)
		}
		wantFiles(t, a.FS, version(tag))
	}
	want(">=1.0.0 <2.0.0", "1.10.0")
	want("*", "2.0.0")
	want("~1.2", "v1.2.0")
	want(">=2.0.0-0 <2.0.0", "2.0.0-rc.1")

	s.do(http.MethodDelete, "/v2/team/app/manifests/1.10.0", "", nil)
	want(">=1.0.0 <2.0.0", "v1.2.0")
	s.do(http.MethodDelete, "/v2/team/app/manifests/2.0.0", "", nil)
	want("*", "v1.2.0")
	w.fail(ociRequest(s.url(), v1alpha1.OCIRef{Semver: ">=3"}, "ca"), `at semver >=3: the repository has no tag with a version in the range ">=3"`)
	w.fail(ociRequest(s.url(), v1alpha1.OCIRef{Semver: "newest"}, "ca"), `semver "newest" is no range of versions`)
}

// page makes the registry list n tags at once.
func page(s *ociServer, n int) {
	s.answer(func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
		if !strings.HasSuffix(req.URL.Path, "/tags/list") {
			registry.ServeHTTP(rw, req)
			return
		}
		last := req.URL.Query().Get("last")
		req.URL.RawQuery = ""
		rec := httptest.NewRecorder()
		registry.ServeHTTP(rec, req)
		var list struct {
			Tags []string `json:"tags"`
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
			s.t.Error(err)
		}
		list.Tags = slices.DeleteFunc(list.Tags, func(tag string) bool { return tag <= last })
		if len(list.Tags) > n {
			list.Tags = list.Tags[:n]
			rw.Header().Set("Link", fmt.Sprintf("</v2/team/app/tags/list?last=%s>; rel=\"next\"", list.Tags[n-1]))
		}
		if err := json.NewEncoder(rw).Encode(list); err != nil {
			s.t.Error(err)
		}
	})
}

func TestARegistryWithoutAnEndOfTagsIsCutOff(t *testing.T) {
	w, s, _ := newOCIWorld(t)
	many := strings.Repeat(`"v1",`, 50_000)
	s.answer(func(rw http.ResponseWriter, req *http.Request, _ http.Handler) {
		rw.Header().Set("Link", `</v2/team/app/tags/list?last=v1>; rel="next"`)
		_, _ = fmt.Fprintf(rw, `{"tags":[%s"v1"]}`, many)
	})
	w.fail(ociRequest(s.url(), v1alpha1.OCIRef{Semver: "*"}, "ca"), "it has more than 100000 tags: set ref.tag or ref.digest")
}

func TestATagThatMovesBetweenResolveAndPullNeverMixesRevisions(t *testing.T) {
	w, s, _ := newOCIWorld(t)
	old := s.pushFiles(version("1"), "v1")
	moved := ""
	s.answer(func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
		if req.Method == http.MethodGet && moved == "" {
			moved = s.pushFiles(version("2"), "v1")
		}
		registry.ServeHTTP(rw, req)
	})
	req := ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca")
	a := w.fetch(req)
	if a.Revision != "v1@"+old || moved == "" {
		t.Errorf("revision %s, want the one that was resolved, %s", a.Revision, old)
	}
	wantFiles(t, a.FS, version("1"))
	a = w.fetch(req)
	if a.Revision != "v1@"+moved {
		t.Errorf("revision %s, want the one after the move, %s", a.Revision, moved)
	}
	wantFiles(t, a.FS, version("2"))
}

func dockerConfig(host, user, password string) string {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return fmt.Sprintf(`{"auths":{"https://%s/v1/":{"auth":%q},"other.example.com":{"username":"x","password":"s3cr3t-other"}}}`, host, auth)
}

// basicAuth makes a registry want bob's password.
func basicAuth(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
	if user, password, _ := req.BasicAuth(); user != "bob" || password != "s3cr3t" {
		rw.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(rw, "who are you?", http.StatusUnauthorized)
		return
	}
	registry.ServeHTTP(rw, req)
}

// tokenAuth makes a registry want a token, which its endpoint /token gives for bob's password.
func tokenAuth(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
	if req.URL.Path == "/token" {
		if user, password, _ := req.BasicAuth(); user != "bob" || password != "s3cr3t" {
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(rw, `{"token":"s3cr3t-token"}`)
		return
	}
	if req.Header.Get("Authorization") != "Bearer s3cr3t-token" {
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token",service="registry"`, req.Host))
		http.Error(rw, "who are you?", http.StatusUnauthorized)
		return
	}
	registry.ServeHTTP(rw, req)
}

func TestAnOCIArtifactWithCredentials(t *testing.T) {
	w, s, ca := newOCIWorld(t)
	host := strings.TrimPrefix(s.URL, "https://")
	w.cluster.set(
		secret("basic", map[string]string{"username": "bob", "password": "s3cr3t\n", "caFile": ca.pem()}),
		secret("docker", map[string]string{".dockerconfigjson": dockerConfig(host, "bob", "s3cr3t"), "ca.crt": ca.pem()}),
		secret("wrong", map[string]string{"username": "bob", "password": "s3cr3t-guess", "ca.crt": ca.pem()}),
		secret("elsewhere", map[string]string{".dockerconfigjson": dockerConfig("ghcr.io", "bob", "s3cr3t"), "ca.crt": ca.pem()}),
		secret("malformed", map[string]string{".dockerconfigjson": "s3cr3t", "ca.crt": ca.pem()}),
		secret("both", map[string]string{".dockerconfigjson": dockerConfig(host, "bob", "s3cr3t"), "username": "bob"}),
		secret("bearer", map[string]string{"bearerToken": "s3cr3t"}),
		secret("ca", map[string]string{"ca.crt": ca.pem()}),
	)
	s.pushFiles(appFiles, "v1")
	req := func(name string) Request { return ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, name) }
	for kind, auth := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){"basic": basicAuth, "token": tokenAuth} {
		s.answer(auth)
		for _, name := range []string{"basic", "docker"} {
			t.Run(name+" over "+kind, func(t *testing.T) { wantFiles(t, w.fetch(req(name)).FS, appFiles) })
		}
		for name, want := range map[string]string{
			"wrong":     "401 Unauthorized: it does not accept the credentials of Secret team/wrong",
			"ca":        "401 Unauthorized: it wants credentials, and secretRef names none",
			"elsewhere": `Secret team/elsewhere: key ".dockerconfigjson" has no credentials for ` + host,
			"malformed": `Secret team/malformed: key ".dockerconfigjson" is no configuration of Docker`,
			"both":      "Secret team/both: both .dockerconfigjson and username or password are set",
			"bearer":    "Secret team/bearer: none of the keys expected is there: an oci:// URL takes .dockerconfigjson",
			"":          "certificate signed by unknown authority",
			"none":      "Secret team/none does not exist",
		} {
			t.Run(name+" over "+kind, func(t *testing.T) {
				_, err := w.fetcher.Fetch(t.Context(), req(name))
				wantError(t, err, "fetch "+s.url(), want)
				if strings.Contains(err.Error(), "s3cr3t") {
					t.Errorf("the error shows a secret: %v", err)
				}
			})
		}
		w.clock.advance(failureMemory)
	}
}

func TestAnOCIArtifactWithAClientCertificate(t *testing.T) {
	w, s, ca := newOCIWorld(t)
	cert, key := ca.client()
	w.cluster.set(secret("ca", map[string]string{"ca.crt": ca.pem()}),
		secret("certificate", map[string]string{"certFile": cert, "keyFile": key, "caFile": ca.pem()}))
	s.pushFiles(appFiles, "v1")
	s.answer(func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
		if len(req.TLS.PeerCertificates) == 0 {
			http.Error(rw, "who are you?", http.StatusForbidden)
			return
		}
		registry.ServeHTTP(rw, req)
	})
	wantFiles(t, w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "certificate")).FS, appFiles)
	w.fail(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca"), "403 Forbidden: it wants credentials, and secretRef names none")
}

func TestCredentialsOfARegistryAreSentToNoOtherHostAfterARedirect(t *testing.T) {
	w, s, ca := newOCIWorld(t)
	cert, key := ca.client()
	w.cluster.set(secret("basic", map[string]string{"username": "bob", "password": "s3cr3t", "caFile": ca.pem(), "certFile": cert, "keyFile": key}))
	content := tarFiles(t, appFiles)
	s.push([]layer{{fluxLayer, content}}, "v1")
	var leaked, asked atomic.Bool
	config := ca.server(time.Now().Add(time.Hour))
	config.ClientAuth = tls.RequestClientCert
	storage := serveFile(t, content, config)
	status := http.StatusOK
	storage.set(content, func(rw http.ResponseWriter, req *http.Request) {
		asked.Store(true)
		if req.Header.Get("Authorization") != "" || len(req.TLS.PeerCertificates) > 0 {
			leaked.Store(true)
		}
		rw.WriteHeader(status)
		_, _ = rw.Write(content)
	})
	s.answer(func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") && req.Header.Get("Authorization") != "" {
			http.Redirect(rw, req, storage.URL+"/blob?X-Signature=s3cr3t-signature", http.StatusTemporaryRedirect)
			return
		}
		basicAuth(rw, req, registry)
	})
	req := ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "basic")
	status = http.StatusForbidden
	err := w.failure(req, "403 Forbidden", "this is the answer of "+strings.TrimPrefix(storage.URL, "https://"))
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error shows a secret: %v", err)
	}
	w.clock.advance(failureMemory)
	status = http.StatusOK
	wantFiles(t, w.fetch(req).FS, appFiles)
	if leaked.Load() || !asked.Load() {
		t.Errorf("asked %t; the other host got the credentials: %t", asked.Load(), leaked.Load())
	}
}

func TestCredentialsOfOneReleaseGiveNoOtherAccessToADigest(t *testing.T) {
	w, s, ca := newOCIWorld(t)
	w.cluster.set(secret("ca", map[string]string{"ca.crt": ca.pem()}),
		secret("basic", map[string]string{"username": "bob", "password": "s3cr3t", "caFile": ca.pem()}))
	sum := s.pushFiles(appFiles, "v1")
	s.answer(basicAuth)
	for _, ref := range []v1alpha1.OCIRef{{Tag: "v1"}, {Digest: sum}} {
		w.fetch(ociRequest(s.url(), ref, "basic"))
		w.fail(ociRequest(s.url(), ref, "ca"), "401 Unauthorized")
	}
}

func TestWhatARegistryAnswersInAnArtifactsPlaceIsAnError(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(rw, "a long page", code) }
	}
	// change passes on what the registry says to GET requests of a path, changed.
	change := func(path string, f func(body []byte) []byte) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
			if req.Method != http.MethodGet || !strings.Contains(req.URL.Path, path) {
				registry.ServeHTTP(rw, req)
				return
			}
			rec := httptest.NewRecorder()
			registry.ServeHTTP(rec, req)
			for name, values := range rec.Header() {
				rw.Header()[name] = values
			}
			_, _ = rw.Write(f(rec.Body.Bytes()))
		}
	}
	flip := func(body []byte) []byte {
		body = slices.Clone(body)
		body[len(body)/2] ^= 1
		return body
	}
	half := func(body []byte) []byte { return body[:len(body)/2] }
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, http.Handler)
		want   string
	}{
		"401":                {status(401), "at tag v1: the server answers 401 Unauthorized: it wants credentials, and secretRef names none"},
		"403":                {status(403), "answers 403 Forbidden: it wants credentials"},
		"404":                {status(404), `answers 404 Not Found: there is no such tag "v1", or these credentials must not see it`},
		"429":                {status(429), "answers 429 Too Many Requests"},
		"500":                {status(500), "answers 500 Internal Server Error"},
		"nothing":            {func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, "the server ends the connection"},
		"half a manifest":    {change("/manifests/", half), "the server ends the connection in the middle of an answer"},
		"half a layer":       {change("/blobs/", half), "the server ends the connection in the middle of an answer"},
		"another manifest":   {change("/manifests/", flip), "mismatch"},
		"another layer":      {change("/blobs/", flip), "mismatch"},
		"manifest not there": {missingFrom("/manifests/"), "404 Not Found: there is no such digest"},
		"layer not there":    {missingFrom("/blobs/"), "404 Not Found: there is no such layer sha256:"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, _ := newOCIWorld(t)
			s.pushFiles(appFiles, "v1")
			s.answer(test.answer)
			req := ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca")
			err := w.failure(req, "fetch "+s.url(), test.want)
			if strings.Contains(err.Error(), "a long page") {
				t.Errorf("the error quotes the page: %v", err)
			}
			w.wantCached()
			w.wantNoLeftovers()
			s.answer(nil)
			w.clock.advance(failureMemory)
			wantFiles(t, w.fetch(req).FS, appFiles)
		})
	}
}

// missingFrom answers that what is got from a path is not there.
func missingFrom(path string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, path) {
			http.NotFound(rw, req)
			return
		}
		registry.ServeHTTP(rw, req)
	}
}

func TestARegistryThatIsBusyIsNotAskedBeforeItAllowsIt(t *testing.T) {
	w, s, _ := newOCIWorld(t)
	s.pushFiles(appFiles, "v1")
	s.answer(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("Retry-After", "60")
		rw.WriteHeader(http.StatusTooManyRequests)
	})
	req := ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca")
	w.fail(req, "at tag v1: the server answers 429 Too Many Requests; it is asked again when it allows it")
	s.answer(nil)
	w.clock.advance(59 * time.Second)
	w.fail(req, "429 Too Many Requests")
	if s.all != 1 {
		t.Errorf("it was asked %d times", s.all)
	}
	w.clock.advance(time.Second)
	wantFiles(t, w.fetch(req).FS, appFiles)
}

func TestARegistryThatNeverAnswersIsCutOff(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.ResolveTimeout = short })
	address, cut := silence(t)
	w.fail(ociRequest("oci://"+address+"/team/app", v1alpha1.OCIRef{}, ""), "no answer within 200ms")
	<-cut
}

func TestAnArtifactThatIsNoneIsRejectedOnce(t *testing.T) {
	index, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex})
	if err != nil {
		t.Fatal(err)
	}
	manifest := func(mutate func(m *ocispec.Manifest)) []byte {
		m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest}
		mutate(&m)
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	of := func(d ocispec.Descriptor) []byte {
		return manifest(func(m *ocispec.Manifest) { m.Layers = []ocispec.Descriptor{d} })
	}
	for name, test := range map[string]struct {
		push func(s *ociServer) string
		want string
	}{
		"an index":             {func(s *ociServer) string { return s.pushManifest(ocispec.MediaTypeImageIndex, index, "v1") }, "it is an index of several manifests"},
		"no layer":             {func(s *ociServer) string { return s.push(nil, "v1") }, "none of its 0 layers is a tar.gz archive"},
		"a layer of text":      {func(s *ociServer) string { return s.push([]layer{{"text/plain", []byte("x")}}, "v1") }, "none of its 1 layers is a tar.gz archive"},
		"a layer that is text": {func(s *ociServer) string { return s.push([]layer{{fluxLayer, []byte("x")}}, "v1") }, "it is neither a tar.gz nor a zip archive"},
		"a file that leaves": {func(s *ociServer) string {
			return s.push([]layer{{fluxLayer, tarOf(s.t, regular("../evil", "x"))}}, "v1")
		}, "no clean relative path"},
		"a huge layer": {func(s *ociServer) string {
			return s.pushManifest(ocispec.MediaTypeImageManifest, of(ocispec.Descriptor{MediaType: fluxLayer, Digest: godigest.FromString("x"), Size: 1 << 40}), "v1")
		}, "its files hold more than 268435456 bytes"},
		"a layer without a digest": {func(s *ociServer) string {
			return s.pushManifest(ocispec.MediaTypeImageManifest, of(ocispec.Descriptor{MediaType: fluxLayer, Size: 1}), "v1")
		}, "a layer without a digest or size"},
		"a manifest that is text": {func(s *ociServer) string {
			return s.pushManifest(ocispec.MediaTypeImageManifest, []byte(`{"layers": "none"}`), "v1")
		}, "its manifest is malformed"},
		"a huge manifest": {func(s *ociServer) string {
			return s.pushManifest(ocispec.MediaTypeImageManifest, manifest(func(m *ocispec.Manifest) {
				m.Annotations = map[string]string{"a": strings.Repeat("a", 5<<20)}
			}), "v1")
		}, "and 4194304 are possible"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, _ := newOCIWorld(t)
			test.push(s)
			req := ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca")
			w.fail(req, "fetch "+s.url()+" at tag v1: ", test.want)
			w.wantCached()
			w.wantNoLeftovers()
			before := s.all
			w.clock.advance(failureMemory)
			w.fail(req, test.want)
			if asked := s.all - before; asked != 1 {
				t.Errorf("%d requests to be rejected again, want the one that resolves the tag", asked)
			}
		})
	}
}

func TestURLsOfRegistriesThatCannotBeUsedAreRefused(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	for raw, want := range map[string]string{
		"https://example.com/team/app":         "the url must start with oci://",
		"oci://bob:s3cr3t@example.com/team":    "must not contain credentials",
		"oci://example.com":                    "must have a host and a path, for example oci://registry.example.com/team/app",
		"oci://example.com/team/app:v1":        "the url must not have a tag or digest: put it into ref",
		"oci://example.com/team/app@sha256:12": "the url names no repository",
		"oci://example.com/Team/App":           "the url names no repository of a registry",
		"oci://example.com/team/app?x=s3cr3t":  "must not have a query",
	} {
		err := w.failure(ociRequest(raw, v1alpha1.OCIRef{}, ""), "fetch OCI artifact: ", want)
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error shows the url: %v", err)
		}
	}
}
