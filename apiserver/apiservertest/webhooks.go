package apiservertest

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/internal/pki"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/webhooks"
)

// Webhooks are running webhooks of convoy.
type Webhooks struct {
	// Port is where they listen on 127.0.0.1.
	Port int
}

// StartWebhooks serves the webhooks until the test ends, with a certificate that the authority signs.
func StartWebhooks(tb testing.TB, env *testenv.Environment, authority *pki.Authority, template *x509.Certificate) *Webhooks {
	tb.Helper()
	pair, err := authority.Sign(template)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		tb.Fatal(err)
	}
	reader, err := client.New(env.Config, client.Options{Scheme: testenv.Scheme()})
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	for path, handler := range webhooks.Handlers(reader) {
		mux.Handle(path, handler)
	}
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	tb.Cleanup(server.Close)
	return &Webhooks{Port: portOf(tb, server.Listener)}
}
