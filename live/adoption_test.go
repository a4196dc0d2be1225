package live_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
)

// sync does what a pass does with a render.
func (w *world) sync(render string) {
	w.t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(testenv.Shared(w.t).Config)
	must(w.t, err)
	memory := apply.NewMemory(clock.RealClock{})
	planner := &apply.Planner{
		Client: w.client, Mapper: w.mapper, Memory: memory, Discovery: discovery.ToDiscoveryInterfaceWithContext(server),
		OwnerName: func(context.Context, string, string) (string, error) { return "", nil },
		Takeovers: live.NewTakeovers(discovery.ToDiscoveryInterfaceWithContext(server)),
	}
	req := w.request(render)
	plan, err := planner.Plan(w.t.Context(), apply.Request{Owner: req.Owner, Objects: req.Objects, Inventory: req.Inventory, Policy: req.Policy})
	must(w.t, err)
	_, err = (&apply.Applier{Client: w.client, Memory: memory}).Apply(w.t.Context(), plan)
	must(w.t, err)
}

func TestTheDiffOfAnAdoptionIsWhatTheSyncDoes(t *testing.T) {
	theirs := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, labels: {app: x, theirs: "yes"}, annotations: {theirs: "yes"}}, spec: {replicas: 2, minReadySeconds: 5,
		selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: "main:1", env: [{name: A, value: a}, {name: B, value: b}]}, {name: side, image: "side:1"}]}}}}`
	ours := container(`, env: [{name: A, value: a}]`)
	for name, before := range map[string][]step{
		"kubectl":          {clientSide(theirs)},
		"helm":             {by("helm", theirs)},
		"flux":             {clientSide(theirs), by("kustomize-controller", theirs)},
		"an autoscaler":    {by("helm", theirs), scaled(theirs, 5)},
		"somebody":         {clientSide(theirs), patched("kubectl-edit", deployment("minReadySeconds: 7,", ""))},
		"nobody":           {by("somebody", theirs)},
		"another pod spec": {clientSide(deployment("", `hostNetwork: true, volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}], containers: [{name: main, image: "main:1", ports: [{containerPort: 80}], volumeMounts: [{name: v, mountPath: /v}]}]`))},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).another(t)
			for _, step := range before {
				step(w)
			}
			change, ok := w.changes(w.request(ours))["Deployment x"]
			if !ok {
				t.Fatal("no change is predicted")
			}
			desired := w.desired(w.fill(ours)[0])
			if d := cmp.Diff(state(t, w.get(desired)), state(t, change.Live)); d != "" {
				t.Errorf("live (-live +predicted):\n%s", d)
			}
			w.sync(ours)
			if d := cmp.Diff(state(t, w.get(desired)), state(t, change.Next)); d != "" {
				t.Errorf("after the sync (-live +predicted):\n%s", d)
			}
			if left := w.changes(w.request(ours)); len(left) > 0 {
				t.Errorf("after the sync %d changes are predicted", len(left))
			}
		})
	}
}
