package render

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// outside records every attempt to leave the process: programs that are run, and requests that are sent.
type outside struct {
	ran      string // a file that each program of the search path writes
	requests []string
}

var errNoNetwork = errors.New("no network in this test")

// RoundTrip implements http.RoundTripper.
func (o *outside) RoundTrip(r *http.Request) (*http.Response, error) {
	o.requests = append(o.requests, r.URL.String())
	return nil, errNoNetwork
}

// attempts lists what happened since the last call.
func (o *outside) attempts(t *testing.T) []string {
	t.Helper()
	attempts := o.requests
	o.requests = nil
	ran, err := os.ReadFile(o.ran)
	if err == nil {
		attempts = append(attempts, strings.Fields(string(ran))...)
		err = os.Remove(o.ran)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return attempts
}

// watchOutside puts programs and a transport in place that fail, and record who uses them.
func watchOutside(t *testing.T) *outside {
	t.Helper()
	bin := t.TempDir()
	o := &outside{ran: filepath.Join(bin, "ran")}
	for _, program := range []string{"git", "helm", "docker", "sh"} {
		script := "#!/bin/sh\necho " + program + " >>" + o.ran + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	transport := http.DefaultTransport
	http.DefaultTransport = o
	t.Cleanup(func() { http.DefaultTransport = transport })
	return o
}

// remoteSources are kustomizations in app that name something remote, by what is special about them. kustomize itself reaches out for
// each.
func remoteSources() map[string]files {
	sources := map[string]files{}
	for _, root := range []string{
		"https://host.invalid/org/repo", "https://host.invalid/x.yaml", "HTTPS://host.invalid/x.yaml", "http://host.invalid/x.yaml",
		"http://user:hunter2@host.invalid/x.yaml?token=hunter2", "https://hunter2@host.invalid/org/repo//dir?ref=v1",
		"github.com/org/repo", "GitHub.com/org/repo?ref=v1", "gİthub.com/org/repo", "github.com:org/repo.git",
		"git@github.com:org/repo.git", "user@host.invalid:org/repo", "org-1@host.invalid/org/repo",
		"ssh://git@host.invalid/org/repo", "git::https://host.invalid/org/repo", "GIT::git@host.invalid:org/repo", "file:///srv/repo",
	} {
		sources["resources "+root] = files{"app/kustomization.yaml": "resources:\n- " + root + "\n"}
		sources["transformers "+root] = files{"app/kustomization.yaml": "transformers:\n- " + root + "\n"}
	}
	const url = "https://host.invalid/file"
	const repo = "https://host.invalid/org/repo"
	for field, kustomization := range map[string]string{
		"bases":                     "bases: [" + repo + "]\n",
		"components":                "components: [" + repo + "]\n",
		"components, shorthand":     "components: [github.com/org/repo]\n",
		"generators":                "generators: [" + url + "]\n",
		"validators":                "validators: [" + url + "]\n",
		"crds":                      "crds: [" + url + "]\n",
		"configurations":            "configurations: [" + url + "]\n",
		"openapi":                   "openapi: {path: " + url + "}\n",
		"patches":                   "patches: [{path: " + url + "}]\n",
		"patchesJson6902":           "patchesJson6902: [{path: " + url + ", target: {kind: X, name: x}}]\n",
		"patchesStrategicMerge":     "patchesStrategicMerge: [" + url + "]\n",
		"replacements":              "replacements: [{path: " + url + "}]\n",
		"configMapGenerator files":  "configMapGenerator: [{name: x, files: [" + url + "]}]\n",
		"configMapGenerator key":    "configMapGenerator: [{name: x, files: [key=" + url + "]}]\n",
		"configMapGenerator envs":   "configMapGenerator: [{name: x, envs: [" + url + "]}]\n",
		"configMapGenerator env":    "configMapGenerator: [{name: x, env: " + url + "}]\n",
		"secretGenerator files":     "secretGenerator: [{name: x, files: [" + url + "]}]\n",
		"secretGenerator envs":      "secretGenerator: [{name: x, envs: [" + url + "]}]\n",
		"a key in another case":     "RESOURCES: [" + url + "]\n",
		"an alias":                  "namePrefix: &u " + url + "\nresources: [*u]\n",
		"an escape":                 "resources: [\"\\x68ttps://host.invalid/file\"]\n",
		"a URL with a space":        "transformers: [\"https://host.invalid/x: y\"]\n",
		"an inline generator":       "generators:\n- |-\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: x}\n  files: [" + url + "]\n",
		"an inline JSON generator":  "generators:\n- '{\"apiVersion\":\"builtin\",\"kind\":\"SecretGenerator\",\"metadata\":{\"name\":\"x\"},\"envs\":[\"" + url + "\"]}'\n",
		"an inline transformer":     "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: x}\n  path: " + url + "\n",
		"an inline in another case": "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: x}\n  PATH: " + url + "\n",
	} {
		sources[field] = files{"app/kustomization.yaml": kustomization}
	}
	const harmless = "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: p-\nfieldSpecs: [{path: metadata/name}]\n"
	for name, plugin := range map[string]string{
		"PatchTransformer":               "kind: PatchTransformer\nmetadata: {name: x}\npath: " + url + "\n",
		"PatchJson6902Transformer":       "kind: PatchJson6902Transformer\nmetadata: {name: x}\ntarget: {kind: X, name: x}\npath: " + url + "\n",
		"PatchStrategicMergeTransformer": "kind: PatchStrategicMergeTransformer\nmetadata: {name: x}\npaths: [" + url + "]\n",
		"ReplacementTransformer":         "kind: ReplacementTransformer\nmetadata: {name: x}\nreplacements: [{path: " + url + "}]\n",
		"ValueAddTransformer":            "kind: ValueAddTransformer\nmetadata: {name: x}\nvalue: x\ntargetFilePath: " + url + "\n",
		"an alias":                       "kind: PatchTransformer\nmetadata: {name: x, annotations: {u: &u \"" + url + "\"}}\npath: *u\n",
		"a binary key":                   "kind: PatchTransformer\nmetadata: {name: x}\n!!binary cGF0aA==: " + url + "\n",
	} {
		document := "apiVersion: builtin\n" + plugin
		sources["file: "+name] = files{"app/kustomization.yaml": "transformers: [t.yaml]\n", "app/t.yaml": document}
		sources["second document: "+name] = files{"app/kustomization.yaml": "transformers: [t.yaml]\n", "app/t.yaml": harmless + "---\n" + document}
		sources["folder: "+name] = files{"app/kustomization.yaml": "transformers: [t]\n", "app/t/kustomization.yaml": "resources: [t.yaml]\n", "app/t/t.yaml": document}
		sources["validators: "+name] = files{"app/kustomization.yaml": "validators: [t.yaml]\n", "app/t.yaml": document}
	}
	sources["list of plugins"] = files{
		"app/kustomization.yaml": "transformers: [t.yaml]\n",
		"app/t.yaml":             "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: \"" + url + "\"}\n",
	}
	sources["in a base"] = files{"app/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": "resources: [" + url + "]\n"}
	sources["in a component"] = files{
		"app/kustomization.yaml":  "components: [../base]\n",
		"base/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [" + url + "]\n",
	}
	return sources
}

func TestNothingRemoteIsFetched(t *testing.T) {
	watched := watchOutside(t)
	for name, source := range remoteSources() {
		t.Run(name, func(t *testing.T) {
			_, err := source.build(t, v1alpha1.RenderAuto, "app")
			if attempts := watched.attempts(t); len(attempts) > 0 {
				t.Errorf("reached out: %q", attempts)
			}
			if err == nil || !strings.Contains(err.Error(), "is remote, and nothing is fetched while rendering: copy it into the repository") {
				t.Errorf("want an error about what is remote, got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds credentials: %v", err)
			}
		})
	}
}

// Shows that the sources of TestNothingRemoteIsFetched would be caught reaching out: kustomize alone does.
func TestKustomizeItselfFetchesWhatIsRemote(t *testing.T) {
	watched := watchOutside(t)
	for name, source := range remoteSources() {
		t.Run(name, func(t *testing.T) {
			if _, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(source.inMemory(t), "/app"); err == nil {
				t.Error("kustomize built it")
			}
			if len(watched.attempts(t)) == 0 {
				t.Error("kustomize does not reach out for it, so it proves nothing")
			}
		})
	}
}

func TestRemoteErrorsNameTheFileAndTheEntry(t *testing.T) {
	source := files{
		"app/kustomization.yaml":  "resources: [../base]\n",
		"base/kustomization.yaml": "resources: [\"https://user:hunter2@example.com/org/repo?token=hunter2\"]\n",
	}
	_, err := source.build(t, v1alpha1.RenderAuto, "app")
	wantError(t, err, `base/kustomization.yaml: resources: "https://example.com/org/repo" is remote, and nothing is fetched while rendering: `+
		"copy it into the repository, and name the copy by a path that starts with ./ or ../")
}

func TestLocalPathsThatLookRemoteAreRead(t *testing.T) {
	source := files{
		"app/kustomization.yaml":                     "resources: [./github.com/org/repo, https.yaml, ./me@host.yaml]\nconfigMapGenerator: [{name: x, files: [me@host.pem, github.com/file]}]\n",
		"app/github.com/org/repo/kustomization.yaml": "resources: [a.yaml]\n",
		"app/github.com/org/repo/a.yaml":             manifest("a"),
		"app/github.com/file":                        "x",
		"app/https.yaml":                             manifest("b"),
		"app/me@host.yaml":                           manifest("c"),
		"app/me@host.pem":                            "x",
	}
	if r := source.mustBuild(t, v1alpha1.RenderAuto, "app"); r.Len() != 4 {
		t.Errorf("%d objects, want 4", r.Len())
	}
}
