package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
	"github.com/convoy-dev/convoy/live"
)

// sourceFiles are a source of every kind.
var sourceFiles = map[string]string{
	"plain/config.yaml":  shopConfig,
	"plain/secret.json":  `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop"}, "stringData": {"password": "${password}"}}`,
	"plain/numbers.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: shop}\nspec: {a: 1.0, b: 0o17, c: 9007199254740993, d: yes, e: 2024-01-01}\n",

	"kustomize/base/kustomization.yaml": "resources: [config.yaml]\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n",
	"kustomize/base/config.yaml":        shopConfig,
	"kustomize/kustomization.yaml":      "resources: [./base]\nnamePrefix: my-\npatches: [{target: {kind: ConfigMap, name: shop}, patch: '[{\"op\": \"add\", \"path\": \"/data/size\", \"value\": \"1\"}]'}]\n",

	"chart/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
	"chart/values.yaml": "color: chart\nsize: chart\n",
	"chart/templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}', namespace: '{{ .Release.Namespace }}'}\n" +
		"data: {color: '{{ .Values.color }}', size: '{{ .Values.size }}', rate: '{{ .Values.rate }}', version: '{{ .Capabilities.KubeVersion.Version }}',\n" +
		"  releases: '{{ .Capabilities.APIVersions.Has \"convoy.dev/v1alpha1/Release\" }}'}\n",
}

// clusterReleases are the specs of Releases of these files. Each is rendered where it says nothing of a namespace.
var clusterReleases = map[string]string{
	"plain":     "{source: {git: {url: URL, path: plain}}, mutations: [{substitute: {vars: {password: public}}}]}",
	"kustomize": "{source: {git: {url: URL, path: kustomize}}}",
	"chart": "{source: {git: {url: URL, path: chart}}, render: {helm: {values: {color: 1e3, rate: 1.0}, " +
		"valuesFrom: [{kind: Secret, name: values}, {kind: ConfigMap, name: none, optional: true}]}}}",
	"mutations": "{source: {git: {url: URL, path: plain}}, mutations: [{namespace: elsewhere}, {labels: {team: shop}}, " +
		"{patch: {target: {kind: ConfigMap}, patch: '[{op: add, path: /data/more, value: \"${user}\"}]'}}, " +
		"{substitute: {vars: {user: root}, from: [{kind: Secret, name: vars}, {kind: Secret, name: none, optional: true}]}}]}",
}

// clusterInputs are the objects that the Releases name.
const clusterInputs = "apiVersion: v1\nkind: Secret\nmetadata: {name: vars}\nstringData: {password: hunter2hunter2, user: nobody}\ndata: {user: YWxpY2U=}\n" +
	"---\napiVersion: v1\nkind: Secret\nmetadata: {name: values}\nstringData: {values.yaml: 'size: 3'}\n"

// renderGivesTheRenderRefOfTheCluster renders the files of a Release that the cluster has, in every way, and compares with what convoy in
// the cluster renders.
func renderGivesTheRenderRefOfTheCluster(t *testing.T, w *world) {
	dir := offline(t, nil)
	repository, err := gitserver.Init(filepath.Join(dir, "app.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repository.Commit("first", sourceFiles); err != nil {
		t.Fatal(err)
	}
	server, err := gitserver.Start(dir, gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	requests, err := discovery.NewDiscoveryClientForConfig(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := live.Capabilities(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	capabilities := " --kube-version " + target.KubeVersion + " --api-versions " + strings.Join(target.APIVersions, ",")
	for name, spec := range clusterReleases {
		t.Run(name, func(t *testing.T) {
			namespace, dir := w.Namespace(t), offline(t, sourceFiles)
			release, given := filepath.Join(dir, "release.yaml"), filepath.Join(dir, "given.yaml")
			text := "apiVersion: convoy.dev/v1alpha1\nkind: Release\nmetadata: {name: shop}\nspec: " + strings.ReplaceAll(spec, "URL", server.URL("app.git")) + "\n"
			for path, content := range map[string]string{release: text, given: clusterInputs} {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			kubectl(t, w.User, "apply", "-n", namespace, "-f", release, "-f", given)
			var diff subresources.ReleaseDiff
			if err := json.Unmarshal([]byte(as(t.Context(), w.User, namespace, "release diff shop -o json").stdout), &diff); err != nil {
				t.Fatal(err)
			}
			want := diff.To.RenderRef + "\n"
			for how, line := range map[string]string{
				"with the files of a folder, offline":        " -f " + given + " --source-dir " + dir + capabilities,
				"with the source fetched, offline":           " -f " + given + capabilities,
				"with the files of a folder and the cluster": " --source-dir " + dir + " --from-cluster",
				"with the source fetched and the cluster":    " --from-cluster",
			} {
				if got := as(t.Context(), w.User, namespace, "render -o ref -f "+release+line); got.stdout != want || got.code != codeDone {
					t.Errorf("%s: got %+v, and the cluster renders %s", how, got, want)
				}
			}
		})
	}
}

func renderFromTheClusterTakesTheFilesFirstAndHasTheRightsOfTheUser(t *testing.T, w *world) {
	namespace := w.Namespace(t)
	dir := offline(t, map[string]string{
		"release.yaml": "apiVersion: convoy.dev/v1alpha1\nkind: Release\nmetadata: {name: shop}\nspec:\n" +
			"  source: {from: {kind: ConfigMap, name: files}}\n" + variables,
		"files.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\ndata: {a.yaml: " + strconv.Quote(shopSecret) + "}\n",
		"vars.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: vars}\nstringData: {password: of-the-cluster}\n",
		"own.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: vars}\nstringData: {password: of-the-files}\n",
	})
	kubectl(t, w.User, "apply", "-n", namespace, "-f", filepath.Join(dir, "files.yaml"), "-f", filepath.Join(dir, "vars.yaml"))
	line := "render --show-secrets --from-cluster -f " + filepath.Join(dir, "release.yaml")
	expect(t, as(t.Context(), w.User, namespace, line), codeDone, []string{"password: of-the-cluster\n", "# made from ConfigMap/files@sha256:"}, nil)
	expect(t, as(t.Context(), w.User, namespace, line+" -f "+filepath.Join(dir, "own.yaml")), codeDone, []string{"password: of-the-files\n"}, nil)
	got := as(t.Context(), w.paul, namespace, line+" -f "+filepath.Join(dir, "files.yaml"))
	expect(t, got, codeError, nil, []string{
		"render Release shop in namespace " + namespace + ": what the spec names cannot be read: mutations[0].substitute.from: read Secret " + namespace + "/vars",
		`User "paul" cannot get resource "secrets"`,
	})
}
