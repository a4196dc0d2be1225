package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/convoy-dev/convoy/internal/gitserver"
	"github.com/convoy-dev/convoy/render"
)

// manifest is a Release of the files in a folder, and more of its spec.
func manifest(more ...string) string {
	return "apiVersion: convoy.dev/v1alpha1\nkind: Release\nmetadata: {name: shop, namespace: apps}\nspec:\n" +
		"  source: {git: {url: 'https://git.example.com/shop.git', path: deploy}}\n" + strings.Join(more, "")
}

const (
	shopConfig = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {color: blue}\n"
	shopSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: shop}\nstringData: {password: '${password}'}\n"

	variables   = "  mutations:\n  - substitute: {from: [{kind: Secret, name: vars}]}\n"
	varsSecret  = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: vars, namespace: apps}\nstringData: {password: hunter2hunter2}\n"
	secretValue = "hunter2hunter2"
)

// offline keeps the test away from any cluster, and returns a folder with these files by path.
func offline(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	dir = t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// rendered runs render on release.yaml, with the folder as the source.
func rendered(t *testing.T, files map[string]string, args ...string) outcome {
	t.Helper()
	dir := offline(t, files)
	got := execute(t.Context(), append([]string{"render", "-f", filepath.Join(dir, "release.yaml"), "--source-dir", dir}, args...)...)
	got.stdout, got.stderr = strings.ReplaceAll(got.stdout, dir, "DIR"), strings.ReplaceAll(got.stderr, dir, "DIR")
	return got
}

func TestRenderPrintsTheObjectsAndTheRenderRef(t *testing.T) {
	files := map[string]string{
		"release.yaml": manifest(variables) + varsSecret, "deploy/config.yaml": shopConfig, "deploy/secret.yaml": shopSecret,
	}
	ref := render.RefOf([]byte(`[{"apiVersion":"v1","data":{"color":"blue"},"kind":"ConfigMap","metadata":{"name":"shop"}},` +
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shop"},"stringData":{"password":"hunter2hunter2"}}]`)).String()
	heading := "# render " + ref + " of Release shop in namespace apps\n# made from DIR\n"
	objects := func(password string) string {
		return "apiVersion: v1\ndata:\n  color: blue\nkind: ConfigMap\nmetadata:\n  name: shop\n---\n" +
			"apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop\nstringData:\n  password: " + password + "\n"
	}
	const caution = "Values of Secrets are masked: do not apply this. --show-secrets shows them.\n"
	for flags, want := range map[string]string{
		"":                       heading + "# " + caution + objects("'***'"),
		"-o yaml --show-secrets": heading + objects(secretValue),
		"-o name":                "configmap/shop\nsecret/shop\n",
		"-o ref":                 ref + "\n",
	} {
		t.Run(flags, func(t *testing.T) {
			if diff := cmp.Diff(outcome{want, "", codeDone}, rendered(t, files, strings.Fields(flags)...), cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := rendered(t, files, "-o", "json")
	var list metav1.List
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || list.Kind != "List" || len(list.Items) != 2 || got.stderr != caution ||
		strings.Contains(got.stdout, secretValue) {
		t.Errorf("-o json: error %v, got %+v", err, got)
	}
}

func TestRenderSaysWhatIsWrongAndWhere(t *testing.T) {
	const widget = "---\napiVersion: convoy.dev/v1alpha1\nkind: Release\nmetadata: {name: widget, namespace: apps}\nspec: {source: {from: {kind: ConfigMap, name: x}}}\n"
	for name, tc := range map[string]struct {
		release string
		files   map[string]string
		args    []string
		want    string
	}{
		"an unknown field":      {release: manifest("  suspended: true\n"), want: `Release.convoy.dev apps/shop: unknown field "spec.suspended"`},
		"a field of a mutation": {release: manifest("  mutations:\n  - image: {nam: a}\n"), want: `unknown field "spec.mutations[0].image.nam"`},
		"a post-renderer":       {release: manifest("  render: {helm: {postRenderer: {command: sh}}}\n"), want: `unknown field "spec.render.helm.postRenderer"`},
		"a wrong type":          {release: manifest("  suspend: 'yes'\n"), want: "spec.suspend of type bool"},
		"a key that is twice":   {release: manifest("  suspend: true\n  suspend: true\n"), want: `read DIR/release.yaml: release.yaml: line 7: key "suspend" is there twice`},
		"no YAML":               {release: manifest() + "---\na: b: c\n", want: "read DIR/release.yaml: release.yaml, document 2: line 7"},
		"another version": {
			release: strings.ReplaceAll(manifest(), "v1alpha1", "v2"), want: "its apiVersion is convoy.dev/v2: want convoy.dev/v1alpha1",
		},
		"no source": {
			release: strings.ReplaceAll(manifest(), "git: {url: 'https://git.example.com/shop.git', path: deploy}", ""),
			want:    "spec.source: none of its members is set",
		},
		"two sources": {
			release: strings.ReplaceAll(manifest(), "source: {", "source: {from: {kind: Secret, name: s}, "),
			want:    "spec.source: from and git are set: set one of them",
		},
		"two refs": {
			release: strings.ReplaceAll(manifest(), "path: deploy", "ref: {branch: main, tag: v1}"),
			want:    "spec.source.git.ref: branch and tag are set: set one of them",
		},
		"two mutations in one": {
			release: manifest("  mutations:\n  - {namespace: a, labels: {b: c}}\n"), want: "spec.mutations[0]: labels and namespace are set",
		},
		"no Release":          {release: shopConfig, want: "the files hold no Release: want an object of apiVersion convoy.dev/v1alpha1 and kind Release"},
		"two Releases":        {release: manifest() + widget, want: "the files hold 2 Releases: name one of apps/shop, apps/widget"},
		"no such Release":     {release: manifest() + widget, args: []string{"sho"}, want: "the files hold no Release sho: they hold apps/shop, apps/widget"},
		"an object twice":     {release: manifest() + varsSecret, args: []string{"-f", "RELEASE"}, want: "is in DIR/release.yaml and in DIR/release.yaml: keep one"},
		"another namespace":   {release: manifest(), args: []string{"-n", "web"}, want: "Release.convoy.dev apps/shop is in another namespace than --namespace web"},
		"no file":             {release: manifest(), args: []string{"-f", "DIR/none.yaml"}, want: "none.yaml: no such file or directory"},
		"no folder":           {release: manifest(), args: []string{"--source-dir", "DIR/none"}, want: "open --source-dir: open DIR/none: no such file"},
		"no path":             {release: manifest(), want: `DIR does not render: path "deploy" does not exist in the source`},
		"no objects":          {release: manifest(), files: map[string]string{"deploy/README.md": ""}, want: "DIR does not render: it has no objects: check the path, or set spec.allowEmpty"},
		"a broken manifest":   {release: manifest(), files: map[string]string{"deploy/a.yaml": shopConfig + "---\na: b: c\n"}, want: "deploy/a.yaml, document 2: line 6"},
		"a variable":          {release: manifest(variables) + varsSecret, files: map[string]string{"deploy/a.yaml": strings.ReplaceAll(shopSecret, "${password}", "${other}")}, want: "mutations[0].substitute: Secret shop: "},
		"no Secret":           {release: manifest(variables), files: map[string]string{"deploy/a.yaml": shopSecret}, want: "what the spec names cannot be read: mutations[0].substitute.from: Secret apps/vars does not exist\n  The files do not have it, and the cluster is asked only with --from-cluster"},
		"a broken Secret":     {release: manifest(variables) + strings.ReplaceAll(varsSecret, "stringData", "data"), files: map[string]string{"deploy/a.yaml": shopSecret}, want: "mutations[0].substitute.from: read Secret apps/vars: illegal base64"},
		"a typo in a Secret":  {release: manifest(variables) + strings.ReplaceAll(varsSecret, "stringData", "stringdata"), files: map[string]string{"deploy/a.yaml": shopSecret}, want: `unknown field "stringdata"`},
		"a template":          {release: manifest(), files: map[string]string{"deploy/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "deploy/templates/a.yaml": `{{ required "set image" .Values.image }}`}, want: "shop/templates/a.yaml:1:3"},
		"a kustomization":     {release: manifest(), files: map[string]string{"deploy/kustomization.yaml": "resources: [none.yaml]\n"}, want: `deploy/kustomization.yaml: resources: "none.yaml" does not exist`},
		"a patch for nothing": {release: manifest("  mutations:\n  - image: {name: app, newTag: v2}\n"), files: map[string]string{"deploy/a.yaml": shopConfig}, want: "mutations[0].image: "},
		"a cluster that does not answer": {
			release: manifest(variables), files: map[string]string{"deploy/a.yaml": shopSecret}, args: []string{"--from-cluster", "--server", "http://127.0.0.1:1"},
			want: "connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"release.yaml": tc.release}
			for name, content := range tc.files {
				files[name] = content
			}
			dir := offline(t, files)
			args := []string{"render", "-f", filepath.Join(dir, "release.yaml"), "--source-dir", dir}
			for _, arg := range tc.args {
				args = append(args, strings.NewReplacer("RELEASE", filepath.Join(dir, "release.yaml"), "DIR", dir).Replace(arg))
			}
			got := execute(t.Context(), args...)
			if stderr := strings.ReplaceAll(got.stderr, dir, "DIR"); got.code != codeError || got.stdout != "" || !strings.Contains(stderr, tc.want) {
				t.Errorf("code %d, stdout %q, stderr %q; want code %d and %q", got.code, got.stdout, stderr, codeError, tc.want)
			}
			if strings.Contains(got.stderr, secretValue) {
				t.Errorf("the value of a Secret is shown: %q", got.stderr)
			}
		})
	}
}

func TestRenderTakesTheNamespaceOfTheFileOrElseOfTheCommandLine(t *testing.T) {
	chart := map[string]string{
		"deploy/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"deploy/templates/a.yaml": strings.ReplaceAll(shopConfig, "blue", "'{{ .Release.Namespace }}'"),
	}
	for args, tc := range map[string]struct{ release, want string }{
		"":        {manifest(), "color: apps"},
		"-n apps": {manifest(), "color: apps"},
		"-n web":  {strings.ReplaceAll(manifest(), ", namespace: apps", ""), "color: web"},
		" ":       {strings.ReplaceAll(manifest(), ", namespace: apps", ""), "color: default"},
	} {
		chart["release.yaml"] = tc.release
		if got := rendered(t, chart, strings.Fields(args)...); got.code != codeDone || !strings.Contains(got.stdout, tc.want) {
			t.Errorf("%q: got %+v, want %q", args, got, tc.want)
		}
	}
}

func TestAChartSeesTheCapabilitiesThatAreGiven(t *testing.T) {
	files := map[string]string{
		"release.yaml":      manifest(),
		"deploy/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"deploy/templates/a.yaml": strings.ReplaceAll(shopConfig, "{color: blue}", "{version: '{{ .Capabilities.KubeVersion.Version }}', "+
			"apps: '{{ .Capabilities.APIVersions.Has \"apps/v1\" }}', widgets: '{{ .Capabilities.APIVersions.Has \"example.com/v1/Widget\" }}'}"),
	}
	got := rendered(t, files, "--kube-version", "1.31.2", "--api-versions", "example.com/v1,example.com/v1/Widget")
	for _, want := range []string{"version: v1.31.2\n", `apps: "true"`, `widgets: "true"`} {
		if got.code != codeDone || !strings.Contains(got.stdout, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	if got := rendered(t, files); !strings.Contains(got.stdout, `apps: "true"`) || !strings.Contains(got.stdout, `widgets: "false"`) {
		t.Errorf("without flags: got %+v", got)
	}
	if got := rendered(t, files, "--kube-version", "new"); got.code != codeError || !strings.Contains(got.stderr, `kubeVersion "new"`) {
		t.Errorf("no version: got %+v", got)
	}
}

func TestValuesOfAChartAreReadFromTheFiles(t *testing.T) {
	got := rendered(t, map[string]string{
		"release.yaml": manifest("  render: {helm: {valuesFrom: [{kind: ConfigMap, name: values}, {kind: Secret, name: none, optional: true}]}}\n") +
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: apps}\ndata: {values.yaml: 'color: green'}\n",
		"deploy/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"deploy/templates/a.yaml": strings.ReplaceAll(shopConfig, "blue", "{{ .Values.color }}"),
	})
	if got.code != codeDone || !strings.Contains(got.stdout, "color: green") {
		t.Errorf("got %+v", got)
	}
}

func TestRenderReadsTheStandardInputAndSeveralFiles(t *testing.T) {
	dir := offline(t, map[string]string{"deploy/a.yaml": shopSecret, "vars.json": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vars",
		"namespace": "apps"}, "data": {"password": "aHVudGVyMg=="}}`})
	var stdout, stderr strings.Builder
	streams := genericiooptions.IOStreams{In: strings.NewReader(manifest(variables)), Out: &stdout, ErrOut: &stderr}
	code := run(t.Context(), streams, []string{"render", "-f", "-", "-f", filepath.Join(dir, "vars.json"), "--source-dir", dir, "--show-secrets"})
	if code != codeDone || !strings.Contains(stdout.String(), "password: hunter2\n") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

func TestRenderFetchesTheSourceAndLeavesNothingBehind(t *testing.T) {
	dir, tmp := offline(t, nil), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	repository, err := gitserver.Init(filepath.Join(dir, "shop.git"))
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repository.Commit("first", map[string]string{"deploy/a.yaml": shopConfig})
	if err != nil {
		t.Fatal(err)
	}
	url := "file://" + filepath.Join(dir, "shop.git")
	release := filepath.Join(dir, "release.yaml")
	if err := os.WriteFile(release, []byte(strings.ReplaceAll(manifest(), "https://git.example.com/shop.git", url)), 0o600); err != nil {
		t.Fatal(err)
	}
	got := execute(t.Context(), "render", "-f", release)
	if want := "# made from " + url + "@" + gitserver.DefaultBranch + "@sha1:" + commit + "\n"; got.code != codeDone || !strings.Contains(got.stdout, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("in the folder for temporary files are %v, error %v", left, err)
	}
}

func TestWhatGitKeepsInAFolderIsNoFileOfTheSource(t *testing.T) {
	chart := map[string]string{
		"release.yaml": strings.ReplaceAll(manifest(), "path: deploy", "path: ."), "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"templates/a.yaml": strings.ReplaceAll(shopConfig, "blue", "'{{ range $name, $_ := .Files }}{{ $name }} {{ end }}'"), "README.md": "",
	}
	without := rendered(t, chart, "-o", "ref")
	chart[".git/config"], chart["charts/.git"] = "[core]", "gitdir: elsewhere"
	if with := rendered(t, chart, "-o", "ref"); with != without || with.code != codeDone {
		t.Errorf("with .git: %+v; without: %+v", with, without)
	}
}

func TestLinksInAFolderAreFollowedAndLeadNowhereElse(t *testing.T) {
	dir := offline(t, map[string]string{"release.yaml": manifest(), "base/a.yaml": shopConfig, "deploy/b.yaml": strings.ReplaceAll(shopConfig, "name: shop", "name: b")})
	link := func(target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, "deploy", filepath.Base(target))); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"render", "-f", filepath.Join(dir, "release.yaml"), "--source-dir", dir, "-o", "name"}
	link("../base/a.yaml")
	if got := execute(t.Context(), args...); got.stdout != "configmap/b\nconfigmap/shop\n" {
		t.Errorf("a link in the folder: got %+v", got)
	}
	link(filepath.Join(t.TempDir(), "outside.yaml"))
	if got := execute(t.Context(), args...); got.code != codeError || !strings.Contains(got.stderr, "deploy/outside.yaml: is a symbolic link that leaves the source") {
		t.Errorf("a link out of the folder: got %+v", got)
	}
}

func TestWhatDoesNotEndIsLeftAlone(t *testing.T) {
	tooLong := errors.New("it did not end in time")
	ctx, cancel := context.WithCancelCause(t.Context())
	never := make(chan struct{})
	defer close(never)
	cancel(tooLong)
	_, err := within(ctx, func() (int, error) {
		<-never
		return 0, nil
	})
	if !errors.Is(err, tooLong) {
		t.Errorf("error %v, want %v", err, tooLong)
	}
	if got, err := within(t.Context(), func() (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Errorf("got %d, error %v", got, err)
	}
}
