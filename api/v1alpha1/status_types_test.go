package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

const ref = "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"

func TestStatusIsWrittenApartFromTheSpec(t *testing.T) {
	env := testenv.Shared(t)
	obj := release(t, env.Namespace(t), gitSpec)
	obj.Object["status"] = map[string]any{"render": "4f53cda18c2b"}
	if err := env.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	var got v1alpha1.Release
	read := func() {
		t.Helper()
		if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), &got); err != nil {
			t.Fatal(err)
		}
	}
	if read(); got.Status.Render != "" {
		t.Errorf("creating a Release wrote its status: %+v", got.Status)
	}
	got.Status.Render, got.Spec.Suspend = "4f53cda18c2b", true
	if err := env.Client.Status().Update(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	if read(); got.Status.Render != "4f53cda18c2b" || got.Spec.Suspend || got.Generation != 1 {
		t.Errorf("writing the status: got render %q, suspend %t, generation %d", got.Status.Render, got.Spec.Suspend, got.Generation)
	}
	got.Status.Render, got.Spec.Suspend = "", true
	if err := env.Client.Update(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	if read(); got.Status.Render != "4f53cda18c2b" || !got.Spec.Suspend || got.Generation != 2 {
		t.Errorf("writing the spec: got render %q, suspend %t, generation %d", got.Status.Render, got.Spec.Suspend, got.Generation)
	}
}

func TestStatusIsChecked(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	now := metav1.Now()
	for name, tc := range map[string]struct {
		status v1alpha1.ReleaseStatus
		want   []string
	}{
		"empty":             {v1alpha1.ReleaseStatus{}, nil},
		"a render":          {v1alpha1.ReleaseStatus{LastAttempted: &v1alpha1.RenderRecord{RenderRef: ref, Time: now}}, nil},
		"a wait of wave 0":  {v1alpha1.ReleaseStatus{Sync: &v1alpha1.SyncStatus{StartedAt: now, Phase: v1alpha1.SyncPhaseWave}}, nil},
		"a wait of a prune": {v1alpha1.ReleaseStatus{Sync: &v1alpha1.SyncStatus{StartedAt: now, Phase: v1alpha1.SyncPhasePrune, Wave: -3}}, nil},
		"a wait for health": {v1alpha1.ReleaseStatus{Sync: &v1alpha1.SyncStatus{StartedAt: now, Phase: v1alpha1.SyncPhaseHealth}}, nil},
		"a wait for something else": {v1alpha1.ReleaseStatus{Sync: &v1alpha1.SyncStatus{StartedAt: now, Phase: "Luck"}}, []string{
			`status.sync.phase: Unsupported value: "Luck": supported values: "PreSync", "Wave", "Prune", "PostSync", "Health"`,
		}},
		"a condition twice": {v1alpha1.ReleaseStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded, LastTransitionTime: now},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded, LastTransitionTime: now},
		}}, []string{"status.conditions[1]: Duplicate value"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := release(t, namespace, gitSpec)
			if err := env.Client.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			var got v1alpha1.Release
			if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), &got); err != nil {
				t.Fatal(err)
			}
			got.Status = tc.status
			wantAnswer(t, env.Client.Status().Update(t.Context(), &got), tc.want)
		})
	}
}
