package apiservertest

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/apiserver"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/pki"
	"github.com/convoy-dev/convoy/internal/testenv"
)

const fieldOwner = client.FieldOwner("apiservertest")

// Server is a running convoy-apiserver.
type Server struct {
	// Port is where it listens on 127.0.0.1.
	Port int

	// Authority signed its certificate, and that of the webhooks.
	Authority *pki.Authority

	// Webhooks are what it calls.
	Webhooks *Webhooks
}

// Option changes how convoy-apiserver runs.
type Option func(*apiserver.Options)

// Start installs config/default and serves it until the test ends. The environment has to be one WithAggregation.
func Start(tb testing.TB, env *testenv.Environment, options ...Option) *Server {
	tb.Helper()
	authority, err := pki.NewAuthority("convoy-ca")
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Port: portOf(tb, listener), Authority: authority, Webhooks: StartWebhooks(tb, env, authority, pki.Server("convoy-webhook"))}
	install(tb, env, manifests.Processes{
		APIServerPort: s.Port, APIServerCA: authority.Cert(),
		WebhookPort: s.Webhooks.Port, WebhookCA: authority.Cert(),
	})
	user := env.AddUser(tb, manifests.APIServerUser)
	awaitRights(tb, user)
	s.run(tb, listener, user.Kubeconfig, options)
	awaitService(tb, env)
	return s
}

// install applies what config/default has for processes.
func install(tb testing.TB, env *testenv.Environment, processes manifests.Processes) {
	tb.Helper()
	objects, err := manifests.ForProcesses(processes)
	if err != nil {
		tb.Fatal(err)
	}
	for _, object := range objects {
		err := env.Client.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		if err != nil {
			tb.Fatalf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// run serves in the background.
func (s *Server) run(tb testing.TB, listener net.Listener, kubeconfig string, changes []Option) {
	tb.Helper()
	pair, err := s.Authority.Sign(pki.Server(manifests.APIServerName))
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	if err := pair.Write(dir, "apiserver"); err != nil {
		tb.Fatal(err)
	}
	options := apiserver.NewOptions()
	recommended := options.Recommended
	recommended.SecureServing.Listener = listener
	recommended.SecureServing.ServerCert.CertKey.CertFile = filepath.Join(dir, "apiserver.crt")
	recommended.SecureServing.ServerCert.CertKey.KeyFile = filepath.Join(dir, "apiserver.key")
	recommended.CoreAPI.CoreAPIKubeconfigPath = kubeconfig
	for _, change := range changes {
		change(options)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- options.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("convoy-apiserver ended: %v", err)
		}
	})
}

func portOf(tb testing.TB, listener net.Listener) int {
	tb.Helper()
	addr, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		tb.Fatalf("%s is no TCP address", listener.Addr())
	}
	return addr.Port
}
