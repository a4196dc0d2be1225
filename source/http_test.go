package source

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

// authority is a private CA.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	})
	return a
}

func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// server is the TLS configuration of a server on loopback, with a certificate that is valid until then.
func (a *authority) server(until time.Time) *tls.Config {
	cert, key := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
	})
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// newHTTPSWorld is a world whose server wants credentials; the Secret basic has them.
func newHTTPSWorld(t *testing.T) (*world, *authority) {
	t.Helper()
	ca := newAuthority(t)
	w := newWorld(t, gitserver.Options{
		TLS: ca.server(time.Now().Add(time.Hour)), Username: "bob", Password: "s3cr3t-password", BearerToken: "s3cr3t-token",
	})
	cert, key := ca.client()
	w.cluster.set(
		secret("basic", map[string]string{"username": "bob", "password": "s3cr3t-password\n", "caFile": ca.pem()}),
		secret("bearer", map[string]string{"bearerToken": "s3cr3t-token", "ca.crt": ca.pem()}),
		secret("wrong", map[string]string{"username": "bob", "password": "s3cr3t-guess", "ca.crt": ca.pem()}),
		secret("ca", map[string]string{"ca.crt": ca.pem()}),
		secret("no-ca", map[string]string{"username": "bob", "password": "s3cr3t-password"}),
		secret("bad-ca", map[string]string{"caFile": "no certificate"}),
		secret("token-only", map[string]string{"bearerToken": "s3cr3t-token"}),
		secret("certificate", map[string]string{"certFile": cert, "keyFile": key, "caFile": ca.pem()}),
	)
	return w, ca
}

func (w *world) with(secret string) Request {
	return gitRequest(w.server.URL("app.git"), mainBranch, secret)
}

func TestHTTPSWithCredentials(t *testing.T) {
	w, _ := newHTTPSWorld(t)
	for _, name := range []string{"basic", "bearer"} {
		a := w.fetch(w.with(name))
		wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
		if strings.Contains(a.Summary(), "s3cr3t") {
			t.Errorf("summary %s", a.Summary())
		}
	}
}

func TestHTTPSWithAClientCertificate(t *testing.T) {
	ca := newAuthority(t)
	config := ca.server(time.Now().Add(time.Hour))
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool()
	w := newWorld(t, gitserver.Options{TLS: config})
	cert, key := ca.client()
	w.cluster.set(secret("certificate", map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": ca.pem()}))
	wantFiles(t, w.fetch(w.with("certificate")).FS, map[string]string{"app.yaml": "version: 1\n"})
}

func TestHTTPSRejectionsSayWhatToDo(t *testing.T) {
	w, _ := newHTTPSWorld(t)
	for name, want := range map[string]string{
		"wrong":  "401 Unauthorized: it does not accept the credentials of Secret team/wrong",
		"ca":     "401 Unauthorized: it wants credentials, and secretRef names none",
		"no-ca":  `certificate signed by unknown authority; put a private CA into key "caFile"`,
		"bad-ca": `Secret team/bad-ca: key "caFile" holds no certificate in PEM form`,
		"":       "certificate signed by unknown authority",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.fetcher.Fetch(t.Context(), w.with(name))
			wantError(t, err, "fetch "+w.server.URL("app.git"), want)
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestAnExpiredCertificateIsAnErrorThatStaysTheSame(t *testing.T) {
	ca := newAuthority(t)
	w := newWorld(t, gitserver.Options{TLS: ca.server(time.Now().Add(-time.Minute))})
	w.cluster.set(secret("ca", map[string]string{"ca.crt": ca.pem()}))
	err := w.failure(w.with("ca"), "the certificate of the server has expired or is not valid yet")
	w.clock.advance(failureMemory)
	if again := w.failure(w.with("ca")); again.Error() != err.Error() {
		t.Errorf("first %v\nthen %v", err, again)
	}
}

func TestCredentialsOfOneReleaseGiveNoOtherAccessToTheCache(t *testing.T) {
	w, _ := newHTTPSWorld(t)
	allowed := w.with("basic")
	allowed.MaxAge = time.Hour
	w.fetch(allowed)
	for _, name := range []string{"wrong", "ca"} {
		req := w.with(name)
		req.MaxAge = time.Hour
		w.fail(req, "401 Unauthorized")
	}
	other := allowed
	other.Namespace = "other" // which has no Secret of that name
	w.fail(other, "Secret other/basic does not exist")
	w.fetch(allowed)
	w.wantCounts(3, 1)

	// Other credentials that the server accepts use the same files.
	w.fetch(w.with("bearer"))
	w.wantCounts(4, 1)
}

func TestRevokedCredentialsGiveNoMoreAccess(t *testing.T) {
	w, ca := newHTTPSWorld(t)
	w.fetch(w.with("basic"))
	w.cluster.set(secret("basic", map[string]string{"username": "bob", "password": "s3cr3t-old", "caFile": ca.pem()}))
	req := w.with("basic")
	req.MaxAge = time.Hour
	w.fail(req, "401 Unauthorized")
	w.cluster.set()
	w.fail(req, "Secret team/basic does not exist")
}

func TestACommitThatNoBranchNamesIsNotSharedBetweenCredentials(t *testing.T) {
	w, _ := newHTTPSWorld(t)
	first := w.git("rev-parse", "main")
	w.commit(map[string]string{"app.yaml": "version: 2\n"})
	req := func(name string) Request {
		return gitRequest(w.server.URL("app.git"), v1alpha1.GitRef{Commit: first}, name)
	}
	w.fetch(req("basic"))
	w.fetch(req("basic"))
	w.wantCounts(2, 1)
	w.fetch(req("bearer"))
	w.wantCounts(3, 2)
	w.restart()
	w.fetch(req("bearer"))
	w.wantCounts(4, 2)
}

func TestCredentialsAreSentToNoOtherHostAfterARedirect(t *testing.T) {
	w, ca := newHTTPSWorld(t)
	var leaked atomic.Bool
	open := false
	git := gitserver.Handler(w.root)
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" || req.Header.Get("Cookie") != "" || len(req.TLS.PeerCertificates) > 0 {
			leaked.Store(true)
		}
		if !open {
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(rw, req)
	}))
	other.TLS = asksForCertificates(ca)
	other.StartTLS()
	t.Cleanup(other.Close)
	w.server.Break(http.RedirectHandler(other.URL+"/app.git/info/refs?service=git-upload-pack", http.StatusFound))

	for _, name := range []string{"basic", "bearer", "certificate"} {
		open = false
		w.fail(w.with(name), "401 Unauthorized: the url redirects to "+strings.TrimPrefix(other.URL, "https://"),
			"is not sent the credentials of Secret team/"+name)
		w.clock.advance(failureMemory)
		open = true
		wantFiles(t, w.fetch(w.with(name)).FS, map[string]string{"app.yaml": "version: 1\n"})
	}
	if leaked.Load() {
		t.Error("the other host got the credentials")
	}
}

func TestARedirectToPlainHTTPIsRefused(t *testing.T) {
	w, _ := newHTTPSWorld(t)
	plain := httptest.NewServer(gitserver.Handler(w.root))
	t.Cleanup(plain.Close)
	w.server.Break(http.RedirectHandler(plain.URL+"/app.git/info/refs?service=git-upload-pack", http.StatusFound))
	w.fail(w.with("basic"), `changes scheme from "https" to "http"`)
}

func TestWhatAServerAnswersInGitsPlaceIsAnError(t *testing.T) {
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "a long page", code) })
	}
	for name, test := range map[string]struct {
		handler http.Handler
		want    string
	}{
		"401": {status(401), "answers 401 Unauthorized: it wants credentials, and secretRef names none"},
		"403": {status(403), "answers 403 Forbidden: it wants credentials"},
		"404": {status(404), "answers 404 Not Found: there is no such repository"},
		"429": {status(429), "answers 429 Too Many Requests"},
		"500": {status(500), "answers 500 Internal Server Error"},
		"html": {http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, "<html>sign in</html>") }),
			`answers with "text/html", not with Git`},
		"nothing": {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
			"the server ends the connection"},
		"no pkt-line": {advertisement("hello"), "invalid pkt-len"},
		"half a list": {advertisement("001e# service=git-upload-pack\n0000"), "EOF"},
		"an error":    {advertisement("001eERR repository is archived"), "repository is archived"},
		"no end":      {http.RedirectHandler("/app.git/info/refs", http.StatusFound), "too many redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gitserver.Options{})
			w.server.Break(test.handler)
			err := w.failure(w.request(mainBranch), test.want)
			if strings.Contains(err.Error(), "a long page") {
				t.Errorf("the error quotes the page: %v", err)
			}
			w.wantCached()
			w.server.Break(nil)
			w.clock.advance(failureMemory)
			w.fetch(w.request(mainBranch))
		})
	}
}

func TestAGitServerThatIsBusyIsNotAskedBeforeItAllowsIt(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.server.Break(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "60")
		rw.WriteHeader(http.StatusServiceUnavailable)
	}))
	w.fail(w.request(mainBranch), "the server answers 503 Service Unavailable; it is asked again when it allows it")
	w.server.Break(nil)
	w.clock.advance(59 * time.Second)
	w.fail(w.request(mainBranch), "503 Service Unavailable")
	w.wantCounts(1, 0)
	w.clock.advance(time.Second)
	w.fetch(w.request(mainBranch))
}

// advertisement is a list of references as given.
func advertisement(body string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = fmt.Fprint(rw, body)
	})
}

func TestASecretThatTheServerSendsBackIsMasked(t *testing.T) {
	w, _ := newHTTPSWorld(t)
	w.server.Break(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		_, password, _ := req.BasicAuth()
		line := fmt.Sprintf("ERR \x1b[31mno access with %s or %s\nsorry", req.Header.Get("Authorization"), password)
		advertisement(fmt.Sprintf("%04x%s", len(line)+4, line)).ServeHTTP(rw, req)
	}))
	for _, name := range []string{"basic", "bearer"} {
		err := w.failure(w.with(name), "no access with", "***", "sorry")
		for _, bad := range []string{"s3cr3t", "Ym9iOnMzY3IzdC1wYXNzd29yZA==", "\n", "\x1b"} {
			if strings.Contains(err.Error(), bad) {
				t.Errorf("the error has %q: %v", bad, err)
			}
		}
	}
}

func TestHalfAPackIsAnError(t *testing.T) {
	for name, end := range map[string]func(){
		"with a clean end": func() {},
		"with a cut":       func() { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gitserver.Options{})
			git := gitserver.Handler(w.root)
			w.server.Break(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				if req.Method == http.MethodGet {
					git.ServeHTTP(rw, req)
					return
				}
				whole := httptest.NewRecorder()
				git.ServeHTTP(whole, req)
				rw.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
				body := whole.Body.Bytes()
				_, _ = rw.Write(body[:len(body)*3/4])
				_ = http.NewResponseController(rw).Flush()
				end()
			}))
			w.fail(w.request(mainBranch), "download commit "+w.git("rev-parse", "main"), "the server ends the connection in the middle of an answer")
			w.wantCached()
			w.server.Break(nil)
			w.clock.advance(failureMemory)
			wantFiles(t, w.fetch(w.request(mainBranch)).FS, map[string]string{"app.yaml": "version: 1\n"})
		})
	}
}

func TestAnEndlessListOfReferencesIsCut(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.server.Break(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		first := strings.Repeat("1", 40) + " HEAD\x00agent=x\n"
		_, _ = fmt.Fprintf(rw, "%04x%s", len(first)+4, first)
		for i := 0; ; i++ {
			ref := fmt.Sprintf("%040d refs/heads/%s%d\n", i, strings.Repeat("x", 60_000), i)
			if _, err := fmt.Fprintf(rw, "%04x%s", len(ref)+4, ref); err != nil {
				return
			}
		}
	}))
	w.fail(w.request(mainBranch), "its list of references has more than 67108864 bytes")
}

// client is a client certificate and its key, in PEM form.
func (a *authority) client() (cert, key string) {
	a.t.Helper()
	signed, private := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(3), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	})
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed.Raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}
