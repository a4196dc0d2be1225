package source

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

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
		secret("elsewhere", map[string]string{".dockerconfigjson": dockerConfig("registry.example.com", "bob", "s3cr3t"), "ca.crt": ca.pem()}),
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
