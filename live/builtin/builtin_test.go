package builtin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/live/builtin"
)

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func normal(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := object(t, manifest)
	before := obj.DeepCopy()
	result, err := builtin.Normalizer{}.BuiltIn(obj.GroupVersionKind()).Normalize(obj)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, obj); d != "" {
		t.Errorf("the object was changed: %s", d)
	}
	return result
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "i:1"}]}}}}`

func TestWhatIsNormalStaysAsItIs(t *testing.T) {
	once := normal(t, deployment)
	content, err := yaml.Marshal(once.Object)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(object(t, string(content)).Object["metadata"], normal(t, string(content)).Object["metadata"]); d != "" {
		t.Error(d)
	}
	if n, _, _ := unstructured.NestedInt64(once.Object, "spec", "replicas"); n != 1 {
		t.Errorf("%d replicas, want the default", n)
	}
}

func TestAFieldOfANewerServerStays(t *testing.T) {
	obj := normal(t, strings.Replace(deployment, "name: c,", "name: c, coming: {deep: 1}, empty: {},", 1))
	containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	container := containers[0].(map[string]any)
	if d := cmp.Diff(map[string]any{"deep": int64(1)}, container["coming"]); d != "" {
		t.Error(d)
	}
	if _, ok := container["empty"]; ok {
		t.Error("what is empty came back, though a type may leave it out")
	}
}

func TestPlainTextOfASecretBecomesData(t *testing.T) {
	obj := normal(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {u: root}}`)
	if data, _, _ := unstructured.NestedString(obj.Object, "data", "u"); data != "cm9vdA==" || obj.Object["stringData"] != nil {
		t.Errorf("data %q, stringData %v", data, obj.Object["stringData"])
	}
}

func TestAVersionThatAKindDoesNotHaveIsNotRegistered(t *testing.T) {
	obj := object(t, deployment)
	kind := builtin.Normalizer{}.BuiltIn(obj.GroupVersionKind())
	if _, err := kind.Convert(obj, schema.GroupVersion{Group: "apps", Version: "v9"}); !runtime.IsNotRegisteredError(err) {
		t.Errorf("got %v, want a not-registered error", err)
	}
}

func TestKindsOfOthersAreNotBuiltIn(t *testing.T) {
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v9", Kind: "Deployment"},
		{Group: "example.com", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: runtime.APIVersionInternal, Kind: "Deployment"},
	} {
		if (builtin.Normalizer{}).BuiltIn(gvk) != nil {
			t.Errorf("%s is built in", gvk)
		}
	}
}

func TestADefinitionThatIsMalformedIsAnError(t *testing.T) {
	for name, tc := range map[string]struct{ versions, want string }{
		"not supported": {`[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {patternProperties: {b: {type: string}}}}}}}]`, "version v1"},
		"no list":       {`7`, "decode it"},
	} {
		t.Run(name, func(t *testing.T) {
			crd := object(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: A, plural: as}, versions: `+tc.versions+`}}`)
			if _, _, err := (builtin.Normalizer{}).Custom(crd); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
