package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {app: app}}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - {name: app, image: "example.com/app:1"}
`

// inMemory is a source as kustomize's own file system.
func (f files) inMemory(t testing.TB) filesys.FileSystem {
	t.Helper()
	fsys := filesys.MakeFsInMemory()
	for name, content := range f {
		if err := fsys.WriteFile("/"+name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	return fsys
}

// everything uses most of what a kustomization can do.
var everything = files{
	"base/kustomization.yaml": "resources: [deployment.yaml, job.yaml, config.yaml]\nconfigMapGenerator:\n- name: env\n  envs: [app.env]\n  files: [key=app.ini]\n",
	"base/deployment.yaml":    deployment,
	"base/job.yaml":           "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec: {template: {spec: {containers: [{name: c, image: example.com/job}]}}}\n",
	"base/config.yaml":        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: one}\n  apiVersion: v1\n  kind: ConfigMap\n  data: {big: \"x\"}\n",
	"base/app.env":            "A=1\nB=2\n",
	"base/app.ini":            "[x]\ny = { # no YAML\n",
	"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
		"patches:\n- path: patch.json\n  target: {kind: Deployment}\n",
	"component/patch.json":                  `[{"op":"add","path":"/metadata/annotations","value":{"emoji":"\ud83d\ude00","big":"9007199254740993"}}]`,
	"overlays/prod/sm.yaml":                 "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\n$patch: delete\n",
	"overlays/prod/transformer.yaml":        "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: x}\nannotations: {docs: \"https://example.com/\"}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n",
	"overlays/prod/more/kustomization.yaml": "resources: [suffix.yaml]\n",
	"overlays/prod/more/suffix.yaml":        "apiVersion: builtin\nkind: PrefixSuffixTransformer\nmetadata: {name: y}\nsuffix: -s\nfieldSpecs: [{path: metadata/name}]\n",
	"overlays/prod/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: prod
namePrefix: my-
nameSuffix: -x
resources: [../../base]
components: [../../component]
images: [{name: example.com/app, newTag: "2"}]
replicas: [{name: app, count: 3}]
labels: [{pairs: {team: a}, includeSelectors: true}]
commonAnnotations: {number: "1"}
generatorOptions: {labels: {generated: "true"}}
secretGenerator:
- name: token
  literals: [token=hunter2]
replacements:
- source: {kind: Deployment, name: app, fieldPath: metadata.name}
  targets: [{select: {kind: ConfigMap, name: one}, fieldPaths: [data.big]}]
patches:
- path: sm.yaml
- target: {kind: Deployment}
  patch: |-
    - op: add
      path: /spec/template/spec/containers/0/env
      value: [{name: BIG, value: "1"}]
transformers:
- transformer.yaml
- |-
  apiVersion: builtin
  kind: NamespaceTransformer
  metadata: {name: z, namespace: prod2}
  unsetOnly: true
`,
}

func TestKustomizeMakesWhatKustomizeItselfMakes(t *testing.T) {
	got := renderByIdentity(t, everything.fs(), "overlays/prod")
	if diff := cmp.Diff(kustomizeMakes(t, everything.inMemory(t), "/overlays/prod"), got); diff != "" {
		t.Error(diff)
	}
	if len(got) != 4 {
		t.Errorf("%d objects, want a Deployment, two ConfigMaps and a Secret", len(got))
	}
}

func TestKustomizeLeavesNoAnnotationsOfItsOwn(t *testing.T) {
	for dir, source := range map[string]files{
		"overlays/prod": everything,
		"k": {
			"k/kustomization.yaml": "resources: [list.yaml, two.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '[{\"op\":\"add\",\"path\":\"/metadata/annotations/x\",\"value\":\"y\"}]'\n",
			"k/list.yaml":          "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {a: b}}}\n",
			"k/two.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {a: b}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {a: b}}\n",
		},
	} {
		r := source.mustBuild(t, v1alpha1.RenderKustomize, dir)
		if r.Len() < 3 {
			t.Fatalf("%s: %d objects", dir, r.Len())
		}
		if strings.Contains(string(r.Bytes()), "config.k8s.io") || strings.Contains(string(r.Bytes()), "config.kubernetes.io") {
			t.Errorf("%s: an annotation of kustomize is left in %s", dir, r.Bytes())
		}
	}
}

func TestKustomizeLeavesOutLocalConfiguration(t *testing.T) {
	source := files{
		"kustomization.yaml": "resources: [a.yaml]\n",
		"a.yaml":             manifest("a") + "---\n" + manifest("local") + "  annotations: {config.kubernetes.io/local-config: \"true\"}\n",
	}
	if diff := cmp.Diff([]string{"ConfigMap a"}, identities(t, source.mustBuild(t, "", ""))); diff != "" {
		t.Error(diff)
	}
}

func TestKustomizeKeepsNumbers(t *testing.T) {
	source := files{
		"kustomization.yaml": "resources: [a.yaml]\nlabels: [{pairs: {a: b}}]\n",
		"a.yaml":             "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec: [9007199254740993, 9223372036854775807, 1000000, 1e6, 0.1, 1.0, -0.0, 0644, \"1\"]\n",
	}
	want := `[{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"labels":{"a":"b"},"name":"x"},` +
		`"spec":[9007199254740993,9223372036854775807,1000000,1000000,0.1,1,0,420,"1"]}]`
	if diff := cmp.Diff(want, string(source.mustBuild(t, "", "").Bytes())); diff != "" {
		t.Error(diff)
	}
}

func TestBasesMayBeAnywhereInTheSource(t *testing.T) {
	source := files{
		"base/kustomization.yaml":            "resources: [a.yaml]\n",
		"base/a.yaml":                        manifest("a"),
		"kustomization.yaml":                 "resources: [base]\n",
		"teams/x/overlay/kustomization.yaml": "resources: [../../../base]\nnamePrefix: x-\n",
	}
	for dir, want := range map[string]string{"": "ConfigMap a", "teams/x/overlay": "ConfigMap x-a"} {
		if diff := cmp.Diff([]string{want}, identities(t, source.mustBuild(t, "", dir))); diff != "" {
			t.Errorf("%q: %s", dir, diff)
		}
	}
}

func TestKustomizationErrorsNameTheFileAndTheEntry(t *testing.T) {
	for name, tc := range map[string]struct {
		source files
		want   string
	}{
		"a file that is not there": {
			files{"app/kustomization.yaml": "resources: [a.yaml]\n"},
			`app/kustomization.yaml: resources: "a.yaml" does not exist`,
		},
		"a base that is not there": {
			files{"app/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": "resources: [../none]\n"},
			`base/kustomization.yaml: resources: "../none" does not exist`,
		},
		"a patch that is not there": {
			files{"app/kustomization.yaml": "patches: [{path: p.yaml}]\n"},
			`app/kustomization.yaml: patches: "p.yaml" does not exist`,
		},
		"a file of a generator that is not there": {
			files{"app/kustomization.yaml": "configMapGenerator: [{name: x, files: [a=b.txt]}]\n"},
			`app/kustomization.yaml: configMapGenerator "x": "b.txt" does not exist`,
		},
		"a path out of the source": {
			files{"app/kustomization.yaml": "resources: [../../base]\n", "base/kustomization.yaml": "resources: []\n"},
			`app/kustomization.yaml: resources: "../../base" leaves the source: name a file in it`,
		},
		"an absolute path": {
			files{"app/kustomization.yaml": "resources: [/app/a.yaml]\n", "app/a.yaml": manifest("a")},
			`app/kustomization.yaml: resources: "/app/a.yaml" leaves the source: name a file in it`,
		},
		"a file outside of the kustomization's folder": {
			files{"app/kustomization.yaml": "resources: [../a.yaml]\n", "a.yaml": manifest("a")},
			"kustomization in app: accumulating resources: accumulating resources from '../a.yaml': security; file '/a.yaml' is not in or below '/app'",
		},
		"broken YAML": {
			files{"app/kustomization.yaml": "resources: [\n"},
			"app/kustomization.yaml: line 1: did not find expected node content",
		},
		"a field that kustomize has not": {
			files{"app/kustomization.yaml": "resource: [a.yaml]\n"},
			`app/kustomization.yaml: unknown field "resource"`,
		},
		"a field of another type": {
			files{"app/kustomization.yaml": "resources: {a: b}\n"},
			`app/kustomization.yaml: field "resources" cannot hold a value of type object`,
		},
		"a field twice": {
			files{"app/kustomization.yaml": "namePrefix: a\nnamePrefix: b\n"},
			`app/kustomization.yaml: line 2: key "namePrefix" is there twice`,
		},
		"broken YAML in a resource": {
			files{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": manifest("a") + "---\na: b\n c: d\n"},
			"app/a.yaml, document 2: line 7: mapping values are not allowed in this context",
		},
		"broken YAML in an inline patch": {
			files{"app/kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n    a: b\n     c: d\n", "app/a.yaml": manifest("a")},
			"app/kustomization.yaml: patches[0]: line 2: mapping values are not allowed in this context",
		},
		"no kustomization": {
			files{"app/a.yaml": manifest("a")},
			"kustomization in app: unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '/app'",
		},
		"two kustomizations": {
			files{"app/kustomization.yaml": "namePrefix: a\n", "app/kustomization.yml": "namePrefix: a\n"},
			"kustomization in app: Found multiple kustomization files under: /app",
		},
		"a resource without a name": {
			files{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": "apiVersion: v1\nkind: ConfigMap\n"},
			"app/a.yaml: line 1: ConfigMap: metadata.name is missing",
		},
		"the same object in two versions": {
			files{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": deployment + "---\n" + strings.ReplaceAll(deployment, "apps/v1", "apps/v1beta1")},
			"Deployment.apps app is defined twice, in kustomization in app and in kustomization in app: keep one of them",
		},
		"a cycle": {
			files{"app/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../app]\n"},
			"kustomization in app: accumulating resources: accumulation err='accumulating resources from '../b': '/b' must resolve to a file': " +
				"recursed accumulation of path '/b': accumulating resources: accumulation err='accumulating resources from '../app': " +
				"'/app' must resolve to a file': cycle detected: candidate root '/app' contains visited root '/app'",
		},
		"helmCharts": {
			files{"app/kustomization.yaml": "helmCharts: [{name: x, repo: \"https://example.com\"}]\n"},
			"app/kustomization.yaml: helmCharts: charts are not rendered in a kustomization: render the chart and commit what it makes",
		},
		"helmChartInflationGenerator": {
			files{"app/kustomization.yaml": "helmChartInflationGenerator: [{chartName: x}]\n"},
			"app/kustomization.yaml: helmCharts: charts are not rendered in a kustomization: render the chart and commit what it makes",
		},
		"a chart as a generator": {
			files{"app/kustomization.yaml": "generators: [g.yaml]\n", "app/g.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\nname: x\n"},
			"app/g.yaml: HelmChartInflationGenerator: charts are not rendered in a kustomization: render the chart and commit what it makes",
		},
		"a plugin": {
			files{"app/kustomization.yaml": "transformers: [t.yaml]\n", "app/t.yaml": "apiVersion: example.com/v1\nkind: Mine\nmetadata: {name: x}\n"},
			"kustomization in app: external plugins disabled; unable to load external plugin 'Mine'",
		},
		"a function": {
			files{"app/kustomization.yaml": "transformers: [t.yaml]\n", "app/t.yaml": "apiVersion: example.com/v1\nkind: Mine\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/sh}\n"},
			"kustomization in app: external plugins disabled; unable to load external plugin 'Mine'",
		},
		"transformers that are transformed": {
			files{
				"app/kustomization.yaml": "transformers: [t]\n", "app/t/kustomization.yaml": "resources: [../u]\n",
				"app/u/kustomization.yaml": "resources: [t.yaml]\nnamePrefix: x\n", "app/u/t.yaml": manifest("a"),
			},
			"app/u/kustomization.yaml: a kustomization of generators, transformers or validators may have only resources",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.source.build(t, v1alpha1.RenderKustomize, "app")
			wantError(t, err, tc.want)
		})
	}
}

func TestTransformersInAFolderWork(t *testing.T) {
	source := files{
		"kustomization.yaml":     "resources: [a.yaml]\ntransformers: [t]\n",
		"a.yaml":                 manifest("a"),
		"t/kustomization.yaml":   "resources: [u, p.yaml]\n",
		"t/p.yaml":               "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: x}\nprefix: p-\nfieldSpecs: [{path: metadata/name}]\n",
		"t/u/kustomization.yaml": "resources: [s.yaml]\n",
		"t/u/s.yaml":             "apiVersion: builtin\nkind: SuffixTransformer\nmetadata: {name: x}\nsuffix: -s\nfieldSpecs: [{path: metadata/name}]\n",
	}
	if diff := cmp.Diff([]string{"ConfigMap p-a-s"}, identities(t, source.mustBuild(t, "", ""))); diff != "" {
		t.Error(diff)
	}
}

func TestSymbolicLinksInAKustomization(t *testing.T) {
	source := files{
		"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": manifest("a"),
		"common/c.yaml": manifest("c"), "common/k.yaml": "resources: [c.yaml]\n",
	}
	for name, tc := range map[string]struct {
		source files
		links  map[string]string
		want   []string
	}{
		"to a resource": {
			files{"app/kustomization.yaml": "resources: [c.yaml]\n"}, map[string]string{"app/c.yaml": "../common/c.yaml"}, []string{"ConfigMap c"},
		},
		"to a base": {
			files{"app/kustomization.yaml": "resources: [b]\n"}, map[string]string{"app/b": "../base"}, []string{"ConfigMap a"},
		},
		"a kustomization file": {
			files{"app/c.yaml": manifest("mine")}, map[string]string{"app/kustomization.yaml": "../common/k.yaml"}, []string{"ConfigMap mine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := files{}
			for _, part := range []files{source, tc.source} {
				for file, content := range part {
					all[file] = content
				}
			}
			r, err := Build(t.Context(), onDisk(t, all, tc.links), "app", v1alpha1.RenderSpec{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, identities(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, tc := range map[string]struct {
		kustomization string
		link, target  string
		want          string
	}{
		"a resource outside": {"resources: [x.yaml]\n", "app/x.yaml", "/etc/hostname", "app/kustomization.yaml: resources: app/x.yaml: is a symbolic link that leaves the source, to /etc/hostname: commit the file itself"},
		"a base outside":     {"resources: [x]\n", "app/x", "../../etc", "app/kustomization.yaml: resources: app/x: is a symbolic link that leaves the source, to ../../etc: commit the file itself"},
		"a loop":             {"resources: [x]\n", "app/x", "../app", "kustomization in app: accumulating resources: accumulation err='accumulating resources from 'x': '/app/x' must resolve to a file': cycle detected: candidate root '/app' contains visited root '/app'"},
		"data outside":       {"secretGenerator: [{name: s, files: [k=x]}]\n", "app/x", "/etc/hostname", "app/kustomization.yaml: secretGenerator \"s\": app/x: is a symbolic link that leaves the source, to /etc/hostname: commit the file itself"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := onDisk(t, files{"app/kustomization.yaml": tc.kustomization}, map[string]string{tc.link: tc.target})
			_, err := Build(t.Context(), fsys, "app", v1alpha1.RenderSpec{})
			wantError(t, err, tc.want)
		})
	}
	t.Run("the kustomization outside", func(t *testing.T) {
		fsys := onDisk(t, files{"app/kustomization.yml": "namePrefix: x\n"}, map[string]string{"app/kustomization.yaml": "/etc/hostname"})
		_, err := Build(t.Context(), fsys, "app", v1alpha1.RenderSpec{Type: v1alpha1.RenderKustomize})
		wantError(t, err, "app/kustomization.yaml: is a symbolic link that leaves the source, to /etc/hostname: commit the file itself")
	})
}

func TestKustomizeHasLimits(t *testing.T) {
	many := func(count int) string {
		var all strings.Builder
		for i := range count {
			fmt.Fprintf(&all, "---\n%s", manifest(fmt.Sprintf("c%d", i)))
		}
		return all.String()
	}
	for name, tc := range map[string]struct {
		source files
		want   string
	}{
		"objects": {
			files{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": many(maxKustomizeObjects + 1)},
			"a.yaml, document 5001: the kustomization reads more objects than the limit of 5000: split the Release",
		},
		"objects of a list": {
			files{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- {}\n", maxKustomizeObjects+1)},
			"a.yaml: the kustomization reads more objects than the limit of 5000: split the Release",
		},
		"generators": {
			files{"kustomization.yaml": "configMapGenerator:\n" + strings.Repeat("- {name: a}\n", maxKustomizeObjects+1)},
			"kustomization.yaml: the kustomization reads more objects than the limit of 5000: split the Release",
		},
		"values": {
			files{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": manifest("a") + "data: [" + strings.Repeat("a,", maxKustomizeNodes) + "]"},
			"a.yaml: the kustomization reads more YAML than the limit of 1000000 values: split the Release",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.source.build(t, "", "")
			wantError(t, err, tc.want)
		})
	}
}
