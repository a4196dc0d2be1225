package main

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/convoy-dev/convoy/internal/testenv"
)

func TestWrongFlagsEndItAndAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown":                  {[]string{"--no-such-flag"}, "flag provided but not defined: -no-such-flag"},
		"no namespace":             {nil, "flag --leader-election-namespace: want a namespace, since this is no pod that has one; or set --leader-elect=false"},
		"an argument":              {[]string{"serve"}, `unexpected argument "serve": this command takes only flags`},
		"no worker":                {[]string{"--concurrent=0"}, "flag --concurrent: want a number of at least 1"},
		"workers that are none":    {[]string{"--concurrent=many"}, `invalid value "many" for flag -concurrent`},
		"no artifact":              {[]string{"--max-artifact-size=0"}, "flag --max-artifact-size: want a size above 0, such as 256Mi"},
		"a size that is none":      {[]string{"--max-artifact-size=large"}, `invalid value "large" for flag -max-artifact-size`},
		"a cache that is small":    {[]string{"--source-cache-size=1Mi"}, "flag --source-cache-size: want at least --max-artifact-size"},
		"a log level that is none": {[]string{"--zap-log-level=loud"}, `invalid value "loud" for flag -zap-log-level`},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, tc.args...)
			if code := p.exitCode(); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if !strings.Contains(p.output.String(), tc.want) {
				t.Errorf("it lacks %q:\n%s", tc.want, p.output)
			}
		})
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	p := startProcess(t, "--help")
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for _, flag := range []string{"-render-store-url", "-default-service-account", "-kubeconfig", "-zap-log-level"} {
		if !strings.Contains(p.output.String(), flag) {
			t.Errorf("it lacks %s:\n%s", flag, p.output)
		}
	}
}

// unreachable is the kubeconfig of a cluster that is not there.
func unreachable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"gone": {Server: "http://" + testenv.FreeAddress(t)}},
		Contexts:       map[string]*api.Context{"gone": {Cluster: "gone"}},
		CurrentContext: "gone",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestARenderStoreThatCannotBeOpenedEndsItWithoutItsCredentials(t *testing.T) {
	for name, tc := range map[string]struct{ url, want string }{
		"an unknown scheme":   {"nfs://user:hunter2@host/renders?password=hunter2", `unknown scheme \"nfs\"`},
		"credentials":         {"s3://user:hunter2@renders?region=eu-west-1", "credentials before the @ are not read"},
		"a wrong parameter":   {"s3://renders?region=eu-west-1&colour=hunter2", "open the render store s3://renders"},
		"a missing directory": {"file:///no/such/directory?secret_key_path=hunter2", "/no/such/directory"},
		"no URL":              {"%zz://hunter2@host", "its URL cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, "--leader-elect=false", "--kubeconfig="+unreachable(t), "--render-store-url="+tc.url)
			if code := p.exitCode(); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			out := p.output.String()
			for _, want := range []string{"flag --render-store-url", tc.want} {
				if !strings.Contains(out, want) {
					t.Errorf("it lacks %q:\n%s", want, out)
				}
			}
			if strings.Contains(out, "hunter2") {
				t.Errorf("it shows credentials:\n%s", out)
			}
			p.logged()
		})
	}
}

func TestAClusterThatCannotBeReachedEndsIt(t *testing.T) {
	p := startManager(t, unreachable(t))
	if code := p.exitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if want := "connection refused"; !strings.Contains(p.output.String(), want) {
		t.Errorf("it lacks %q:\n%s", want, p.output)
	}
	p.logged()
}
