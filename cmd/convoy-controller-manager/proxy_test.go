package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/convoy-dev/convoy/internal/testenv"
)

// proxy stands between a manager and the API server, for which it is the administrator. It sees every request.
type proxy struct {
	// Kubeconfig leads to the API server by way of the proxy.
	Kubeconfig string

	next http.Handler
	see  func(*http.Request) verdict
}

// verdict says what becomes of a request.
type verdict struct {
	drop bool   // the API server never sees it
	then func() // runs once the request is served, in place of the answer
}

// startProxy starts a proxy that asks see about each request, several at once; nil lets all pass.
func startProxy(t *testing.T, see func(*http.Request) verdict) *proxy {
	t.Helper()
	config := testenv.Shared(t).Config
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{see: see, next: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,                                                                              // watches
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // the manager is gone
	}}
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"test": {Server: server.URL}},
		Contexts:       map[string]*api.Context{"test": {Cluster: "test"}},
		CurrentContext: "test",
	}, p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var v verdict
	if p.see != nil {
		v = p.see(req)
	}
	switch {
	case v.drop:
		panic(http.ErrAbortHandler)
	case v.then != nil:
		p.next.ServeHTTP(httptest.NewRecorder(), req)
		v.then()
		panic(http.ErrAbortHandler)
	}
	p.next.ServeHTTP(w, req)
}
