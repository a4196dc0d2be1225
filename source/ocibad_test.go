package source

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

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
	for _, busy := range []string{"/v2/", "/blobs/"} {
		t.Run(busy, func(t *testing.T) {
			w, s, _ := newOCIWorld(t)
			s.pushFiles(appFiles, "v1")
			s.answer(func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
				if !strings.Contains(req.URL.Path, busy) {
					registry.ServeHTTP(rw, req)
					return
				}
				rw.Header().Set("Retry-After", "60")
				rw.WriteHeader(http.StatusTooManyRequests)
			})
			req := ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca")
			w.fail(req, "at tag v1: ", "the server answers 429 Too Many Requests; it is asked again when it allows it")
			s.answer(nil)
			asked := s.all
			w.clock.advance(59 * time.Second)
			w.fail(req, "429 Too Many Requests")
			if s.all != asked {
				t.Errorf("it was asked %d times more", s.all-asked)
			}
			w.clock.advance(time.Second)
			wantFiles(t, w.fetch(req).FS, appFiles)
		})
	}
}

func TestARegistryThatNeverAnswersIsCutOff(t *testing.T) {
	w := newWorldWithoutGit(t, func(o *Options) { o.ResolveTimeout = short })
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
	w := newWorldWithoutGit(t)
	for raw, want := range map[string]string{
		"https://example.com/team/app":         "the url must start with oci://",
		"oci://bob:s3cr3t@example.com/team":    "must not contain credentials",
		"oci://example.com":                    "must have a path, for example oci://registry.example.com/team/app",
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
