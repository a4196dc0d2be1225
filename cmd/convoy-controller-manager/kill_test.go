package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// A manager is killed at each point of a pass, and another is started. The points are the requests that the pass sends for its
// Release, in the order in which an undisturbed pass sent them:
//
//   - each dry run and each write, before the API server sees it;
//   - each write, when it is done and nobody has the answer;
//   - the read of the Release between the history entry and the collection.
//
// They cover every step. What a pass leaves behind changes by writes to the API server and to the render store alone, so a kill at any
// other request is a kill at one of these. The store is written between two of them: the blob after the last dry run and before the
// inventory, the history entry after the inventory and before the read, the collection between that and the status. Each object has a
// wave of its own, so that the order is always the same.
var (
	version1 = map[string]string{
		"kept.yaml": configMap("kept", "one", 0),
		"gone.yaml": configMap("gone", "one", 1),
	}
	version2 = map[string]string{
		"kept.yaml":  configMap("kept", "two", 0),
		"added.yaml": configMap("added", "two", 1),
	}
)

func TestKilledAfterEachStepOfTheFirstApply(t *testing.T) {
	testKills(t, killTest{
		trigger: func(w *team) {
			w.setSource(version1)
			w.create("app", fromSource, keepOne)
		},
		versions: []map[string]string{version1},
		objects:  map[string]string{"kept": "one", "gone": "one"},
		requests: []string{
			"PATCH releases/app",
			"dry run", "dry run",
			"POST inventories",
			"PATCH configmaps/kept",
			"PATCH configmaps/gone",
			"PUT inventories/app-0",
			"GET releases/app",
			"PATCH releases/app/status",
		},
	})
}

func TestKilledAfterEachStepOfAnUpgrade(t *testing.T) {
	testKills(t, killTest{
		prepare: func(w *team) {
			w.setSource(version1)
			w.create("app", fromSource, keepOne)
			w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
		},
		trigger:  func(w *team) { w.setSource(version2) },
		versions: []map[string]string{version1, version2},
		objects:  map[string]string{"kept": "two", "added": "two"},
		requests: []string{
			"dry run", "dry run", "dry run", // two of an apply, one of a delete
			"PUT inventories/app-0",
			"PATCH configmaps/kept",
			"PATCH configmaps/added",
			"DELETE configmaps/gone",
			"PUT inventories/app-0",
			"GET releases/app",
			"PATCH releases/app/status",
		},
	})
}

func TestKilledAfterEachStepOfADeletion(t *testing.T) {
	hook := strings.Replace(configMap("hook", "one", 0), "annotations: {", `annotations: {convoy.dev/hook: "PreDelete,PostDelete", `, 1)
	testKills(t, killTest{
		prepare: func(w *team) {
			w.setSource(map[string]string{"kept.yaml": version1["kept.yaml"], "gone.yaml": version1["gone.yaml"], "hook.yaml": hook})
			w.create("app", fromSource, keepOne)
			w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
		},
		trigger: func(w *team) { w.must(w.env.Client.Delete(w.Context(), w.get("app"))) },
		requests: []string{
			"dry run", "dry run", "dry run", // two of a delete, one of the hook
			"PATCH configmaps/hook",
			"DELETE configmaps/gone",
			"DELETE configmaps/kept",
			"PATCH configmaps/hook",
			"PUT inventories/app-0",
			"DELETE configmaps/hook",
			"PATCH inventories/app-0",
			"DELETE inventories/app-0",
			"PATCH releases/app",
		},
	})
}

// keepOne makes the collection delete what is not the last render.
func keepOne(r *v1alpha1.Release) { r.Spec.RetentionPolicy.KeepHistory = new(int32(1)) }

// killTest is one kind of pass.
type killTest struct {
	prepare  func(*team)
	trigger  func(*team)         // starts the pass
	versions []map[string]string // of the source, the last one is deployed; none if the Release is to be gone
	objects  map[string]string   // what the ConfigMaps hold in the end
	requests []string            // what the pass sends
}

func testKills(t *testing.T, k killTest) {
	b := &breaker{}
	proxy := startProxy(t, b.see)
	for at, request := range k.requests {
		t.Run(fmt.Sprintf("%02d before %s", at, request), func(t *testing.T) { k.run(t, proxy, b, at, false) })
		if isWrite(request) {
			t.Run(fmt.Sprintf("%02d after %s", at, request), func(t *testing.T) { k.run(t, proxy, b, at, true) })
		}
	}
	t.Run("not at all", func(t *testing.T) {
		k.run(t, proxy, b, len(k.requests), false)
		if diff := cmp.Diff(k.requests, b.requests()); diff != "" {
			t.Errorf("the requests of a pass are others than the points above (-want +got):\n%s", diff)
		}
	})
}

func isWrite(request string) bool {
	return request != "dry run" && !strings.HasPrefix(request, http.MethodGet)
}

// run kills a manager at one point, starts another, and looks at what is there in the end.
func (k killTest) run(t *testing.T, proxy *proxy, b *breaker, at int, after bool) {
	w := newTeam(t)
	store := "--render-store-url=" + w.storeURL()
	manager := startManager(t, proxy.Kubeconfig, store)
	if k.prepare != nil {
		k.prepare(w)
	}
	killed := b.arm(w.namespace, at, after, manager.kill)
	defer b.disarm()
	k.trigger(w)
	if at < len(k.requests) {
		select {
		case <-killed:
		case <-time.After(patience):
			t.Fatalf("the pass sent no request %d; it sent %q", at, b.requests())
		}
		w.wantNothingOrphaned()
		startManager(t, proxy.Kubeconfig, store)
	}
	want := end{Owned: map[string]string{}}
	if len(k.versions) == 0 {
		w.awaitReleaseGone("app")
	} else {
		want = w.awaitEnd(k.versions, k.objects)
	}
	if diff := cmp.Diff(want, w.end()); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
}
