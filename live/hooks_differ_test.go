package live_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHooksAreNoPartOfADiff looks at hooks that never ran, that are there in another form, and that left the render.
func TestHooksAreNoPartOfADiff(t *testing.T) {
	w := newWorld(t)
	old := w.fill("{apiVersion: v1, kind: ConfigMap, metadata: {name: ran, annotations: {convoy.dev/hook: PreSync}}, data: {key: old}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: load-0123456789, annotations: {convoy.dev/hook: PreSync}}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: left, annotations: {convoy.dev/hook: PreSync}}}")
	w.apply(old...)
	req := w.request(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: ran, annotations: {convoy.dev/hook: PreSync}}, data: {key: new}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {generateName: load-, annotations: {argocd.argoproj.io/hook: PreSync}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: never, annotations: {helm.sh/hook: test}}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, annotations: {convoy.dev/hook: Presync}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ordinary, annotations: {argocd.argoproj.io/hook: Sync}}}
`)
	req.Inventory = w.recorded(old...)
	want := map[string]string{
		"ConfigMap left": "delete", "ConfigMap ordinary": "create",
		"ConfigMap bad": `refuse annotation convoy.dev/hook: "Presync" is none of PostDelete, PostSync, PreDelete, PreSync, SyncFail`,
	}
	if diff := cmp.Diff(want, actions(w.changes(req))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
