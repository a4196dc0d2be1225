package inputs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}, Data: data}
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}, Data: data}
}

func ref(kind v1alpha1.FromKind, name string) v1alpha1.ValuesReference {
	return v1alpha1.ValuesReference{Kind: kind, Name: name}
}

func optional(r v1alpha1.ValuesReference) v1alpha1.ValuesReference {
	r.Optional = true
	return r
}

// releaseWith has one substitute mutation a list of references, the second one of the spec being the first.
func releaseWith(lists ...[]v1alpha1.ValuesReference) *v1alpha1.Release {
	r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	r.Spec.Mutations = []v1alpha1.Mutation{{Namespace: "n"}}
	for _, refs := range lists {
		r.Spec.Mutations = append(r.Spec.Mutations, v1alpha1.Mutation{Substitute: &v1alpha1.SubstituteMutation{From: refs}})
	}
	return r
}

func TestVariablesOfAMutationAreThoseOfItsReferences(t *testing.T) {
	r := &Reader{objects: fake.NewFakeClient(
		configMap("first", map[string]string{"a": "1", "b": "1"}), secret("second", map[string][]byte{"b": []byte("2")}),
	)}
	got, err := r.variables(t.Context(), releaseWith(
		[]v1alpha1.ValuesReference{ref(v1alpha1.FromConfigMap, "first"), ref(v1alpha1.FromSecret, "second"), optional(ref(v1alpha1.FromSecret, "third"))},
		[]v1alpha1.ValuesReference{ref(v1alpha1.FromConfigMap, "first")},
	))
	want := render.Variables{1: {"a": "1", "b": "2"}, 2: {"a": "1", "b": "1"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, want (-), got (+):\n%s", err, diff)
	}
}

func TestValuesComeInTheOrderOfTheirReferences(t *testing.T) {
	r := &Reader{objects: fake.NewFakeClient(
		configMap("first", map[string]string{"values.yaml": "a: 1", "other.yaml": "a: 2"}), secret("second", map[string][]byte{"values.yaml": []byte("a: 3")}),
	)}
	release := releaseWith()
	release.Spec.Render.Helm = &v1alpha1.HelmRender{ValuesFrom: []v1alpha1.HelmValuesReference{
		{ValuesReference: ref(v1alpha1.FromSecret, "second"), Key: "values.yaml"},
		{ValuesReference: ref(v1alpha1.FromConfigMap, "first"), Key: "other.yaml"},
		{ValuesReference: optional(ref(v1alpha1.FromConfigMap, "first")), Key: "none.yaml"},
		{ValuesReference: optional(ref(v1alpha1.FromConfigMap, "none")), Key: "values.yaml"},
	}}
	got, err := r.values(t.Context(), release)
	want := []render.Values{
		{From: "Secret apps/second, key values.yaml", YAML: []byte("a: 3")}, {From: "ConfigMap apps/first, key other.yaml", YAML: []byte("a: 2")},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, want (-), got (+):\n%s", err, diff)
	}
	release.Spec.Render.Helm.ValuesFrom[2].Optional = false
	if _, err := r.values(t.Context(), release); err == nil || err.Error() != "render.helm.valuesFrom: ConfigMap apps/first has no key none.yaml" {
		t.Errorf("a key that is not there: error %v", err)
	}
}

func TestAKeyThatIsNotSetIsThatOfTheAPI(t *testing.T) {
	r := &Reader{objects: fake.NewFakeClient(configMap("first", map[string]string{"values.yaml": "a: 1", "other.yaml": "a: 2"}))}
	release := releaseWith()
	release.Spec.Render.Helm = &v1alpha1.HelmRender{ValuesFrom: []v1alpha1.HelmValuesReference{{ValuesReference: ref(v1alpha1.FromConfigMap, "first")}}}
	got, err := r.values(t.Context(), release)
	want := []render.Values{{From: "ConfigMap apps/first, key values.yaml", YAML: []byte("a: 1")}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, want (-), got (+):\n%s", err, diff)
	}
}

func TestCapabilitiesThatAreGivenAreNotAskedFor(t *testing.T) {
	want := render.Capabilities{KubeVersion: "v1.33.0", APIVersions: []string{"apps/v1"}}
	chart := fstest.MapFS{"Chart.yaml": {Data: []byte("name: web")}}
	got, err := Given(want, fake.NewFakeClient()).Read(t.Context(), releaseWith(), chart)
	if diff := cmp.Diff(want, got.Capabilities); err != nil || diff != "" {
		t.Errorf("error %v, want (-), got (+):\n%s", err, diff)
	}
}

func TestWhatCannotBeReadIsNotEmpty(t *testing.T) {
	release := releaseWith([]v1alpha1.ValuesReference{ref(v1alpha1.FromSecret, "vars")})
	r := &Reader{objects: fake.NewFakeClient()}
	if _, err := r.variables(t.Context(), release); err == nil || err.Error() != "mutations[1].substitute.from: Secret apps/vars does not exist" {
		t.Errorf("error %v", err)
	}
	r.objects = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no route to host")
		},
	}).Build()
	_, err := r.variables(t.Context(), releaseWith([]v1alpha1.ValuesReference{optional(ref(v1alpha1.FromSecret, "vars"))}))
	if err == nil || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("an optional Secret that cannot be read: error %v", err)
	}
}

func TestReferencesAreAllThatTheSpecNames(t *testing.T) {
	release := releaseWith([]v1alpha1.ValuesReference{ref(v1alpha1.FromSecret, "a")}, []v1alpha1.ValuesReference{ref(v1alpha1.FromConfigMap, "b")})
	release.Spec.Render.Helm = &v1alpha1.HelmRender{ValuesFrom: []v1alpha1.HelmValuesReference{{ValuesReference: ref(v1alpha1.FromSecret, "c")}}}
	want := []v1alpha1.ValuesReference{ref(v1alpha1.FromSecret, "a"), ref(v1alpha1.FromConfigMap, "b"), ref(v1alpha1.FromSecret, "c")}
	if diff := cmp.Diff(want, References(release)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
