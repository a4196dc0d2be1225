package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/convoy-dev/convoy/internal/pki"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// asServer is set for a process of the test binary that is to be the command.
const asServer = "CONVOY_TEST_AS_APISERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		go func() { // it ends when the tests, which hold its standard input open, are gone
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(3)
		}()
		main()
	}
	testenv.Main(m, testenv.WithAggregation())
}

// start starts the command as a process. It is killed when the test ends.
func start(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	output := &bytes.Buffer{}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asServer+"=1")
	cmd.Stdout, cmd.Stderr = output, output
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	return cmd, output
}

// certify writes a certificate, and returns the flags that name it.
func certify(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Sign(pki.Server("localhost"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.Write(dir, "tls"); err != nil {
		t.Fatal(err)
	}
	return []string{"--tls-cert-file=" + filepath.Join(dir, "tls.crt"), "--tls-private-key-file=" + filepath.Join(dir, "tls.key")}
}

func TestWrongFlagsEndItAndAreNamed(t *testing.T) {
	certified := certify(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown":        {[]string{"--no-such-flag"}, "unknown flag: --no-such-flag"},
		"an argument":    {[]string{"serve"}, `unknown command "serve"`},
		"no certificate": {nil, "flags --tls-cert-file and --tls-private-key-file: want the certificate of the server"},
		"no kubeconfig":  {certified, "outside of a cluster it needs --kubeconfig"},
		"no such file":   {append([]string{"--kubeconfig=/no/such/file"}, certified...), "/no/such/file"},
		"a log format":   {append([]string{"--logging-format=xml"}, certified...), "xml"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, output := start(t, tc.args...)
			if err := cmd.Wait(); err == nil {
				t.Error("it ends as if all were well")
			}
			if !strings.Contains(output.String(), tc.want) {
				t.Errorf("it lacks %q:\n%s", tc.want, output)
			}
		})
	}
}

func TestItServesAndGoesInGoodOrder(t *testing.T) {
	env := testenv.Shared(t)
	address := testenv.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd, output := start(t, append(certify(t), "--kubeconfig="+env.Kubeconfig, "--bind-address=127.0.0.1", "--secure-port="+port, "--logging-format=json")...)
	asker := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	ready := func() error {
		response, err := asker.Get("https://" + address + "/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
	var last error
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = ready()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("it is not ready: %v", last)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, output)
	}
	for line := range strings.Lines(output.String()) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("with --logging-format=json it logs %q", line)
		}
	}
}
