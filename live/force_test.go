package live_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/live"
)

// forced gives a manifest metadata with the annotation that has its object created anew.
func forced(text, more string) string {
	return with(text, `metadata: {name: x, annotations: {convoy.dev/force: enabled`+more+`}}`)
}

func TestTheDiffOfAForcedObjectIsWhatTheSyncDoes(t *testing.T) {
	const selected = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {selector: {matchLabels: {app: z}}, template: {metadata: {labels: {app: z}}, spec: {containers: [{name: main, image: "main:1"}]}}}}`
	for name, tc := range map[string]struct {
		before []step
		next   string
	}{
		"a selector, and replicas of an autoscaler": {[]step{convoy(oneContainer), scaled(oneContainer, 5)}, forced(selected, "")},
		"an immutable ConfigMap":                    {[]step{convoy(with(configMap("a: b"), "immutable: true")), patched("somebody", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {by: hand}}}`)}, forced(configMap("a: c"), "")},
		"of another tool":                           {[]step{clientSide(oneContainer)}, forced(selected, "")},
		"what can be changed":                       {[]step{convoy(oneContainer), scaled(oneContainer, 5)}, forced(container(`, args: [a]`), "")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).another(t)
			for _, step := range tc.before {
				step(w)
			}
			changes, err := w.differ.Diff(t.Context(), w.request(tc.next))
			must(t, err)
			if len(changes) != 1 || changes[0].Action != live.Update {
				t.Fatalf("%d changes, want one update", len(changes))
			}
			w.sync(tc.next)
			if d := cmp.Diff(state(t, w.get(w.desired(w.fill(tc.next)[0]))), state(t, changes[0].Next)); d != "" {
				t.Errorf("after the sync (-live +predicted):\n%s", d)
			}
		})
	}
}

func TestTheDiffSaysWhatBecomesOfAFieldThatCannotBeChanged(t *testing.T) {
	changed := `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}`
	base := newWorld(t)
	for name, tc := range map[string]struct{ first, next, want string }{
		"without":   {with(configMap("a: b"), "immutable: true"), with(configMap("a: c"), "immutable: true"), "give the object the annotation convoy.dev/force: enabled"},
		"forced":    {with(configMap("a: b"), "immutable: true"), forced(with(configMap("a: c"), "immutable: true"), ""), "data of a ConfigMap cannot be changed: the object is deleted and created anew"},
		"kept":      {with(configMap("a: b"), "immutable: true"), forced(with(configMap("a: c"), "immutable: true"), ", convoy.dev/prune: disabled"), "is not deleted to be created anew: its annotation convoy.dev/prune says disabled"},
		"protected": {claim, forced(changed, ""), "is not deleted to be created anew: its kind is protected"},
		"allowed":   {claim, forced(changed, ", convoy.dev/prune: enabled"), "spec.accessModes of a PersistentVolumeClaim cannot be changed: the object is deleted and created anew"},
	} {
		w := base.another(t)
		convoy(tc.first)(w)
		changes := w.diff(w.fill(tc.next)...)
		if len(changes) != 1 || !slices.ContainsFunc(changes[0].Notes, func(note string) bool { return strings.Contains(note, tc.want) }) {
			t.Errorf("%s: %+v, want one change with a note of %q", name, changes, tc.want)
		}
	}
	if said := actions(base.changes(base.request(with(configMap("a: b"), `metadata: {name: x, annotations: {convoy.dev/force: always}}`))))["ConfigMap x"]; said !=
		`refuse annotation convoy.dev/force: want enabled, not "always"` {
		t.Error(said)
	}
}
