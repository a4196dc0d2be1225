package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// chartSpec renders the chart in the root of a source.
func chartSpec(t testing.TB, helm string) v1alpha1.ReleaseSpec {
	t.Helper()
	spec := v1alpha1.ReleaseSpec{Render: v1alpha1.RenderSpec{Helm: &v1alpha1.HelmRender{}}}
	if err := yaml.UnmarshalStrict([]byte(helm), spec.Render.Helm); err != nil {
		t.Fatal(err)
	}
	return spec
}

// minimal is a chart with these templates.
func minimal(templates files) files {
	f := files{"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n"}
	for name, content := range templates {
		f["templates/"+name] = content
	}
	return f
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestAChartIsWhatHelmTemplateMakesOfIt compares with the golden file that helm made, with the version of helm that go.mod has:
//
//	helm template my app --namespace apps --include-crds --skip-tests --set hooks=true --kube-version 1.33.1 --api-versions example.com/v1/Widget \
//	  -f values-1.yaml -f values-2.yaml > golden.yaml
func TestAChartIsWhatHelmTemplateMakesOfIt(t *testing.T) {
	const dir = "testdata/chart/"
	want := map[ObjectID]map[string]any{}
	documents, err := splitYAML("golden.yaml", readFile(t, dir+"golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range documents {
		object, err := doc.lenient()
		if err != nil {
			t.Fatal(err)
		}
		id, err := identify(object)
		if err != nil {
			t.Fatal(err)
		}
		want[id] = object
	}
	var values apiextensionsv1.JSON
	if values.Raw, err = yaml.YAMLToJSON(append(readFile(t, dir+"values-2.yaml"), "hooks: true\n"...)); err != nil {
		t.Fatal(err)
	}
	spec := v1alpha1.ReleaseSpec{Render: v1alpha1.RenderSpec{Helm: &v1alpha1.HelmRender{
		ReleaseName: "my", KubeVersion: "1.33.1", Values: &values,
	}}}
	in := Inputs{
		Namespace: "apps", Name: "release", Values: []Values{{From: "ConfigMap values", YAML: readFile(t, dir+"values-1.yaml")}},
		Capabilities: Capabilities{KubeVersion: "v1.20.0", APIVersions: []string{"v1", "example.com/v1/Widget"}},
	}
	got, err := FromSpec(t.Context(), os.DirFS(dir+"app"), spec, in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, objectsIn(t, got)); diff != "" {
		t.Errorf("helm (-), render (+):\n%s", diff)
	}
	spec.Render.Helm.SkipCRDs = true
	without, err := FromSpec(t.Context(), os.DirFS(dir+"app"), spec, in)
	if err != nil || without.Len() != got.Len()-1 {
		t.Errorf("without CRDs: %d objects and error %v, want %d", without.Len(), err, got.Len()-1)
	}
}

func TestTestsOfAChartAreLeftOutAndItsHooksAreNot(t *testing.T) {
	made := files{}
	for i, event := range []string{"test", "test-success", "Test, test-success", "pre-install", "pre-install,test", "post-delete", "no-such-event"} {
		made[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, annotations: {helm.sh/hook: %q}}\n", i, event)
	}
	got, err := FromSpec(t.Context(), minimal(made).fs(), v1alpha1.ReleaseSpec{}, Inputs{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for id := range objectsIn(t, got) {
		names = append(names, id.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"c3", "c4", "c5"}, names); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestTheNameOfTheReleaseIsTheDefault(t *testing.T) {
	chart := minimal(files{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {ns: '{{ .Release.Namespace }}'}\n"})
	got, err := FromSpec(t.Context(), chart.fs(), v1alpha1.ReleaseSpec{}, Inputs{Namespace: "apps", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[ObjectID]map[string]any{{Kind: "ConfigMap", Name: "web"}: {
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web"}, "data": map[string]any{"ns": "apps"},
	}}
	if diff := cmp.Diff(want, objectsIn(t, got)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	_, err = FromSpec(t.Context(), chart.fs(), v1alpha1.ReleaseSpec{}, Inputs{Name: strings.Repeat("a", 54)})
	if err == nil || !strings.Contains(err.Error(), "set render.helm.releaseName") {
		t.Errorf("a name of 54 characters: error %v", err)
	}
}

func TestChartsThatCannotBeRendered(t *testing.T) {
	with := func(f files, more files) files {
		all := maps.Clone(f)
		maps.Copy(all, more)
		return all
	}
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, tc := range map[string]struct {
		chart files
		helm  string
		want  []string
	}{
		"a template that does not parse": {minimal(files{"a.yaml": "{{ if }}"}), "", []string{"Chart.yaml: parse error at (c/templates/a.yaml:1)"}},
		"a template that fails":          {minimal(files{"a.yaml": `{{ fail "set x" }}`}), "", []string{"c/templates/a.yaml:1:3", "set x"}},
		"a value that is required":       {minimal(files{"a.yaml": `{{ required "set .Values.x" .Values.x }}`}), "", []string{"set .Values.x"}},
		"what is no YAML":                {minimal(files{"a.yaml": "a: b: c"}), "", []string{"c/templates/a.yaml"}},
		"what is no object":              {minimal(files{"a.yaml": "a: b"}), "", []string{"c/templates/a.yaml: ", "apiVersion"}},
		"two of a name":                  {minimal(files{"a.yaml": object, "b.yaml": object}), "", []string{"is defined twice, in c/templates/a.yaml and in c/templates/b.yaml"}},
		"a chart of no version":          {files{"Chart.yaml": "apiVersion: v2\nname: c\n"}, "", []string{"Chart.yaml: ", "version"}},
		"a chart that is no YAML":        {files{"Chart.yaml": "a: b: c"}, "", []string{"cannot load Chart.yaml"}},
		"a chart for another Kubernetes": {with(minimal(nil), files{"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\nkubeVersion: '>=9.0.0'\n"}), "", []string{"the chart is for Kubernetes >=9.0.0"}},
		"a library":                      {with(minimal(nil), files{"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\ntype: library\n"}), "", []string{"library chart"}},
		"a dependency that is not there": {with(minimal(nil), files{"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\ndependencies: [{name: d, version: 1.0.0, repository: 'https://example.com'}]\n"}), "", []string{"its dependency d is not in its folder charts", "helm dependency build"}},
		"a value that the schema forbids": {
			with(minimal(nil), files{"values.schema.json": `{"properties": {"size": {"type": "integer"}}}`}), "values: {size: text}",
			[]string{"the values of chart c are not what its values.schema.json allows", "'/size'", "want integer"},
		},
		"a value that the schema of a subchart forbids": {
			with(minimal(nil), files{"charts/s/Chart.yaml": "apiVersion: v2\nname: s\nversion: 0.1.0\n", "charts/s/values.schema.json": `{"required": ["size"]}`}),
			"values: {s: {m: 1}}", []string{"the values of chart c/charts/s are not"},
		},
		"a version of Kubernetes that is none": {minimal(nil), "kubeVersion: x", []string{`kubeVersion "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FromSpec(t.Context(), tc.chart.fs(), chartSpec(t, tc.helm), Inputs{Namespace: "apps", Name: "web"})
			if err == nil || !got.IsZero() {
				t.Fatalf("render %s and error %v", got.Ref(), err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
}

func TestHostileChartsAreRefusedInBoundedTimeAndMemory(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.json")
	if err := os.WriteFile(outside, []byte(`{"type": "string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	schema := func(ref string) files {
		f := minimal(nil)
		f["values.schema.json"] = fmt.Sprintf(`{"properties": {"a": {"$ref": %q}}}`, ref)
		return f
	}
	for name, tc := range map[string]struct {
		chart files
		want  string
	}{
		"includes that never end":         {minimal(files{"a.yaml": `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`}), "nested reference name"},
		"templates that never end":        {minimal(files{"a.yaml": `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`}), "exceeded maximum template depth"},
		"more memory than there is":       {minimal(files{"a.yaml": `{{ range until 2000000000 }}{{ end }}`}), "did not end within 512 MiB of memory"},
		"more output than there may be":   {minimal(files{"a.yaml": `a: {{ repeat 52000000 "x" }}`}), "it makes more than 48 MiB"},
		"a schema that reads a file":      {schema("file://" + filepath.ToSlash(outside)), "nothing is fetched"},
		"a schema that calls the network": {schema("http://127.0.0.1:1/schema.json"), "refers to http://127.0.0.1:1/schema.json: copy it into the schema"},
		"values that explode":             {minimal(files{"../values.yaml": aliasBomb(30)}), "values.yaml"},
		"an archive that is none":         {minimal(files{"../charts/a.tgz": "no archive"}), "error unpacking subchart a.tgz"},
		"an archive that is a bomb":       {minimal(files{"../charts/a.tgz": tarGzip(t, "a/files/zeros", 1<<30)}), "error unpacking subchart a.tgz"},
		"an archive of what is outside":   {minimal(files{"../charts/a.tgz": tarGzip(t, "../../evil", 1)}), "error unpacking subchart a.tgz"},
	} {
		t.Run(name, func(t *testing.T) {
			chart := files{}
			for file, content := range tc.chart {
				chart[filepath.ToSlash(filepath.Clean(file))] = content
			}
			start := time.Now()
			got, err := FromSpec(t.Context(), chart.fs(), chartSpec(t, "values: {a: text}"), Inputs{Name: "web"})
			if took := time.Since(start); took > buildTime {
				t.Errorf("took %s", took)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !got.IsZero() {
				t.Errorf("render %s and error %.500v, want %q", got.Ref(), err, tc.want)
			}
		})
	}
}

// tarGzip is an archive with one file of zeros.
func tarGzip(t testing.TB, name string, zeros int64) string {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: zeros, Mode: 0o644})
	for written := int64(0); err == nil && written < zeros; {
		var n int
		n, err = w.Write(make([]byte, min(zeros-written, 1<<20)))
		written += int64(n)
	}
	if err = errors.Join(err, w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestValuesThatExplodeAreRefused(t *testing.T) {
	for name, values := range map[string]string{"aliases": aliasBomb(30), "an anchor in itself": "a: &a {b: *a}\n"} {
		start := time.Now()
		in := Inputs{Name: "web", Values: []Values{{From: "ConfigMap apps/values", YAML: []byte(values)}}}
		got, err := FromSpec(t.Context(), minimal(files{"a.yaml": "{{ .Values }}"}).fs(), v1alpha1.ReleaseSpec{}, in)
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "ConfigMap apps/values") || !got.IsZero() || took > buildTime {
			t.Errorf("%s: after %s: render %s and error %.500v", name, took, got.Ref(), err)
		}
	}
}

func TestAnErrorOfTheMachineIsToldFromOneOfTheTemplates(t *testing.T) {
	for template, want := range map[string]bool{`{{ range until 2000000000 }}{{ end }}`: true, `{{ fail "no" }}`: false} {
		_, err := FromSpec(t.Context(), minimal(files{"a.yaml": template}).fs(), v1alpha1.ReleaseSpec{}, Inputs{Name: "web"})
		if err == nil || errors.Is(err, ErrUnfinished) != want {
			t.Errorf("%s: error %v, unfinished %t, want %t", template, err, !want, want)
		}
	}
}

func TestARenderWithoutObjectsHasToBeAllowed(t *testing.T) {
	chart := minimal(files{"a.yaml": "{{/* nothing */}}"})
	if r, err := FromSpec(t.Context(), chart.fs(), v1alpha1.ReleaseSpec{}, Inputs{Name: "web"}); err == nil || !r.IsZero() ||
		!strings.Contains(err.Error(), "set spec.allowEmpty") {
		t.Errorf("render %s and error %v", r.Ref(), err)
	}
	if r, err := FromSpec(t.Context(), chart.fs(), v1alpha1.ReleaseSpec{AllowEmpty: true}, Inputs{Name: "web"}); err != nil || r.IsZero() || r.Len() != 0 {
		t.Errorf("allowed: render %s and error %v", r.Ref(), err)
	}
}

// TestTemplatesThatNeverEndAreKilled does not wait for the deadline of its own: the one of the caller ends it too.
func TestTemplatesThatNeverEndAreKilled(t *testing.T) {
	nested := strings.Repeat("{{ range $x }}", 12) + strings.Repeat("{{ end }}", 12)
	chart := minimal(files{"a.yaml": "{{ $x := until 1000 }}" + nested})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := FromSpec(ctx, chart.fs(), v1alpha1.ReleaseSpec{}, Inputs{Name: "web"})
	if err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) || time.Since(started) > chartTemplates.time/2 {
		t.Errorf("error %v after %s", err, time.Since(started))
	}
}

func TestTemplatesSeeNothingOfTheMachine(t *testing.T) {
	t.Setenv("CONVOY_TEST_SECRET", "hunter2")
	chart := minimal(files{"a.yaml": `{{ env "CONVOY_TEST_SECRET" }}`})
	if _, err := FromSpec(t.Context(), chart.fs(), v1alpha1.ReleaseSpec{}, Inputs{Name: "web"}); err == nil ||
		!strings.Contains(err.Error(), `function "env" not defined`) {
		t.Errorf("error %v", err)
	}
	chart = minimal(files{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .Files.Get \"../../etc/hostname\" }}{{ .Files.Get \"/etc/hostname\" }}'}\n"})
	got, err := FromSpec(t.Context(), chart.fs(), v1alpha1.ReleaseSpec{}, Inputs{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if data := objectsIn(t, got)[ObjectID{Kind: "ConfigMap", Name: "a"}]["data"]; !cmp.Equal(data, map[string]any{"a": ""}) {
		t.Errorf("data %v", data)
	}
}

func TestErrorsOfChartsHoldNoSecretValue(t *testing.T) {
	secret := "correct-horse-battery"
	in := Inputs{Name: "web", Values: []Values{{From: "Secret apps/values", YAML: []byte("db: {password: " + secret + "}")}}}
	for name, template := range map[string]string{
		"fail":     `{{ fail .Values.db.password }}`,
		"no YAML":  "a: {{ .Values.db.password }}: {{ .Values.db.password }}",
		"encoded":  `{{ fail (.Values.db.password | b64enc) }}`,
		"in a map": `{{ fail (toYaml .Values) }}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FromSpec(t.Context(), minimal(files{"a.yaml": template}).fs(), v1alpha1.ReleaseSpec{}, in)
			encoded := base64.StdEncoding.EncodeToString([]byte(secret))
			if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), encoded) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestChartsAreFoundByTheirFile(t *testing.T) {
	both := minimal(nil)
	both["kustomization.yaml"] = "resources: []\n"
	for name, tc := range map[string]struct {
		files files
		want  bool
	}{
		"a chart": {minimal(nil), true}, "a chart with a kustomization": {both, true}, "a kustomization": {files{"kustomization.yaml": ""}, false},
		"manifests": {files{"a.yaml": ""}, false},
	} {
		if got, err := IsChart(tc.files.fs(), "", v1alpha1.RenderSpec{}); err != nil || got != tc.want {
			t.Errorf("%s: %t and error %v, want %t", name, got, err, tc.want)
		}
	}
}

func TestChartFilesStayInTheSource(t *testing.T) {
	chart := fstest.MapFS{
		"c/Chart.yaml":      {Data: []byte("apiVersion: v2\nname: c\nversion: 0.1.0\n")},
		"c/templates/a":     {Data: []byte("../../../etc/hostname"), Mode: os.ModeSymlink | 0o777},
		"shared/tpl/_h.tpl": {Data: []byte(`{{ define "name" }}shared{{ end }}`)},
	}
	spec := v1alpha1.ReleaseSpec{Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Path: "c"}}}
	if _, err := FromSpec(t.Context(), chart, spec, Inputs{Name: "web"}); err == nil || !strings.Contains(err.Error(), "leaves the source") {
		t.Errorf("error %v", err)
	}
	chart["c/templates/a"] = &fstest.MapFile{Data: []byte("../../shared/tpl"), Mode: os.ModeSymlink | 0o777}
	chart["c/templates/b.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ include \"name\" . }}'}\n")}
	got, err := FromSpec(t.Context(), chart, spec, Inputs{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if ids := slices.Collect(maps.Keys(objectsIn(t, got))); len(ids) != 1 || ids[0].Name != "shared" {
		t.Errorf("objects %v", ids)
	}
}
