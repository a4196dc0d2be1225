package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferencesArePathsWithoutValues(t *testing.T) {
	before := object(t, `{apiVersion: v1, kind: Thing, metadata: {name: a, labels: {app: a}}, spec: {size: 1, list: [{name: x, value: old}, {name: y}], plain: [a], same: {deep: true}}}`)
	after := object(t, `{apiVersion: v1, kind: Thing, metadata: {name: a, labels: {app: b}}, spec: {size: two, list: [{name: x, value: new}, {name: y}], plain: [a, b], same: {deep: true}, more: 1}}`)
	want := []string{"metadata.labels.app", "spec.list[0].value", "spec.more", "spec.plain", "spec.size"}
	if diff := cmp.Diff(want, differences("", before.Object, after.Object)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := differences("", before.Object, before.DeepCopy().Object); got != nil {
		t.Errorf("an object differs from itself in %v", got)
	}
}

func TestDriftSaysWhatHappened(t *testing.T) {
	labels := testOwner.Labels()
	found := object(t, applied)
	result := found.DeepCopy()
	result.SetLabels(labels)
	if got := driftOf(testOwner, nil, result).Kind; got != DriftDeleted {
		t.Errorf("an object that is gone is %s, want %s", got, DriftDeleted)
	}
	if got := driftOf(testOwner, found, result).Kind; got != DriftUnlabelled {
		t.Errorf("an object without the owner labels is %s, want %s", got, DriftUnlabelled)
	}
	found.SetLabels(labels)
	found.Object["data"] = map[string]any{"key": "two"}
	if diff := cmp.Diff(&Drift{Kind: DriftChanged, Fields: []string{"data.key"}}, driftOf(testOwner, found, result)); diff != "" {
		t.Errorf("a changed object (-want +got):\n%s", diff)
	}
}
