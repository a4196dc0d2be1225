package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// kubectlCommand is kubectl as a user, with the plugin and its completion on the PATH.
func kubectlCommand(t *testing.T, user testenv.User, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := controlplane.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	plugin := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asPlugin, os.Args[0])
	for name, content := range map[string]string{"kubectl-convoy": plugin, "kubectl_complete-convoy": kubectlScript} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+user.Kubeconfig)
	return cmd
}

// kubectl runs it, and returns what it prints.
func kubectl(t *testing.T, user testenv.User, args ...string) string {
	t.Helper()
	out, err := kubectlCommand(t, user, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestKubectlFindsThePluginAndCompletesIt(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	create(t, env, namespace, named("podinfo"))
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a command":              {[]string{"convoy", "release", "list", "-n", namespace}, "podinfo   True"},
		"its help":               {[]string{"convoy", "rel", "pin", "--help"}, "kubectl convoy release pin NAME [flags]"},
		"completion of commands": {[]string{"__complete", "convoy", "release", "un"}, "unpin\t"},
		"completion of names":    {[]string{"__complete", "convoy", "release", "pin", "-n", namespace, "pod"}, "podinfo\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kubectl(t, env.User, tc.args...); !strings.Contains(got, tc.want) {
				t.Errorf("kubectl %v printed\n%s\nwant %q", tc.args, got, tc.want)
			}
		})
	}
}
