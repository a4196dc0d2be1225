package source

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// httpsSecrets are a Secret of every kind that https takes.
func httpsSecrets(w *world, ca *authority) []string {
	cert, key := ca.client()
	w.cluster.set(
		secret("basic", map[string]string{"username": "bob", "password": "s3cr3t", "caFile": ca.pem()}),
		secret("bearer", map[string]string{"bearerToken": "s3cr3t-token", "ca.crt": ca.pem()}),
		secret("certificate", map[string]string{"certFile": cert, "keyFile": key, "caFile": ca.pem()}),
		secret("wrong", map[string]string{"bearerToken": "s3cr3t-guess", "ca.crt": ca.pem()}),
		secret("ca", map[string]string{"ca.crt": ca.pem()}),
	)
	return []string{"basic", "bearer", "certificate"}
}

// showsCredentials says whether a request shows what one of the Secrets holds.
func showsCredentials(req *http.Request) bool {
	switch req.Header.Get("Authorization") {
	case "Basic Ym9iOnMzY3IzdA==", "Bearer s3cr3t-token":
		return true
	case "":
		return len(req.TLS.PeerCertificates) > 0
	}
	return false
}

// asksForCertificates is the TLS configuration of a server that takes a client certificate and needs none.
func asksForCertificates(ca *authority) *tls.Config {
	config := ca.server(time.Now().Add(time.Hour))
	config.ClientAuth = tls.RequestClientCert
	return config
}

func TestAChartRepositoryWithCredentials(t *testing.T) {
	ca := newAuthority(t)
	w := newWorldWithoutGit(t)
	archive := tarFiles(t, chartFiles("1.0.0"))
	server := startServer(t, func(rw http.ResponseWriter, req *http.Request) {
		switch {
		case !showsCredentials(req):
			http.Error(rw, "who are you?", http.StatusUnauthorized)
		case req.URL.Path == "/charts/index.yaml":
			_, _ = rw.Write([]byte("entries: {app: [{version: 1.0.0, urls: [app.tgz]}]}"))
		default:
			_, _ = rw.Write(archive)
		}
	}, asksForCertificates(ca))
	for _, name := range httpsSecrets(w, ca) {
		wantFiles(t, w.fetch(helmRequest(server.URL+"/charts", "", name)).FS, chartFiles("1.0.0"))
	}
	for name, want := range map[string]string{
		"wrong": "index of the repository: the server answers 401 Unauthorized: it does not accept the credentials of Secret team/wrong",
		"ca":    "401 Unauthorized: it wants credentials, and secretRef names none",
		"":      "certificate signed by unknown authority",
		"none":  "Secret team/none does not exist",
	} {
		if err := w.failure(helmRequest(server.URL+"/charts", "", name), want); strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

func TestCredentialsOfAChartRepositoryAreSentToNoOtherHostAfterARedirect(t *testing.T) {
	ca := newAuthority(t)
	archive := tarFiles(t, chartFiles("1.0.0"))
	answer := func(rw http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "index.yaml") {
			_, _ = rw.Write([]byte("entries: {app: [{version: 1.0.0, urls: [app.tgz]}]}"))
			return
		}
		_, _ = rw.Write(archive)
	}
	for _, redirected := range []string{"index.yaml", "app.tgz"} {
		t.Run(redirected, func(t *testing.T) {
			w := newWorldWithoutGit(t)
			var leaked, asked atomic.Bool
			other := startServer(t, func(rw http.ResponseWriter, req *http.Request) {
				asked.Store(true)
				if req.Header.Get("Authorization") != "" || len(req.TLS.PeerCertificates) > 0 {
					leaked.Store(true)
				}
				answer(rw, req)
			}, asksForCertificates(ca))
			server := startServer(t, func(rw http.ResponseWriter, req *http.Request) {
				if !showsCredentials(req) {
					t.Error("the host of the repository is not sent the credentials")
				}
				if strings.HasSuffix(req.URL.Path, redirected) {
					http.Redirect(rw, req, other.URL+"/"+redirected, http.StatusFound)
					return
				}
				answer(rw, req)
			}, asksForCertificates(ca))
			for _, name := range httpsSecrets(w, ca) {
				wantFiles(t, w.fetch(helmRequest(server.URL+"/charts", "", name)).FS, chartFiles("1.0.0"))
			}
			if leaked.Load() || !asked.Load() {
				t.Errorf("asked %t; the other host got the credentials: %t", asked.Load(), leaked.Load())
			}
		})
	}
}

func TestAChartOfARegistryWithCredentials(t *testing.T) {
	w, s, ca := newOCIWorld(t)
	host := strings.TrimPrefix(s.URL, "https://")
	w.cluster.set(
		secret("basic", map[string]string{"username": "bob", "password": "s3cr3t", "caFile": ca.pem()}),
		secret("docker", map[string]string{".dockerconfigjson": dockerConfig(host, "bob", "s3cr3t"), "ca.crt": ca.pem()}),
		secret("ca", map[string]string{"ca.crt": ca.pem()}),
	)
	s.push([]layer{{chartLayer, tarFiles(t, chartFiles("1.0.0"))}}, "1.0.0")
	var mu sync.Mutex
	var seen []string
	storage := startServer(t, func(rw http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, req.Header.Get("Authorization"))
		_, _ = rw.Write(tarFiles(t, chartFiles("1.0.0")))
	}, ca.server(time.Now().Add(time.Hour)))
	for kind, auth := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){"basic": basicAuth, "token": tokenAuth} {
		s.answer(func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
			allowed := httptest.NewRecorder()
			auth(allowed, req, registry)
			if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") && allowed.Code == http.StatusOK {
				http.Redirect(rw, req, storage.URL+"/blob", http.StatusTemporaryRedirect)
				return
			}
			auth(rw, req, registry)
		})
		request := func(name string) Request { return helmRequest(strings.TrimSuffix(s.url(), "/app"), "1.x", name) }
		for _, name := range []string{"basic", "docker"} {
			t.Run(fmt.Sprintf("%s over %s", name, kind), func(t *testing.T) {
				wantFiles(t, w.fetch(request(name)).FS, chartFiles("1.0.0"))
			})
		}
		w.fail(request("ca"), "401 Unauthorized: it wants credentials, and secretRef names none")
		w.clock.advance(failureMemory)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 || strings.Join(seen, "") != "" {
		t.Errorf("the host of the redirects got %q, want no credentials in one or more requests", seen)
	}
}

// A docker config may hold tokens in place of a password: an identity token, which is exchanged for another, or a token of the registry.
func TestTokensOfADockerConfigAreUsed(t *testing.T) {
	w, s, ca := newOCIWorld(t)
	host := strings.TrimPrefix(s.URL, "https://")
	config := func(entry string) map[string]string {
		return map[string]string{".dockerconfigjson": fmt.Sprintf(`{"auths":{%q:%s}}`, host, entry), "ca.crt": ca.pem()}
	}
	w.cluster.set(secret("identity", config(`{"identitytoken":"s3cr3t-identity"}`)), secret("registry", config(`{"registrytoken":"s3cr3t-token"}`)),
		secret("wrong", config(`{"identitytoken":"s3cr3t-guess"}`)))
	s.pushFiles(appFiles, "v1")
	s.answer(func(rw http.ResponseWriter, req *http.Request, registry http.Handler) {
		if req.URL.Path == "/token" {
			if req.FormValue("grant_type") != "refresh_token" || req.FormValue("refresh_token") != "s3cr3t-identity" {
				http.Error(rw, "who are you?", http.StatusUnauthorized)
				return
			}
			_, _ = rw.Write([]byte(`{"access_token":"s3cr3t-token"}`))
			return
		}
		tokenAuth(rw, req, registry)
	})
	for _, name := range []string{"identity", "registry"} {
		wantFiles(t, w.fetch(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, name)).FS, appFiles)
	}
	if err := w.failure(ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "wrong"), "401 Unauthorized: it does not accept the credentials of Secret team/wrong"); strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error shows a secret: %v", err)
	}
}
