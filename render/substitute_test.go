package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// substituted is what becomes of a ConfigMap-like object with these fields.
func substituted(t testing.TB, manifest string, vars map[string]string) (map[string]any, error) {
	t.Helper()
	mutation := []v1alpha1.Mutation{{Substitute: &v1alpha1.SubstituteMutation{Vars: vars}}}
	r, err := Mutate(t.Context(), renderOf(t, manifest), mutation, nil)
	if err != nil {
		return nil, err
	}
	objects, err := r.Objects()
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects and error %v, want one", len(objects), err)
	}
	return objects[0].Object, nil
}

func TestSubstitutePutsValuesInPlaceOfVariables(t *testing.T) {
	vars := map[string]string{"name": "web", "count": "3", "on": "true", "zip": "007", "empty": "", "tricky": "a: {b}\n- c"}
	for name, tc := range map[string]struct{ manifest, want string }{
		"text":                       {`{apiVersion: v1, kind: X, metadata: {name: "a-${name}-b"}}`, `{apiVersion: v1, kind: X, metadata: {name: a-web-b}}`},
		"a default":                  {`{apiVersion: v1, kind: X, metadata: {name: "${other:=d}"}}`, `{apiVersion: v1, kind: X, metadata: {name: d}}`},
		"a default that has a value": {`{apiVersion: v1, kind: X, metadata: {name: "${name:=d}"}}`, `{apiVersion: v1, kind: X, metadata: {name: web}}`},
		"a number":                   {`{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: "${count}"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: 3}}`},
		"a boolean":                  {`{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: "${on}"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: true}}`},
		"digits that are no number":  {`{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: "${zip}"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: "007"}}`},
		"a part of a text":           {`{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: "${count}0"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, spec: {n: "30"}}`},
		"text stays text where the API has only text": {
			`{apiVersion: v1, kind: X, metadata: {name: x, labels: {a: "${count}"}, annotations: {b: "${on}"}}, data: {c: "${count}"}, spec: {env: [{name: d, value: "${count}"}], args: ["${count}"]}}`,
			`{apiVersion: v1, kind: X, metadata: {name: x, labels: {a: "3"}, annotations: {b: "true"}}, data: {c: "3"}, spec: {env: [{name: d, value: "3"}], args: ["3"]}}`,
		},
		"a key":                            {`{apiVersion: v1, kind: X, metadata: {name: x}, data: {"${name}.txt": a}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, data: {web.txt: a}}`},
		"an empty value":                   {`{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "<${empty}>"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "<>"}}`},
		"a value with YAML in it is text":  {`{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "${tricky}"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "a: {b}\n- c"}}`},
		"an escape":                        {`{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "$${name} ${name}"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "${name} web"}}`},
		"what other tools write":           {`{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "$name $(name) {{ name }} $"}}`, `{apiVersion: v1, kind: X, metadata: {name: x}, data: {a: "$name $(name) {{ name }} $"}}`},
		"an object annotated against it":   {`{apiVersion: v1, kind: X, metadata: {name: x, annotations: {convoy.dev/substitute: disabled}}, data: {a: "${unknown}"}}`, `{apiVersion: v1, kind: X, metadata: {name: x, annotations: {convoy.dev/substitute: disabled}}, data: {a: "${unknown}"}}`},
		"an object annotated against Flux": {`{apiVersion: v1, kind: X, metadata: {name: x, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}, data: {a: "${unknown}"}}`, `{apiVersion: v1, kind: X, metadata: {name: x, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}, data: {a: "${unknown}"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := substituted(t, tc.manifest, vars)
			if err != nil {
				t.Fatal(err)
			}
			want, err := renderOf(t, tc.want).Objects()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[0].Object, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestSubstituteFailsOnAMissingVariable(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"alone":               {"${missing}", "data.a: no value for ${missing}: add it to vars or from"},
		"in a function":       {"${missing^^}", "no value for ${missing}"},
		"in a default":        {"${other:=${missing}}", "no value for ${missing}"},
		"nothing to read":     {"${", "data.a: ${ without a variable that can be read"},
		"a name that is none": {"${a b}", "data.a: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := substituted(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: "`+tc.text+`"}}`, map[string]string{"x": "sesame"})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "mutations[0].substitute: ConfigMap x: ") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestSubstituteRejectsNamesThatAreNone(t *testing.T) {
	_, err := substituted(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`, map[string]string{"a-b": "secret"})
	if err == nil || !strings.Contains(err.Error(), `variable "a-b"`) || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func TestVarsWinOverFrom(t *testing.T) {
	mutations := mutationsFrom(t, `[{labels: {x: y}}, {substitute: {vars: {a: "1"}, from: [{kind: ConfigMap, name: c}]}}]`)
	source := renderOf(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: "${a}", b: "${b}"}}`)
	got, err := Mutate(t.Context(), source, mutations, Variables{1: {"a": "2", "b": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	data := objectsIn(t, got)[ObjectID{Kind: "ConfigMap", Name: "x"}]["data"]
	if diff := cmp.Diff(map[string]any{"a": "1", "b": "3"}, data); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
