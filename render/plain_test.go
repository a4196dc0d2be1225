package render

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// files is a source, by path.
type files map[string]string

func (f files) fs() fs.FS {
	tree := fstest.MapFS{}
	for name, content := range f {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

func (f files) build(t testing.TB, renderType v1alpha1.RenderType, dir string) (Render, error) {
	t.Helper()
	return Build(t.Context(), f.fs(), dir, v1alpha1.RenderSpec{Type: renderType})
}

func (f files) mustBuild(t testing.TB, renderType v1alpha1.RenderType, dir string) Render {
	t.Helper()
	r, err := f.build(t, renderType, dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// manifest is a ConfigMap in YAML.
func manifest(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func TestPlainReadsEveryManifestOfTheFolder(t *testing.T) {
	source := files{
		"README.md":                "not read: {",
		"app/a.yaml":               manifest("a"),
		"app/b.yml":                "---\n# a comment\n---\n" + manifest("b") + "--- # another\n" + manifest("c") + "---\n",
		"app/d.json":               `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}}`,
		"app/sub/sub/e.yaml":       manifest("e"),
		"app/stream.json":          `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"f"}} {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"g"}}`,
		"app/json.yaml":            "{\n\t\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"h\"}}\n",
		"app/crlf.yaml":            strings.ReplaceAll(manifest("i")+"---\n"+manifest("j"), "\n", "\r\n"),
		"app/mark.yaml":            "\ufeff---\n" + manifest("k"),
		"app/end.yaml":             manifest("l") + "...\n" + manifest("m"),
		"app/comments.yaml":        "# nothing\n\n  # here\n",
		"app/empty.yaml":           "",
		"app/empty.json":           "",
		"app/null.yaml":            "null\n",
		"app/notes.txt":            "not read",
		"app/UPPER.YAML":           "not read",
		"app/.hidden.yaml":         manifest("hidden"),
		"app/.github/ci.yaml":      "on: push",
		"other/outside.yaml":       manifest("outside"),
		"app/list.yaml":            "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: z}\n",
		"app/charts/x/values.yaml": "# comment only",
	}
	want := []string{}
	for _, name := range strings.Split("abcdefghijklmz", "") {
		want = append(want, "ConfigMap "+name)
	}
	if diff := cmp.Diff(want, identities(t, source.mustBuild(t, v1alpha1.RenderPlain, "app"))); diff != "" {
		t.Error(diff)
	}
}

func TestPlainReadsYAMLAsKubectlDoes(t *testing.T) {
	for name, tc := range map[string]struct{ yaml, want string }{
		"integers above 2^53":          {"9007199254740993", "9007199254740993"},
		"the largest integer":          {"9223372036854775807", "9223372036854775807"},
		"integers above 64 bits":       {"18446744073709551616", "18446744073709552000"},
		"a million":                    {"1000000", "1000000"},
		"a float with an exponent":     {"1e6", "1000000"},
		"a float that is whole":        {"1.0", "1"},
		"a float":                      {"0.1", "0.1"},
		"minus zero":                   {"-0.0", "0"},
		"octal":                        {"0o644", "420"},
		"octal as of YAML 1.1":         {"0644", "420"},
		"y is true, n is false":        {"[y, n]", "[true,false]"},
		"keys that are not text":       {"{8080: a, true: b, 1.5: c}", `{"1.5":"c","8080":"a","true":"b"}`},
		"yes is true":                  {"yes", "true"},
		"quoted yes is text":           {`"yes"`, `"yes"`},
		"a date is text":               {"2026-11-29", `"2026-11-29"`},
		"a key that is a number":       {"{1: a}", `{"1":"a"}`},
		"an alias":                     {"[&a {b: c}, *a]", `[{"b":"c"},{"b":"c"}]`},
		"a merge":                      {"{base: &b {c: 1, d: 2}, derived: {<<: *b, d: 3}}", `{"base":{"c":1,"d":2},"derived":{"c":1,"d":3}}`},
		"null":                         {"~", "null"},
		"a block of text with ---":     {"|\n  a\n  ---\n  b\n", `"a\n---\nb\n"`},
		"characters outside of ASCII":  {`"\u00e9 é 😀"`, `"é é 😀"`},
		"an empty string":              {`""`, `""`},
		"a text that looks like HTML":  {"<b>&amp;</b>", `"<b>&amp;</b>"`},
		"a star and an ampersand":      {"'a & b * c'", `"a & b * c"`},
		"something like an alias only": {"' &a *a '", `" &a *a "`},
	} {
		t.Run(name, func(t *testing.T) {
			source := files{"a.yaml": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec: " + tc.yaml + "\n"}
			want := `[{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"},"spec":` + tc.want + `}]`
			if diff := cmp.Diff(want, string(source.mustBuild(t, v1alpha1.RenderPlain, "").Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlainErrorsNameFileDocumentAndLine(t *testing.T) {
	json := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	for name, tc := range map[string]struct {
		source files
		want   string
	}{
		"broken YAML": {
			files{"a.yaml": "kind: a\n b: c\n"},
			"a.yaml: line 2: mapping values are not allowed in this context",
		},
		"broken YAML in a later document": {
			files{"sub/a.yaml": manifest("a") + "---\n# comment\n" + "kind: a\n b: c\n"},
			"sub/a.yaml, document 2: line 8: mapping values are not allowed in this context",
		},
		"a tab": {
			files{"a.yaml": "kind: a\nmetadata:\n\tname: x\n"},
			"a.yaml: line 3: found character that cannot start any token",
		},
		"a key twice": {
			files{"a.yaml": manifest("a") + "data:\n  a: b\n  c: d\n  a: e\n"},
			`a.yaml: line 8: key "a" is there twice`,
		},
		"two keys that are the same text": {
			files{"a.yaml": manifest("a") + "data:\n  1: b\n  \"1\": d\n"},
			`a.yaml: line 7: key "1" is there twice`,
		},
		"two keys that become the same text": {
			files{"a.yaml": manifest("a") + "data:\n  0x1: b\n  \"1\": d\n"},
			"a.yaml: line 1: two keys of a mapping become the same text, such as 0x1 and 1: put them in quotes",
		},
		"a key twice in JSON": {
			files{"a.json": json + "\n" + `{"kind":"ConfigMap","metadata":{"name":"a","name":"b"}}`},
			`a.json, document 2: line 2: duplicate field "metadata.name"`,
		},
		"broken JSON": {
			files{"a.json": json + "\n{\n  \"kind\": oops}"},
			"a.json: line 3, column 11: is not valid JSON",
		},
		"a number that JSON has not": {
			files{"a.yaml": manifest("a") + "data: {a: .inf}\n"},
			"a.yaml: line 1: a number is infinite, or not a number: JSON has no such value",
		},
		"a JSON number out of range": {
			files{"a.json": `{"kind":1e999}`},
			"a.json: line 1: is not valid JSON",
		},
		"values for something else": {
			files{"values.yaml": "replicas: 1\n"},
			"values.yaml: not a Kubernetes object: it needs both apiVersion and kind",
		},
		"a list at the top": {
			files{"a.yaml": "- a\n"},
			"a.yaml: line 1: not a Kubernetes object: want a mapping, not a list",
		},
		"text at the top": {
			files{"a.yaml": manifest("a") + "---\nhello\n"},
			"a.yaml, document 2: line 6: not a Kubernetes object: want a mapping, not a single value",
		},
		"no name": {
			files{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: a\n"},
			"a.yaml: ConfigMap: metadata.name is missing",
		},
		"an item without a name": {
			files{"a.yaml": "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: a}\n- {}\n"},
			"a.yaml, item 2: Secret: metadata.name is missing",
		},
		"the same object twice": {
			files{"b.yaml": manifest("x"), "sub/a.yaml": manifest("z") + "---\n" + manifest("x")},
			"ConfigMap x is defined twice, in b.yaml and in sub/a.yaml, document 2: keep one of them",
		},
		"text after a separator": {
			files{"a.yaml": manifest("a") + "--- hunter2\n"},
			"a.yaml: line 5: only a comment may follow ---: move the content to the next line",
		},
		"a separator that is none": {
			files{"a.yaml": "-----BEGIN CERTIFICATE-----\n"},
			"a.yaml: line 1: only a comment may follow ---: move the content to the next line",
		},
		"UTF-16": {
			files{"a.yaml": "\xff\xfek\x00"},
			"a.yaml: is not UTF-8 text: save it as UTF-8",
		},
		"a kustomization": {
			files{"a.yaml": manifest("a"), "overlay/kustomization.yaml": "resources: []\n"},
			"overlay/kustomization.yaml: is a kustomization, but the folder is rendered as Plain: " +
				"point the path at the folder of the kustomization, or move the file out",
		},
		"an unsupported key": {
			files{"a.yaml": manifest("a") + "data:\n  ? [a]\n  : b\n"},
			"a.yaml: line 1: a mapping key must be a string",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.source.build(t, v1alpha1.RenderPlain, "")
			wantError(t, err, tc.want)
		})
	}
}

func TestAutoIsKustomizeWhereThereIsAKustomization(t *testing.T) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		t.Run(name, func(t *testing.T) {
			source := files{"app/" + name: "namePrefix: my-\nresources: [a.yaml]\n", "app/a.yaml": manifest("a"), "app/b.yaml": manifest("b")}
			for _, renderType := range []v1alpha1.RenderType{v1alpha1.RenderAuto, v1alpha1.RenderKustomize, ""} {
				if diff := cmp.Diff([]string{"ConfigMap my-a"}, identities(t, source.mustBuild(t, renderType, "app"))); diff != "" {
					t.Errorf("type %q: %s", renderType, diff)
				}
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		source := files{"app/a.yaml": manifest("a"), "kustomization.yaml": "namePrefix: my-\nresources: [app/a.yaml]\n"}
		if diff := cmp.Diff([]string{"ConfigMap a"}, identities(t, source.mustBuild(t, v1alpha1.RenderAuto, "app"))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a folder of that name", func(t *testing.T) {
		source := files{"app/Kustomization/a.yaml": manifest("a")}
		if diff := cmp.Diff([]string{"ConfigMap a"}, identities(t, source.mustBuild(t, v1alpha1.RenderAuto, "app"))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRenderTypeIsOneOfFour(t *testing.T) {
	_, err := files{"a.yaml": manifest("a")}.build(t, "Jsonnet", "")
	wantError(t, err, `render type "Jsonnet": want Auto, Plain, Kustomize or Helm`)
	_, err = files{"a.yaml": manifest("a")}.build(t, v1alpha1.RenderHelm, "")
	wantError(t, err, "Chart.yaml: Chart.yaml file is missing")
}

func TestPathIsAFolderOfTheSource(t *testing.T) {
	source := files{"a.yaml": manifest("a"), "app/b.yaml": manifest("b")}
	for _, dir := range []string{"", ".", "./", "app/.."} {
		if diff := cmp.Diff([]string{"ConfigMap a", "ConfigMap b"}, identities(t, source.mustBuild(t, "", dir))); diff != "" {
			t.Errorf("path %q: %s", dir, diff)
		}
	}
	for _, dir := range []string{"app", "./app", "app/"} {
		if diff := cmp.Diff([]string{"ConfigMap b"}, identities(t, source.mustBuild(t, "", dir))); diff != "" {
			t.Errorf("path %q: %s", dir, diff)
		}
	}
	for dir, want := range map[string]string{
		"none":       `path "none" does not exist in the source`,
		"a.yaml":     `path "a.yaml" is a file: want the folder that holds it`,
		"a.yaml/b":   `path "a.yaml/b" does not exist in the source`,
		"..":         `path "..": want a folder of the source, relative to its root`,
		"app/../..":  `path "app/../..": want a folder of the source, relative to its root`,
		"/app":       `path "/app": want a folder of the source, relative to its root`,
		"../app":     `path "../app": want a folder of the source, relative to its root`,
		"a\x00b":     "path \"a\\x00b\" does not exist in the source",
		"app\\b":     `path "app\\b" does not exist in the source`,
		"app/b.yaml": `path "app/b.yaml" is a file: want the folder that holds it`,
	} {
		_, err := source.build(t, "", dir)
		wantError(t, err, want)
	}
}

func TestAFolderWithoutManifestsIsAnEmptyRender(t *testing.T) {
	r := files{"app/README.md": "nothing"}.mustBuild(t, v1alpha1.RenderAuto, "app")
	if want := mustNew(t).Ref(); r.Ref() != want {
		t.Errorf("ref %s, want %s", r.Ref(), want)
	}
}

func TestHowFilesAreSplitDoesNotChangeTheRef(t *testing.T) {
	a, b, c := manifest("a"), manifest("b"), manifest("c")
	want := files{"all.yaml": a + "---\n" + b + "---\n" + c}.mustBuild(t, "", "").Ref()
	for name, source := range map[string]files{
		"one file each":     {"a.yaml": a, "b.yaml": b, "c.yaml": c},
		"other names":       {"z.yaml": a, "y/x.yml": b, "0.yaml": c},
		"another order":     {"all.yaml": c + "---\n" + a + "---\n" + b},
		"a list":            {"all.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: c}\n- metadata: {name: a}\n- metadata: {name: b}\n"},
		"JSON":              {"a.json": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, "b.yaml": b + "---\n" + c},
		"a kustomization":   {"kustomization.yaml": "resources: [c.yaml, a.yaml, b.yaml]", "a.yaml": a, "b.yaml": b, "c.yaml": c},
		"comments and keys": {"all.yaml": "# x\nkind: ConfigMap # y\nmetadata: {name: a}\napiVersion: v1\nstatus: {}\n---\n" + b + "---\n" + c},
	} {
		if got := source.mustBuild(t, "", "").Ref(); got != want {
			t.Errorf("%s: ref %s, want %s", name, got, want)
		}
	}
	if other := (files{"all.yaml": a + "---\n" + b}).mustBuild(t, "", "").Ref(); other == want {
		t.Error("other objects have the same ref")
	}
}

func TestOrderOfFilesDoesNotChangeTheError(t *testing.T) {
	source := files{}
	for i := range 20 {
		source[fmt.Sprintf("%02d.yaml", i)] = "broken: [\n"
	}
	for range 20 {
		_, err := source.build(t, "", "")
		wantError(t, err, "00.yaml: line 1: did not find expected node content")
	}
}
