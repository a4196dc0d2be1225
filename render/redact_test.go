package render

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const secretValue = "hunter2"

// brokenSecrets are manifests of a Secret, with its value in the place of VALUE, that do not build.
var brokenSecrets = map[string]string{
	"an alias":               "stringData: {password: *VALUE}",
	"an anchor in itself":    "stringData: &VALUE {password: *VALUE}",
	"a tag of another type":  "stringData: {password: !!int VALUE}",
	"a float":                "stringData: {password: !!float VALUE}",
	"a bool":                 "stringData: {password: !!bool VALUE}",
	"broken base64":          "data: {password: !!binary VALUE}",
	"a null key":             "stringData: {~: VALUE}",
	"a key that is a list":   "stringData: {[VALUE]: x}",
	"a value as a mapping":   "stringData:\n  password: VALUE: x",
	"an open quote":          "stringData:\n  password: \"VALUE",
	"another open quote":     "stringData:\n  password: 'VALUE",
	"a reserved character":   "stringData:\n  password: @VALUE",
	"another reserved":       "stringData:\n  password: `VALUE",
	"a directive":            "stringData:\n  password:\n%VALUE",
	"an unknown escape":      `stringData: {password: "\VALUE"}`,
	"a merge of text":        "stringData: {<<: VALUE}",
	"a tab":                  "stringData:\n\tpassword: VALUE",
	"bad indentation":        "stringData:\n  password: VALUE\n user: x",
	"a key twice":            "stringData:\n  password: VALUE\n  password: other",
	"text after a separator": "--- VALUE",
	"a block that ends":      "stringData:\n  password: |\n    a\n  VALUE\n  user: x",
	"an open brace":          "stringData: {password: VALUE",
	"an unknown tag":         "stringData: {password: !x!VALUE y}",
	"a list at the top":      "---\n- VALUE",
	"text at the top":        "---\nVALUE",
	"too deep":               "stringData: {password: " + strings.Repeat("[", 200) + "VALUE" + strings.Repeat("]", 200) + "}",
	"no name":                "metadata2: x\n---\nkind: Secret\napiVersion: v1\nstringData: {password: VALUE}",
	"the same twice":         "stringData: {password: VALUE}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: VALUE}",
	"infinite":               "stringData: {password: VALUE, other: .inf}",
	"an empty item":          "stringData: {password: VALUE}\nlist: [{a: b}, null]\nmetadata2: *x",
}

// wantNoSecret checks an error that must not hold the value, nor the value in base64.
func wantNoSecret(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("it builds, so it proves nothing")
	}
	for _, hidden := range []string{secretValue, base64.StdEncoding.EncodeToString([]byte(secretValue))} {
		if strings.Contains(err.Error(), hidden) {
			t.Errorf("the error holds the value of a Secret: %v", err)
		}
	}
	t.Log(err)
}

func TestErrorsNeverHoldTheValueOfASecret(t *testing.T) {
	for name, manifest := range brokenSecrets {
		manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + strings.ReplaceAll(manifest, "VALUE", secretValue) + "\n"
		t.Run(name+" in Plain", func(t *testing.T) {
			_, err := files{"s.yaml": manifest}.build(t, v1alpha1.RenderPlain, "")
			wantNoSecret(t, err)
		})
		t.Run(name+" in Kustomize", func(t *testing.T) {
			if name == "infinite" {
				manifest += "---\n{"
			}
			_, err := files{"s.yaml": manifest, "kustomization.yaml": "resources: [s.yaml]\n"}.build(t, v1alpha1.RenderAuto, "")
			wantNoSecret(t, err)
		})
		t.Run(name+" as a patch", func(t *testing.T) {
			kustomization := "resources: [a.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |\n    " + strings.ReplaceAll(manifest, "\n", "\n    ") + "\n"
			source := files{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: b, c: {d: e}}\n", "kustomization.yaml": kustomization}
			if _, err := source.build(t, v1alpha1.RenderAuto, ""); err != nil {
				wantNoSecret(t, err)
			}
		})
	}
	for name, manifest := range map[string]string{
		"no quotes":     `{"kind": "Secret", "stringData": {"password": VALUE}}`,
		"an open quote": `{"kind": "Secret", "stringData": {"password": "VALUE}}`,
		"an escape":     `{"kind": "Secret", "stringData": {"password": "\VALUE"}}`,
		"a key twice":   `{"kind": "Secret", "stringData": {"password": "VALUE", "password": "VALUE"}}`,
		"text":          `"VALUE"`,
		"more text":     `{} VALUE`,
	} {
		t.Run(name+" in JSON", func(t *testing.T) {
			_, err := files{"s.json": strings.ReplaceAll(manifest, "VALUE", secretValue)}.build(t, v1alpha1.RenderPlain, "")
			wantNoSecret(t, err)
		})
	}
}

func TestAnUnknownMessageOfAYAMLParserIsNotPassedOn(t *testing.T) {
	wantError(t, errYAML(3, errors.New("yaml: line 2: did not like `hunter2`")), "line 4: is not valid YAML")
	wantError(t, errYAML(3, errors.New("yaml: unmarshal errors:\n  line 2: hunter2\n  line 3: hunter2")), "line 4: is not valid YAML")
	wantError(t, errYAML(3, errors.New("hunter2")), "line 3: is not valid YAML")
}

func TestErrorsOfKustomizeNeverHoldTheValueOfASecret(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n"
	for name, source := range map[string]files{
		"a literal without a key":      {"kustomization.yaml": "secretGenerator: [{name: s, literals: [hunter2]}]\n"},
		"a literal with an empty key":  {"kustomization.yaml": "secretGenerator: [{name: s, literals: [=hunter2]}]\n"},
		"a literal twice":              {"kustomization.yaml": "secretGenerator: [{name: s, literals: [a=hunter2, a=hunter2]}]\n"},
		"no name":                      {"kustomization.yaml": "secretGenerator: [{literals: [\"a='hunter2'\"]}]\n"},
		"a literal as a file":          {"kustomization.yaml": "secretGenerator: [{name: s, files: [password=hunter2]}]\n"},
		"literals of another type":     {"kustomization.yaml": "secretGenerator: [{name: s, literals: {password: hunter2}}]\n"},
		"a literal of another type":    {"kustomization.yaml": "secretGenerator: [{name: s, literals: [{password: hunter2}]}]\n"},
		"an env file that is no text":  {"kustomization.yaml": "secretGenerator: [{name: s, envs: [e]}]\n", "e": "a=hunter2 \xff\n"},
		"an env file with a key twice": {"kustomization.yaml": "secretGenerator: [{name: s, envs: [e]}]\n", "e": "a=hunter2\na=hunter2\n"},
		"a generator in a plugin":      {"kustomization.yaml": "generators:\n- |\n  apiVersion: builtin\n  kind: SecretGenerator\n  metadata: {name: s}\n  literals: [hunter2]\n"},
		"a generator without a name":   {"kustomization.yaml": "generators:\n- |\n  apiVersion: builtin\n  kind: SecretGenerator\n  literals: [a=hunter2]\n"},
		"a generator on one line":      {"kustomization.yaml": "generators:\n- '{apiVersion: builtin, kind: SecretGenerator, literals: [a=hunter2]}'\n"},
		"no kind":                      {"kustomization.yaml": "resources: [s.yaml]\n", "s.yaml": "apiVersion: v1\nmetadata: {name: s}\nstringData: {password: hunter2}\n"},
		"a patch of nothing":           {"kustomization.yaml": "patches: [{path: s.yaml}]\n", "s.yaml": secret},
		"a patch without a kind":       {"kustomization.yaml": "resources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: \"stringData: {password: hunter2}\"}]\n", "s.yaml": secret},
		"a JSON patch of nothing":      {"kustomization.yaml": "resources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: replace, path: /stringData/none/none, value: hunter2}]'}]\n", "s.yaml": secret},
		"a test in a JSON patch":       {"kustomization.yaml": "resources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: test, path: /stringData/password, value: hunter2x}]'}]\n", "s.yaml": secret},
		"an unknown operation":         {"kustomization.yaml": "resources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: become, path: /stringData/password, value: hunter2}]'}]\n", "s.yaml": secret},
		"patch and path":               {"kustomization.yaml": "resources: [s.yaml]\npatches: [{path: s.yaml, patch: \"stringData: {password: hunter2}\"}]\n", "s.yaml": secret},
		"a JSON patch without target":  {"kustomization.yaml": "resources: [s.yaml]\npatches: [{patch: '[{op: add, path: /stringData/password, value: hunter2}]'}]\n", "s.yaml": secret},
		"both kinds of patches":        {"kustomization.yaml": "resources: [s.yaml]\npatchesStrategicMerge:\n- |\n  stringData: {password: hunter2}\n", "s.yaml": secret},
		"the same Secret twice":        {"kustomization.yaml": "resources: [s.yaml, t.yaml]\n", "s.yaml": secret, "t.yaml": secret},
		"a replacement to nowhere":     {"kustomization.yaml": "resources: [s.yaml]\nreplacements:\n- source: {kind: Secret, name: s, fieldPath: stringData.password}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.none.none]}]\n", "s.yaml": secret},
		"a replacement of a part":      {"kustomization.yaml": "resources: [s.yaml]\nreplacements:\n- source: {kind: Secret, name: s, fieldPath: stringData.password, options: {delimiter: t, index: 7}}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.password]}]\n", "s.yaml": secret},
		"a field that is no mapping":   {"kustomization.yaml": "resources: [s.yaml]\nlabels: [{pairs: {a: b}, fields: [{path: stringData/password, create: true}]}]\n", "s.yaml": secret},
		"a merge with the wrong type":  {"kustomization.yaml": "resources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: '{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: [hunter2]}'}]\n", "s.yaml": secret},
		"a validator":                  {"kustomization.yaml": "resources: [s.yaml]\nvalidators:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: v}\n  prefix: p-\n  fieldSpecs: [{path: stringData/password}]\n", "s.yaml": secret},
		"an image that is no text":     {"kustomization.yaml": "resources: [s.yaml]\nconfigurations: [c.yaml]\nimages: [{name: x, newTag: z}]\n", "s.yaml": secret, "c.yaml": "images: [{path: stringData/password/x}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := source.build(t, v1alpha1.RenderAuto, "")
			wantNoSecret(t, err)
		})
	}
}
