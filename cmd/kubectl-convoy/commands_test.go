package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// commands are all commands, by their path.
func commands() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		all[cmd.CommandPath()] = cmd
		for _, sub := range cmd.Commands() {
			add(sub)
		}
	}
	add(newRoot(&cli{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), config: genericclioptions.NewConfigFlags(true)}))
	return all
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	all := commands()
	for _, path := range []string{"list", "get", "history", "diff", "show", "pin", "unpin", "sync"} {
		if all["kubectl convoy release "+path] == nil {
			t.Errorf("there is no command %s", path)
		}
	}
	if all["kubectl convoy render"] == nil {
		t.Error("there is no command render")
	}
	for path, cmd := range all {
		if cmd.Short == "" || cmd.Long == "" || !strings.Contains(cmd.Example, "kubectl") {
			t.Errorf("%s lacks a short text, a long one or an example", path)
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%s: flag --%s has no text", path, flag.Name)
			}
		})
	}
}

func TestHelpOfWaitingCommandsTellsTheExitCodes(t *testing.T) {
	for path, cmd := range commands() {
		if cmd.Flags().Lookup("wait") != nil && !strings.Contains(cmd.Long, exitCodes) {
			t.Errorf("%s can wait, and its help does not tell the exit codes", path)
		}
	}
}

func TestHelpIsPrintedWhereNothingElseIsAsked(t *testing.T) {
	for _, args := range [][]string{{}, {"release"}, {"rel"}, {"releases", "--help"}, {"help", "release", "pin"}, {"release", "pin", "-h"}} {
		got := execute(t.Context(), args...)
		if got.code != codeDone || got.stderr != "" || !strings.Contains(got.stdout, "Usage:\n  kubectl convoy") {
			t.Errorf("%v: code %d, stdout %q, stderr %q; want the help", args, got.code, got.stdout, got.stderr)
		}
	}
}

func TestAWrongCommandLineIsAUsageError(t *testing.T) {
	for line, says := range map[string]string{
		"relase":                                      `unknown command "relase" for "kubectl convoy"; did you mean release?`,
		"release pni podinfo":                         `unknown command "pni" for "kubectl convoy release"; did you mean pin?`,
		"release frobnicate":                          `unknown command "frobnicate"`,
		"release list podinfo":                        "takes no arguments",
		"release get":                                 "needs the name of a Release",
		"release get a b":                             "takes one name, not 2",
		"release pin podinfo --frobnicate":            "unknown flag: --frobnicate",
		"release pin podinfo --dry-run=client":        "want none or server",
		"release pin podinfo --dry-run=server --wait": "a dry run pins nothing",
		"release pin podinfo --render-ref latest":     "a render is sha256: and 64 lower-case hex digits",
		"release pin podinfo --render-ref=":           "leave it out",
		"release pin podinfo --expires-in yesterday":  "90m, 24h, 1d12h or 7d",
		"release pin podinfo --timeout 1m":            "give that too",
		"release unpin podinfo --timeout 1m":          "give that too",
		"release sync podinfo --wait --timeout 0":     "want a length of time above 0",
		"release pin podinfo -o wide":                 `there is no format "wide"`,
		"release list -o jsonx":                       "use one of json, kyaml, name, wide, yaml",
		"release get podinfo -o table":                "there is no format",
		"release history podinfo --limit -1":          "want a number of entries",
		"release history podinfo --limit some":        "--limit",
		"release history":                             "needs the name of a Release",
		"release diff podinfo --render sha256:1234":   "a render is sha256: and 64 lower-case hex digits",
		"release diff podinfo -o wide":                `there is no format "wide"`,
		"release show podinfo --render=":              "a render is sha256: and 64 lower-case hex digits",
		"release show podinfo -o wide":                `there is no format "wide"`,
		"release sync podinfo -o wide":                "there is no format",
		"render":                                      "needs the file of a Release: give it with -f",
		"render a b -f a.yaml":                        "takes one name, not 2",
		"render -f a.yaml --source-dir=":              "want a folder",
		"render -f a.yaml -o wide":                    `there is no format "wide"; use one of json, kyaml, name, ref, yaml`,
		"render -f a --from-cluster --kube-version 1": "leave out --kube-version and --api-versions",
		"version now":                                 "takes no arguments",
		"version -o name":                             "use json or yaml",
		"completion":                                  "needs one of bash, fish, kubectl, powershell, zsh",
		"completion tcsh":                             "needs one of",
	} {
		t.Run(line, func(t *testing.T) {
			got := execute(t.Context(), strings.Fields(line)...)
			if got.code != codeUsage || got.stdout != "" {
				t.Errorf("code %d, stdout %q; want code %d and nothing printed", got.code, got.stdout, codeUsage)
			}
			if !strings.HasPrefix(got.stderr, "error: ") || !strings.Contains(got.stderr, says) || !strings.Contains(got.stderr, "See 'kubectl convoy") {
				t.Errorf("stderr is %q; want %q, and where the help is", got.stderr, says)
			}
		})
	}
}

func TestVersionAsksNobody(t *testing.T) {
	for format, want := range map[string]string{"": "kubectl-convoy ", "json": `"goVersion": "go`, "yaml": "goVersion: go"} {
		got := execute(t.Context(), "version", "-o", format, "--kubeconfig", "/does/not/exist")
		if got.code != codeDone || !strings.Contains(got.stdout, want) {
			t.Errorf("-o %q: code %d, stdout %q, stderr %q; want %q", format, got.code, got.stdout, got.stderr, want)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "__complete", "zsh": "#compdef kubectl-convoy", "fish": "complete -c kubectl-convoy", "powershell": "Register-ArgumentCompleter",
		"kubectl": `exec kubectl-convoy __complete "$@"`,
	} {
		got := execute(t.Context(), "completion", shell)
		if got.code != codeDone || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: code %d, and a script without %q", shell, got.code, want)
		}
	}
}

// forbidden are the modules that would make the plugin large, and what it must not know.
var forbidden = []string{
	"gocloud.dev", "github.com/aws/", "github.com/Azure/azure-sdk-for-go", "cloud.google.com", "google.golang.org/api",
	"github.com/convoy-dev/convoy/renderstore", "github.com/convoy-dev/convoy/controllers", "github.com/convoy-dev/convoy/apply",
	"github.com/convoy-dev/convoy/observer", "github.com/convoy-dev/convoy/live/builtin", "k8s.io/kubernetes/",
}

func TestThePluginLinksNoCloudSDK(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("found only %d packages", len(packages))
	}
	for _, pkg := range packages {
		for _, prefix := range forbidden {
			if strings.HasPrefix(pkg, prefix) {
				t.Errorf("the plugin links %s", pkg)
			}
		}
	}
}
