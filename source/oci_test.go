package source

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

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
	s.answer(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
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
