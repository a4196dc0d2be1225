package source

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// chartServer is a chart repository: an index, and archives by path. It notes what it is asked for, and with which credentials.
type chartServer struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte
	requests []string // path, and the Authorization header if there is one
}

func serveCharts(t *testing.T, config *tls.Config) *chartServer {
	s := &chartServer{files: map[string][]byte{}}
	s.Server = startServer(t, func(rw http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, strings.TrimSpace(req.URL.Path+" "+req.Header.Get("Authorization")))
		content, ok := s.files[req.URL.Path]
		s.mu.Unlock()
		etag := fmt.Sprintf("%q", sumOf(content))
		switch {
		case !ok:
			http.NotFound(rw, req)
		case req.Header.Get("If-None-Match") == etag:
			rw.WriteHeader(http.StatusNotModified)
		default:
			rw.Header().Set("ETag", etag)
			_, _ = rw.Write(content)
		}
	}, config)
	return s
}

func (s *chartServer) set(path string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
}

// asked is what was asked for since the last call.
func (s *chartServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

// publish puts versions of the chart app into the repository at /charts.
func (s *chartServer) publish(t *testing.T, versions ...string) {
	index := "apiVersion: v1\nentries:\n  other: [{version: 9.9.9, urls: [other.tgz]}]\n  app:\n"
	for _, v := range versions {
		content := tarFiles(t, chartFiles(v))
		s.set("/charts/app-"+v+".tgz", content)
		index += fmt.Sprintf("  - {name: app, version: %q, urls: [app-%s.tgz], digest: %s}\n", v, v, strings.TrimPrefix(sumOf(content), sha256Prefix))
	}
	s.set("/charts/index.yaml", []byte(index))
}

func chartFiles(version string) map[string]string {
	return map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: " + version + "\n", "app/templates/a.yaml": "a: 1\n"}
}

func helmRequest(url, version, secret string) Request {
	src := &v1alpha1.HelmSource{URL: url, Chart: "app", Version: version}
	if secret != "" {
		src.SecretRef = &v1alpha1.LocalObjectReference{Name: secret}
	}
	return Request{Namespace: namespace, Source: v1alpha1.Source{Helm: src}}
}

func TestTheVersionOfAChartIsTheHighestInTheRange(t *testing.T) {
	w := newWorldWithoutGit(t)
	s := serveCharts(t, nil)
	s.publish(t, "1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1", "1.10.1-beta", "no version")
	for version, want := range map[string]string{
		"": "1.10.0", "1.0.0": "1.0.0", "1.2.x": "1.2.0", ">=1.0.0 <1.10.0": "1.2.0", ">=2.0.0-0": "2.0.0-rc.1", "2.0.0-rc.1": "2.0.0-rc.1",
	} {
		a := w.fetch(helmRequest(s.URL+"/charts", version, ""))
		content := tarFiles(t, chartFiles(want))
		if summary := s.URL + "/charts/app@" + want + "@" + sumOf(content); a.Summary() != summary {
			t.Errorf("version %q: summary %s, want %s", version, a.Summary(), summary)
		}
		wantFiles(t, a.FS, chartFiles(want))
	}
	w.wantNoLeftovers()
}

func TestAnIndexAndAChartThatDidNotChangeAreNotDownloadedAgain(t *testing.T) {
	w := newWorldWithoutGit(t)
	s := serveCharts(t, nil)
	s.publish(t, "1.0.0")
	req := helmRequest(s.URL+"/charts/", "", "")
	w.fetch(req)
	s.asked()
	w.fetch(req)
	if asked := s.asked(); len(asked) != 1 || asked[0] != "/charts/index.yaml" {
		t.Errorf("asked for %q, want the index alone", asked)
	}
	s.publish(t, "1.0.0", "1.1.0")
	if a := w.fetch(req); !strings.HasPrefix(a.Revision, "1.1.0@") {
		t.Errorf("revision %s after a new version", a.Revision)
	}
	s.publish(t, "1.0.0") // taken back
	if a := w.fetch(req); !strings.HasPrefix(a.Revision, "1.0.0@") {
		t.Errorf("revision %s after the new version was taken back", a.Revision)
	}
}

func TestARepositoryMayBeAtTheRootOfItsHost(t *testing.T) {
	w := newWorldWithoutGit(t)
	s := serveCharts(t, nil)
	s.set("/app.tgz", tarFiles(t, chartFiles("1.0.0")))
	s.set("/index.yaml", []byte("entries: {app: [{version: 1.0.0, urls: [app.tgz]}]}"))
	for _, url := range []string{s.URL, s.URL + "/"} {
		wantFiles(t, w.fetch(helmRequest(url, "", "")).FS, chartFiles("1.0.0"))
	}
	w.fail(helmRequest("https:///charts", "", ""), "the url must have a host, for example https://charts.example.com")
}

func TestChartsThatCannotBeFetched(t *testing.T) {
	w := newWorldWithoutGit(t)
	s := serveCharts(t, nil)
	entry := func(text string) []byte { return []byte("entries: {app: [{version: 1.0.0, " + text + "}]}") }
	s.set("/charts/app.tgz", tarFiles(t, chartFiles("1.0.0")))
	for name, tc := range map[string]struct {
		index []byte
		want  string
	}{
		"no index":              {nil, "index.yaml"},
		"no index at all":       {[]byte("<html>: a: b"), "it is not the index of a chart repository"},
		"no such chart":         {[]byte("entries: {other: []}"), "the repository has no chart app"},
		"no such version":       {[]byte("entries: {app: [{version: 2.0.0, urls: [app.tgz]}]}"), `no tag with a version in the range "1.x"`},
		"no url":                {entry("urls: []"), "version 1.0.0: the index has no url of it"},
		"a url of a file":       {entry(`urls: ["file:///etc/passwd"]`), "want https:// or http://"},
		"another digest":        {entry("urls: [app.tgz], digest: " + strings.Repeat("a", 64)), "the digest of what the server sends is"},
		"a digest that is none": {entry("urls: [app.tgz], digest: abc"), "the index has a malformed digest of it"},
		"no archive":            {entry("urls: [gone.tgz]"), "404"},
		"what is no archive":    {entry("urls: [index.yaml]"), "version 1.0.0"},
	} {
		t.Run(name, func(_ *testing.T) {
			s.mu.Lock()
			delete(s.files, "/charts/index.yaml")
			s.mu.Unlock()
			if tc.index != nil {
				s.set("/charts/index.yaml", tc.index)
			}
			w.clock.advance(time.Hour)
			w.fail(helmRequest(s.URL+"/charts", "1.x", ""), "fetch "+s.URL+"/charts/app: ", tc.want)
		})
	}
	w.wantNoLeftovers()
}

func TestAChartWithoutADigestIsWhatTheServerHas(t *testing.T) {
	w := newWorldWithoutGit(t)
	s := serveCharts(t, nil)
	content := tarFiles(t, chartFiles("1.0.0"))
	s.set("/charts/app.tgz", content)
	s.set("/charts/index.yaml", []byte("entries: {app: [{version: 1.0.0, urls: [app.tgz]}]}"))
	a := w.fetch(helmRequest(s.URL+"/charts", "", ""))
	if want := "1.0.0@" + sumOf(content); a.Revision != want {
		t.Errorf("revision %s, want %s", a.Revision, want)
	}
	wantFiles(t, a.FS, chartFiles("1.0.0"))
}

func TestAChartOnAnotherHostGetsNoCredentials(t *testing.T) {
	ca := newAuthority(t)
	w := newWorldWithoutGit(t)
	w.cluster.set(secret("basic", map[string]string{"username": "bob", "password": "s3cr3t", "caFile": ca.pem()}))
	own, foreign := serveCharts(t, ca.server(time.Now().Add(time.Hour))), serveCharts(t, nil)
	content := tarFiles(t, chartFiles("1.0.0"))
	foreign.set("/app.tgz", content)
	own.set("/app.tgz", content)
	const authorization = " Basic Ym9iOnMzY3IzdA=="

	own.set("/charts/index.yaml", []byte("entries: {app: [{version: 1.0.0, urls: [../app.tgz]}]}"))
	wantFiles(t, w.fetch(helmRequest(own.URL+"/charts", "", "basic")).FS, chartFiles("1.0.0"))
	for _, asked := range own.asked() {
		if !strings.HasSuffix(asked, authorization) {
			t.Errorf("the repository was asked without credentials: %s", asked)
		}
	}
	own.set("/charts/index.yaml", []byte(`entries: {app: [{version: 2.0.0, urls: ["`+foreign.URL+`/app.tgz"]}]}`))
	w.fail(helmRequest(own.URL+"/charts", "", "basic"), "the index is at https://, and has an http:// url of it")
	w.fail(helmRequest(foreign.URL+"/charts", "", "basic"), "no credentials are sent over http://")
	if asked := foreign.asked(); len(asked) > 0 {
		t.Errorf("the other host was asked: %q", asked)
	}
}

func TestAChartOfARegistryIsAnOCIArtifact(t *testing.T) {
	w, s, _ := newOCIWorld(t)
	s.push([]layer{{chartLayer, tarFiles(t, chartFiles("1.0.0"))}}, "1.0.0")
	s.push([]layer{{chartLayer, tarFiles(t, chartFiles("1.1.0"))}}, "1.1.0")
	for version, want := range map[string]string{"": "1.1.0", "1.0.0": "1.0.0", "<1.1.0": "1.0.0"} {
		a := w.fetch(helmRequest(strings.TrimSuffix(s.url(), "/app"), version, "ca"))
		if !strings.HasPrefix(a.Revision, want+"@sha256:") {
			t.Errorf("version %q: revision %s, want %s", version, a.Revision, want)
		}
		wantFiles(t, a.FS, chartFiles(want))
	}
}
