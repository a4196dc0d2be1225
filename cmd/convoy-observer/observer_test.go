package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/convoy-dev/convoy/internal/pki"
	"github.com/convoy-dev/convoy/internal/testenv"
)

const (
	// asObserver is set for a process of the test binary that is to be the command.
	asObserver = "CONVOY_TEST_AS_OBSERVER"

	// patience is how long a process may take to start, or to end.
	patience = 30 * time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(asObserver) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command is the command in a process of its own, and what it prints.
func command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	cmd, output := exec.CommandContext(ctx, os.Args[0], args...), &bytes.Buffer{}
	cmd.Env = append(os.Environ(), asObserver+"=1")
	cmd.Stdout, cmd.Stderr = output, output
	return cmd, output
}

// files are the paths of certificates for an observer, and what asks it.
type files struct {
	dir    string
	client tls.Certificate
	roots  *x509.CertPool
}

func newFiles(t *testing.T) files {
	t.Helper()
	f := files{dir: t.TempDir(), roots: x509.NewCertPool()}
	authority, err := pki.NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	server, serverErr := authority.Sign(pki.Server("convoy-observer"))
	client, clientErr := authority.Sign(pki.Client("convoy-apiserver"))
	if serverErr != nil || clientErr != nil {
		t.Fatal(serverErr, clientErr)
	}
	if err := server.Write(f.dir, "tls"); err != nil {
		t.Fatal(err)
	}
	if err := cert.WriteCert(f.path("ca.crt"), authority.Cert()); err != nil {
		t.Fatal(err)
	}
	if f.client, err = tls.X509KeyPair(client.Cert, client.Key); err != nil {
		t.Fatal(err)
	}
	f.roots.AppendCertsFromPEM(authority.Cert())
	return f
}

func (f files) path(name string) string { return filepath.Join(f.dir, name) }

// flags are those that the certificates are for, and of a cluster that is not there.
func (f files) flags(t *testing.T) []string {
	t.Helper()
	kubeconfig := f.path("kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"gone": {Server: "http://127.0.0.1:1"}},
		Contexts:       map[string]*api.Context{"gone": {Cluster: "gone"}},
		CurrentContext: "gone",
	}, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"--kubeconfig=" + kubeconfig, "--source-cache-dir=" + f.path("sources"),
		"--tls-cert-file=" + f.path("tls.crt"), "--tls-private-key-file=" + f.path("tls.key"), "--client-ca-file=" + f.path("ca.crt"),
	}
}

func TestWrongFlagsEndItAndAreNamed(t *testing.T) {
	certificates := []string{"--tls-cert-file=a", "--tls-private-key-file=b", "--client-ca-file=c"}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown":               {[]string{"--no-such-flag"}, "flag provided but not defined: -no-such-flag"},
		"an argument":           {append(certificates, "serve"), `unexpected argument "serve"`},
		"no certificate":        {nil, "flags --tls-cert-file and --tls-private-key-file: want the certificate of the observer"},
		"no client authority":   {certificates[:2], "flag --client-ca-file: want the authority"},
		"nobody to answer":      {append(certificates, "--client-name="), "flag --client-name: want the common name"},
		"no artifact":           {append(certificates, "--max-artifact-size=0"), "flag --max-artifact-size: want a size above 0"},
		"a cache that is small": {append(certificates, "--source-cache-size=1Mi"), "flag --source-cache-size: want at least --max-artifact-size"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, output := command(t, tc.args...)
			err := cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != 2 {
				t.Errorf("exit code %d (%v), want 2", code, err)
			}
			if !strings.Contains(output.String(), tc.want) {
				t.Errorf("it lacks %q:\n%s", tc.want, output)
			}
		})
	}
}

func TestWhatCannotBeOpenedEndsItWithoutCredentials(t *testing.T) {
	f := newFiles(t)
	for name, tc := range map[string]struct{ flag, want string }{
		"a render store":       {"--render-store-url=s3://user:hunter2@renders?region=eu-west-1", "flag --render-store-url: open the render store s3://renders"},
		"a missing directory":  {"--render-store-url=file:///no/such/directory?secret_key_path=hunter2", "/no/such/directory"},
		"a certificate":        {"--tls-cert-file=/no/such/file", "/no/such/file"},
		"a client authority":   {"--client-ca-file=/no/such/file", "/no/such/file"},
		"an address":           {"--bind-address=256.0.0.1:1", "flag --bind-address"},
		"an address, of plain": {"--metrics-bind-address=256.0.0.1:1", "flag --metrics-bind-address"},
		"a cache":              {"--source-cache-dir=/dev/null/cache", "flag --source-cache-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(f.flags(t), "--bind-address="+testenv.FreeAddress(t), "--metrics-bind-address="+testenv.FreeAddress(t), tc.flag)
			cmd, output := command(t, args...)
			err := cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d (%v), want 1", code, err)
			}
			if !strings.Contains(output.String(), tc.want) || strings.Contains(output.String(), "hunter2") {
				t.Errorf("it lacks %q, or shows credentials:\n%s", tc.want, output)
			}
		})
	}
}

// get asks a server until it answers.
func get(t *testing.T, asker *http.Client, url string) (code int, text string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		response, err := asker.Get(url)
		if last = err; err != nil {
			return false, nil
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		code, text = response.StatusCode, string(body)
		return err == nil, err
	})
	if err != nil {
		t.Fatalf("nobody answers: %v", cmp.Or(last, err))
	}
	return code, text
}

func TestItServesProbesMetricsAndConvoyAPIServer(t *testing.T) {
	f := newFiles(t)
	secure, plain := testenv.FreeAddress(t), testenv.FreeAddress(t)
	cmd, output := command(t, append(f.flags(t), "--bind-address="+secure, "--metrics-bind-address="+plain, "--render-store-url=mem://")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(t, http.DefaultClient, "http://"+plain+path); code != http.StatusOK {
			t.Errorf("%s answers %d %s", path, code, body)
		}
	}
	config := &tls.Config{RootCAs: f.roots, Certificates: []tls.Certificate{f.client}, MinVersion: tls.VersionTLS12}
	asker := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	url := fmt.Sprintf("https://%s/apis/subresources.convoy.dev/v1alpha1/namespaces/team/releases/app/history", secure)
	code, body := get(t, asker, url)
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "the observer cannot read the Release") || !strings.Contains(body, "connection refused") {
		t.Errorf("without a cluster: got %d %s", code, body)
	}
	want := `convoy_observer_request_duration_seconds_count{code="503",subresource="history"} 1`
	if _, body := get(t, http.DefaultClient, "http://"+plain+"/metrics"); !strings.Contains(body, want) {
		t.Errorf("the metrics lack %s", want)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v:\n%s", err, output)
	}
}
