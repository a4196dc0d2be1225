package live

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// manifest reads an object of a render or of the cluster.
func manifest(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// ownedBy gives an object managedFields: the fields of convoy, and of an autoscaler.
func ownedBy(t *testing.T, obj *unstructured.Unstructured, convoy, autoscaler string) *unstructured.Unstructured {
	t.Helper()
	var entries []any
	for manager, fields := range map[string]string{"convoy": convoy, "autoscaler": autoscaler} {
		operation := "Update"
		if manager == "convoy" {
			operation = "Apply"
		}
		entries = append(entries, map[string]any{
			"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": manifest(t, fields).Object,
		})
	}
	if err := unstructured.SetNestedSlice(obj.Object, entries, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	return obj
}

func withPointers(obj *unstructured.Unstructured, pointers string) *unstructured.Unstructured {
	obj.SetAnnotations(map[string]string{v1alpha1.IgnoreDriftAnnotation: pointers})
	return obj
}

func TestAFieldLeftToOthersIsNeitherPutBackNorOwned(t *testing.T) {
	const containers = `{template: {spec: {containers: [{name: web, image: "web:1"}, {name: proxy, image: "proxy:1"}]}}}`
	for name, tc := range map[string]struct {
		pointers           string
		desired, live      string // of spec
		convoy, autoscaler string // what each owns of spec
		want               string
	}{
		"another manager owns it": {
			"/spec/replicas", `{replicas: 3, paused: false}`, `{replicas: 7, paused: true}`,
			`{"f:paused": {}}`, `{"f:replicas": {}}`, `{paused: false}`,
		},
		"another manager owns it as well": {
			"/spec/replicas", `{replicas: 3, paused: false}`, `{replicas: 3}`,
			`{"f:replicas": {}, "f:paused": {}}`, `{"f:replicas": {}}`, `{paused: false}`,
		},
		"convoy alone owns it": {
			"/spec/replicas", `{replicas: 3}`, `{replicas: 2}`, `{"f:replicas": {}}`, `{}`, `{replicas: 2}`,
		},
		"nobody owns it": {
			"/spec/replicas", `{replicas: 3}`, `{replicas: 1}`, `{}`, `{}`, `{replicas: 1}`,
		},
		"it left the render, and convoy alone owns it": {
			"/spec/replicas", `{paused: true}`, `{replicas: 5, paused: true}`, `{"f:replicas": {}}`, `{}`, `{replicas: 5, paused: true}`,
		},
		"it is in neither": {
			"/spec/replicas", `{paused: true}`, `{paused: true}`, `{}`, `{}`, `{paused: true}`,
		},
		"somebody removed it": {
			"/spec/replicas", `{replicas: 3, paused: true}`, `{paused: true}`, `{}`, `{}`, `{paused: true}`,
		},
		"it was the only field": {
			"/spec/strategy/type", `{strategy: {type: Recreate}, paused: true}`, `{strategy: {type: RollingUpdate}}`,
			`{}`, `{"f:strategy": {"f:type": {}}}`, `{paused: true}`,
		},
		"several pointers": {
			"/spec/replicas,\n /spec/paused\t", `{replicas: 3, paused: true, minReadySeconds: 1}`, `{replicas: 7, paused: false}`,
			`{}`, `{"f:replicas": {}, "f:paused": {}}`, `{minReadySeconds: 1}`,
		},
		"a mapping, of which both own fields": {
			"/spec/selector", `{selector: {a: ours, b: ours, c: ours}}`, `{selector: {a: theirs, b: ours, d: theirs}}`,
			`{"f:selector": {"f:b": {}}}`, `{"f:selector": {"f:a": {}, "f:d": {}}}`, `{selector: {b: ours}}`,
		},
		"a mapping that is owned as a whole": {
			"/spec/selector", `{selector: {a: ours}}`, `{selector: {a: theirs, b: theirs}}`,
			`{"f:selector": {}}`, `{}`, `{selector: {a: theirs, b: theirs}}`,
		},
		"a list, of which both own elements": {
			"/spec/list", `{list: [a]}`, `{list: [a, b]}`,
			`{"f:list": {"v:\"a\"": {}}}`, `{"f:list": {"v:\"b\"": {}}}`, `{list: [a, b]}`,
		},
		"a list of others": {
			"/spec/list", `{list: [a], paused: true}`, `{list: [a, b]}`, `{}`, `{"f:list": {}}`, `{paused: true}`,
		},
		"in an element of a list, found by its name": {
			"/spec/template/spec/containers/1/image", containers,
			`{template: {spec: {containers: [{name: sidecar, image: "sidecar:1"}, {name: proxy, image: "proxy:2"}, {name: web, image: "web:0"}]}}}`,
			`{}`, `{}`, strings.Replace(containers, "proxy:1", "proxy:2", 1),
		},
		"in an element that is not there": {
			"/spec/template/spec/containers/1/image", containers, `{template: {spec: {containers: [{name: web, image: "web:0"}]}}}`, `{}`, `{}`, containers,
		},
		"an element of a list without names": {
			"/spec/list/1", `{list: [a, b, c]}`, `{list: [x, y]}`, `{}`, `{}`, `{list: [a, y, c]}`,
		},
		"no live element in this position": {
			"/spec/list/1", `{list: [a, b]}`, `{list: [x]}`, `{}`, `{}`, `{list: [a, b]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired := withPointers(manifest(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: `+tc.desired+`}`), tc.pointers)
			live := ownedBy(t, manifest(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: `+tc.live+`}`),
				`{"f:spec": `+tc.convoy+`}`, `{"f:spec": `+tc.autoscaler+`}`)
			before := desired.DeepCopy()
			got, err := LeaveToOthers(desired, live)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(manifest(t, tc.want).Object, got.Object["spec"]); diff != "" {
				t.Errorf("what is sent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, desired); diff != "" {
				t.Errorf("what is desired was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestWhatIsLeftToOthersIsSetOnce(t *testing.T) {
	for _, pointers := range []string{"/spec/replicas", "*"} {
		desired := withPointers(manifest(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}`), pointers)
		if got, err := LeaveToOthers(desired, nil); err != nil || got != desired {
			t.Errorf("%s: an object that is not there is applied as %v, error %v; want all of it", pointers, got, err)
		}
	}
}

func TestAnObjectLeftToOthersIsNotSent(t *testing.T) {
	desired := withPointers(manifest(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`), "*")
	if got, err := LeaveToOthers(desired, desired.DeepCopy()); err != nil || got != nil {
		t.Errorf("got %v, error %v; want nothing to send", got, err)
	}
}

func TestAnObjectWithoutTheAnnotationIsSentAsItIs(t *testing.T) {
	desired := manifest(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	if got, err := LeaveToOthers(desired, desired.DeepCopy()); err != nil || got != desired {
		t.Errorf("got %v, error %v; want the object itself", got, err)
	}
}

func TestTheOwnerLabelsAreNeverLeftToOthers(t *testing.T) {
	desired := withPointers(manifest(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: a, convoy.dev/release-name: r, convoy.dev/release-namespace: apps}}}`),
		"/metadata/labels")
	got, err := LeaveToOthers(desired, manifest(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {convoy.dev/release-name: thief}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{v1alpha1.ReleaseNameLabel: "r", v1alpha1.ReleaseNamespaceLabel: "apps"}, got.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestAPointerIntoStringDataMeansData(t *testing.T) {
	desired := withPointers(manifest(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: b3Vycw==, user: b3Vycw==}}`), "/stringData/password")
	got, err := LeaveToOthers(desired, manifest(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: dGhlaXJz}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"password": "dGhlaXJz", "user": "b3Vycw=="}, got.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestAMalformedPointerIsNamed(t *testing.T) {
	for pointer, want := range map[string]string{
		"spec/replicas":           "want a JSON pointer that begins with /",
		"/spec/a~2b":              "want ~0 for ~",
		"/spec/a~":                "want ~0 for ~",
		"/kind":                   "kind is no field to leave to others",
		"/status/replicas":        "status is no field",
		"/metadata":               "of metadata, want annotations",
		"/metadata/name":          "of metadata, want annotations",
		"/spec/replicas/0":        "/spec/replicas has no fields",
		"/spec/list/first":        "/spec/list is a list: want the position of an element",
		"/spec/list/-":            "/spec/list is a list: want the position of an element",
		"/spec/list/2":            "/spec/list has 2 elements",
		"/spec/paused,replicas":   `pointer "replicas"`,
		"/metadata/annotations/x": "",
		"/spec/other/deep":        "",
	} {
		desired := withPointers(manifest(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, list: [a, b]}}`), pointer)
		for _, live := range []*unstructured.Unstructured{nil, desired.DeepCopy()} {
			_, err := LeaveToOthers(desired, live)
			if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: error %v, want %q", pointer, err, want)
			}
			if err != nil && !strings.Contains(err.Error(), "annotation convoy.dev/ignore-drift: pointer ") {
				t.Errorf("%s: error %q does not name the annotation and the pointer", pointer, err)
			}
		}
	}
}
