package live

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// ownedFields are managedFields by manager, operation and subresource: the version and the fields, as YAML.
type ownedFields map[string]string

// managed is a Deployment with managedFields.
func managed(t *testing.T, spec string, of ownedFields) *unstructured.Unstructured {
	t.Helper()
	obj := manifest(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: `+spec+`}`)
	var list []any
	for who, fields := range of {
		entry := manifest(t, who).Object
		entry["fieldsType"], entry["fieldsV1"] = "FieldsV1", manifest(t, fields).Object
		if entry["apiVersion"] == nil {
			entry["apiVersion"] = "apps/v1"
		}
		list = append(list, entry)
	}
	if err := unstructured.SetNestedSlice(obj.Object, list, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	return obj
}

// owners are the fields of managedFields, by manager and operation.
func owners(t *testing.T, list []metav1.ManagedFieldsEntry) map[string]any {
	t.Helper()
	got := map[string]any{}
	for _, e := range list {
		var fields any
		if err := json.Unmarshal([]byte(e.FieldsV1.GetRawString()), &fields); err != nil {
			t.Fatal(err)
		}
		name := e.Manager + " " + string(e.Operation) + " " + e.APIVersion + " " + e.Subresource
		if got[name] != nil {
			t.Errorf("two entries of %s", name)
		}
		got[name] = fields
	}
	return got
}

const someSpec = `{replicas: 2, paused: true, minReadySeconds: 1, template: {spec: {containers: [{name: web, image: "web:1"}, {name: side, image: "side:1"}]}}}`

func TestFormerToolsAndNobodyElseAreTakenOver(t *testing.T) {
	for who, taken := range map[string]bool{
		`{manager: kubectl-client-side-apply, operation: Update}`:           true,
		`{manager: kubectl, operation: Apply}`:                              true,
		`{manager: kubectl-last-applied, operation: Apply}`:                 true,
		`{manager: helm, operation: Update}`:                                true,
		`{manager: helm, operation: Apply}`:                                 true,
		`{manager: helm-controller, operation: Update}`:                     true,
		`{manager: helm-controller, operation: Apply}`:                      true,
		`{manager: kustomize-controller, operation: Update}`:                true,
		`{manager: kustomize-controller, operation: Apply}`:                 true,
		`{manager: argocd-controller, operation: Update}`:                   true,
		`{manager: argocd-controller, operation: Apply}`:                    true,
		`{manager: argocd-application-controller, operation: Update}`:       true,
		`{manager: kubectl, operation: Update}`:                             false,
		`{manager: kubectl-edit, operation: Update}`:                        false,
		`{manager: kubectl-patch, operation: Update}`:                       false,
		`{manager: kubectl-set, operation: Update}`:                         false,
		`{manager: kubectl-client-side-apply, operation: Apply}`:            false,
		`{manager: before-first-apply, operation: Update}`:                  false,
		`{manager: kube-controller-manager, operation: Update}`:             false,
		`{manager: helm, operation: Update, subresource: scale}`:            false,
		`{manager: kustomize-controller, operation: Apply, subresource: s}`: false,
		`{manager: convoy, operation: Update}`:                              false,
	} {
		obj := managed(t, someSpec, ownedFields{who: `{"f:spec": {"f:paused": {}}}`})
		list, got, err := TakeOver(obj, obj)
		if err != nil || got != taken {
			t.Errorf("%s: taken %t, error %v, want %t", who, got, err, taken)
		}
		want := map[string]any{"convoy Apply apps/v1 ": manifest(t, `{"f:spec": {"f:paused": {}}}`).Object}
		if !taken {
			want = owners(t, obj.GetManagedFields())
		}
		if d := cmp.Diff(want, owners(t, list)); d != "" {
			t.Errorf("%s (-want +got):\n%s", who, d)
		}
	}
}

func TestATakeoverMergesWhatToolsAndConvoyOwn(t *testing.T) {
	const helm, flux, ours = `{manager: helm, operation: Update}`, `{manager: kustomize-controller, operation: Apply}`, `{manager: convoy, operation: Apply}`
	for name, tc := range map[string]struct {
		pointers string
		of       ownedFields
		want     map[string]string
	}{
		"two tools, and convoy": {"", ownedFields{
			helm: `{"f:spec": {"f:paused": {}, "f:replicas": {}}}`, flux: `{"f:spec": {"f:paused": {}, "f:minReadySeconds": {}}}`,
			ours: `{"f:metadata": {"f:labels": {"f:a": {}}}}`, `{manager: hpa, operation: Update}`: `{"f:spec": {"f:replicas": {}}}`,
		}, map[string]string{
			"convoy Apply apps/v1 ": `{"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:paused": {}, "f:replicas": {}, "f:minReadySeconds": {}}}`,
			"hpa Update apps/v1 ":   `{"f:spec": {"f:replicas": {}}}`,
		}},
		"another version": {"", ownedFields{
			`{manager: helm, operation: Update, apiVersion: apps/v1beta1}`: `{"f:spec": {"f:paused": {}, "f:rollbackTo": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}, 'k:{"name":"gone"}': {"f:image": {}}}}}}}`,
		}, map[string]string{
			"convoy Apply apps/v1 ": `{"f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}}}}`,
		}},
		"fields left to others": {"/spec/replicas, /spec/template/spec/containers/1", ownedFields{
			helm: `{"f:spec": {"f:paused": {}, "f:replicas": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}, 'k:{"name":"side"}': {".": {}, "f:image": {}}}}}}}`,
		}, map[string]string{
			"convoy Apply apps/v1 ": `{"f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}}}}`,
			"helm Update apps/v1 ":  `{"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"side"}': {".": {}, "f:image": {}}}}}}}`,
		}},
		"nothing but fields left to others": {"/spec", ownedFields{helm: `{"f:spec": {"f:paused": {}}}`}, nil},
		"an object left to others":          {v1alpha1.IgnoreDriftAll, ownedFields{helm: `{"f:spec": {"f:paused": {}}}`}, nil},
		"convoy alone":                      {"", ownedFields{ours: `{"f:spec": {"f:paused": {}}}`}, nil},
	} {
		found := managed(t, someSpec, tc.of)
		before := found.DeepCopy()
		list, taken, err := TakeOver(withPointers(manifest(t, `{apiVersion: apps/v1, kind: Deployment, spec: `+someSpec+`}`), tc.pointers), found)
		if err != nil || taken != (tc.want != nil) {
			t.Errorf("%s: taken %t, error %v", name, taken, err)
		}
		want := map[string]any{}
		for who, fields := range tc.want {
			want[who] = manifest(t, fields).Object
		}
		if tc.want == nil {
			want = owners(t, before.GetManagedFields())
		}
		if d := cmp.Diff(want, owners(t, list)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(before.Object, found.Object); d != "" {
			t.Errorf("%s: the live object was changed:\n%s", name, d)
		}
	}
}

func TestAnAdoptionIsOfWhatTheOwnerDidNotApply(t *testing.T) {
	owner := Owner{Namespace: "apps", Name: "podinfo"}
	ours, others := owner.Labels(), Owner{Namespace: "apps", Name: "gone"}.Labels()
	byUs, byHelm := ownedFields{`{manager: convoy, operation: Apply}`: `{}`}, ownedFields{`{manager: helm, operation: Apply}`: `{}`}
	for name, tc := range map[string]struct {
		labels  map[string]string
		of      ownedFields
		applied bool
		want    bool
	}{
		"of helm":                                 {nil, byHelm, false, true},
		"ours":                                    {ours, byUs, true, false},
		"ours, and helm wrote it again":           {ours, byHelm, true, false},
		"lost its labels":                         {nil, byUs, true, false},
		"of a Release that let it go":             {nil, byUs, false, true},
		"of a Release that is gone":               {others, byUs, false, true},
		"given other labels":                      {others, byUs, true, false},
		"deleted and created by helm":             {nil, byHelm, true, true},
		"begun to be adopted when convoy stopped": {nil, byUs, false, true},
	} {
		obj := managed(t, someSpec, tc.of)
		obj.SetLabels(tc.labels)
		if got := owner.Adopts(obj, tc.applied); got != tc.want {
			t.Errorf("%s: adopted %t, want %t", name, got, tc.want)
		}
	}
}
