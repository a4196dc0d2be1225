package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// table asks the API server for what kubectl get prints of a resource: the row of each object, by the column names. Those with a
// priority above 0 need -o wide.
func table(t *testing.T, namespace, resource string) (rows []map[string]any, wide []string) {
	t.Helper()
	discovery, err := discovery.NewDiscoveryClientForConfig(testenv.Shared(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := discovery.RESTClient().Get().AbsPath("/apis/convoy.dev/v1alpha1/namespaces", namespace, resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var got metav1.Table
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	for _, column := range got.ColumnDefinitions {
		if column.Priority > 0 {
			wide = append(wide, column.Name)
		}
	}
	for _, cells := range got.Rows {
		row := map[string]any{}
		for i, column := range got.ColumnDefinitions {
			row[column.Name] = cells.Cells[i]
		}
		rows = append(rows, row)
	}
	return rows, wide
}

func TestKubectlShowsAReleaseInARow(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	obj := release(t, namespace, gitSpec)
	obj.SetGenerateName("")
	obj.SetName("app")
	if err := env.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	wantRow := func(want map[string]any) {
		t.Helper()
		rows, wide := table(t, namespace, "releases")
		if len(rows) != 1 {
			t.Fatalf("got %d rows, want 1", len(rows))
		}
		if age, ok := rows[0]["Age"].(string); !ok || age == "" || age[0] < '0' || age[0] > '9' {
			t.Errorf("age: got %v", rows[0]["Age"])
		}
		delete(rows[0], "Age")
		if diff := cmp.Diff(want, rows[0]); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"Message"}, wide); diff != "" {
			t.Errorf("columns of -o wide (-want +got):\n%s", diff)
		}
	}
	wantRow(map[string]any{"Name": "app", "Ready": nil, "Applied": nil, "Render": nil, "Revision": nil, "Pin": nil, "Message": nil})

	var read v1alpha1.Release
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), &read); err != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	read.Status = v1alpha1.ReleaseStatus{
		Render:         "4f53cda18c2b",
		Pin:            &v1alpha1.PinStatus{RenderRef: ref, Intent: v1alpha1.PinFreeze},
		LastSuccessful: &v1alpha1.RenderRecord{RenderRef: ref, Revision: "main@sha1:abc", Time: now},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionApplied, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded, LastTransitionTime: now},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDegraded, Message: "ill", LastTransitionTime: now},
		},
	}
	if err := env.Client.Status().Update(t.Context(), &read); err != nil {
		t.Fatal(err)
	}
	wantRow(map[string]any{
		"Name": "app", "Ready": "False", "Applied": "True", "Render": "4f53cda18c2b", "Revision": "main@sha1:abc", "Pin": "freeze", "Message": "ill",
	})
}

func TestKubectlShowsWhoseAnInventoryIs(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	inventory := &v1alpha1.Inventory{ObjectMeta: metav1.ObjectMeta{Name: "app-0", Namespace: namespace}}
	inventory.OwnerReferences = []metav1.OwnerReference{{APIVersion: "convoy.dev/v1alpha1", Kind: "Release", Name: "app", UID: "1"}}
	if err := env.Client.Create(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	rows, _ := table(t, namespace, "inventories")
	if len(rows) != 1 || rows[0]["Name"] != "app-0" || rows[0]["Release"] != "app" {
		t.Errorf("got %v, want app-0 of Release app", rows)
	}
}

func TestKubectlFindsTheKinds(t *testing.T) {
	discovery, err := discovery.NewDiscoveryClientForConfig(testenv.Shared(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := discovery.ServerResourcesForGroupVersion("convoy.dev/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, r := range resources.APIResources {
		got[r.Name] = append(r.ShortNames, r.Categories...)
	}
	want := map[string][]string{"releases": {"rel", "convoy"}, "releases/status": nil, "inventories": {"convoy"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources with their short names and categories (-want +got):\n%s", diff)
	}
}
