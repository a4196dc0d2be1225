package source

import (
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

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
	w := newWorldWithoutGit(t)
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
	w := newWorldWithoutGit(t)
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
	w := newWorldWithoutGit(t)
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
