package apiservertest

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/apiserver"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/pki"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/observer"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/source"
)

// Observer is a running convoy-observer, with the rights of its ServiceAccount.
type Observer struct {
	// URL is where it answers.
	URL string

	// Authority signs its certificate, and those of its clients.
	Authority *pki.Authority

	dir      string // of the certificates
	defaults observer.Options
	handler  atomic.Pointer[http.Handler]
}

// StartObserver serves until the test ends. It has no render store until Use gives it one.
func StartObserver(tb testing.TB, env *testenv.Environment) *Observer {
	tb.Helper()
	authority, err := pki.NewAuthority("observer-ca")
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	o := &Observer{URL: fmt.Sprintf("https://127.0.0.1:%d", portOf(tb, listener)), Authority: authority, dir: tb.TempDir()}
	o.defaults = observerOptions(tb, env)
	o.Use(func(*observer.Options) {})
	if err := cert.WriteCert(filepath.Join(o.dir, "ca.crt"), authority.Cert()); err != nil {
		tb.Fatal(err)
	}
	certificates := observer.Certificates{ClientCAFile: filepath.Join(o.dir, "ca.crt")}
	certificates.CertFile, certificates.KeyFile = o.sign(tb, "server", pki.Server("convoy-observer"))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- observer.Listen(ctx, listener, certificates, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(*o.handler.Load()).ServeHTTP(w, r)
		}))
	}()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("convoy-observer ended: %v", err)
		}
	})
	return o
}

// observerOptions are what convoy-observer works with, as its command has them.
func observerOptions(tb testing.TB, env *testenv.Environment) observer.Options {
	tb.Helper()
	user := env.AddUser(tb, manifests.ObserverUser)
	reader, err := client.New(user.Config, client.Options{Scheme: testenv.Scheme()})
	if err != nil {
		tb.Fatal(err)
	}
	fetcher, err := source.NewFetcher(source.Options{Reader: reader, CacheDir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	in, err := inputs.New(user.Config, reader)
	if err != nil {
		tb.Fatal(err)
	}
	differ, err := observer.NewDiffer(user.Config)
	if err != nil {
		tb.Fatal(err)
	}
	store, err := renderstore.Open(context.Background(), "")
	if err != nil {
		tb.Fatal(err)
	}
	return observer.Options{
		Reader: reader, Store: store, Fetcher: fetcher, Inputs: in, Differ: differ,
		ClientName: manifests.ObserverClientName, Metrics: observer.NewMetrics(prometheus.NewRegistry()), Log: testr.NewWithInterface(tb, testr.Options{}),
	}
}

// Use changes with what it answers from now on: what it was started with, and the changes.
func (o *Observer) Use(change func(*observer.Options)) {
	options := o.defaults
	change(&options)
	handler := observer.New(options).Handler()
	o.handler.Store(&handler)
}

// sign writes a certificate and its key, and returns their paths.
func (o *Observer) sign(tb testing.TB, name string, template *x509.Certificate) (certFile, keyFile string) {
	tb.Helper()
	pair, err := o.Authority.Sign(template)
	if err != nil {
		tb.Fatal(err)
	}
	if err := pair.Write(o.dir, name); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(o.dir, name+".crt"), filepath.Join(o.dir, name+".key")
}

// Renew gives it a new certificate, as a renewal does while it runs.
func (o *Observer) Renew(tb testing.TB) {
	tb.Helper()
	o.sign(tb, "server", pki.Server("renewed"))
}

// Behind lets convoy-apiserver ask the observer.
func (o *Observer) Behind(tb testing.TB) Option {
	tb.Helper()
	certFile, keyFile := o.sign(tb, "client", pki.Client(manifests.ObserverClientName))
	return func(options *apiserver.Options) {
		options.Observer = apiserver.ObserverOptions{URL: o.URL, CAFile: filepath.Join(o.dir, "ca.crt"), CertFile: certFile, KeyFile: keyFile}
	}
}
