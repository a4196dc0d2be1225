package v1alpha1_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// gitSpec is the smallest spec.
const gitSpec = `source: {git: {url: "https://git.example.com/team/app.git"}}`

// release is a Release with a spec as a user writes it, so that what is left out is not sent.
func release(t *testing.T, namespace, spec string) *unstructured.Unstructured {
	t.Helper()
	manifest := "apiVersion: convoy.dev/v1alpha1\nkind: Release\nmetadata: {generateName: app-, namespace: " + namespace + "}\nspec:\n"
	for line := range strings.Lines(spec) {
		manifest += "  " + line
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), obj); err != nil {
		t.Fatalf("the example is no YAML: %v\n%s", err, manifest)
	}
	return obj
}

// withField is the smallest spec with one more field.
func withField(field string) string { return gitSpec + "\n" + field }

// withGit is a spec with one more field beside the URL.
func withGit(field string) string {
	return `source: {git: {url: "https://git.example.com/team/app.git", ` + field + `}}`
}

// withURL is a spec with this URL.
func withURL(url string) string { return `source: {git: {url: "` + url + `"}}` }

// example is a spec, and the parts of what the API server says against it: none if it takes it.
type example struct {
	spec string
	want []string
}

// tryExamples sends each example to the API server. What that takes must be readable as a Release, or the controller could not list
// any.
func tryExamples(t *testing.T, examples map[string]example) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			obj := release(t, namespace, e.spec)
			err := env.Client.Create(t.Context(), obj, client.FieldValidation(metav1.FieldValidationStrict))
			wantAnswer(t, err, e.want)
			if err == nil {
				if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), &v1alpha1.Release{}); err != nil {
					t.Errorf("accepted, but it cannot be read: %v", err)
				}
			}
		})
	}
}

// wantAnswer compares the answer of the API server; no parts are no error.
func wantAnswer(t *testing.T, err error, parts []string) {
	t.Helper()
	switch {
	case len(parts) == 0 && err != nil:
		t.Errorf("rejected: %v", err)
	case len(parts) > 0 && err == nil:
		t.Errorf("accepted, want an error with %q", parts)
	}
	for _, part := range parts {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("rejected with %v, want an error with %q", err, part)
		}
	}
}
