package apply

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// seen is a watch that has seen one object, or none.
type seen struct{ meta *metav1.ObjectMeta }

func (s seen) Metadata(context.Context, live.Target) (*metav1.ObjectMeta, bool) { return s.meta, true }

// applied is an object that convoy applied, and another manager's status, at a resourceVersion.
const applied = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, uid: u, resourceVersion: "10", managedFields: [
	{manager: convoy, operation: Apply, apiVersion: v1, time: "2026-01-02T03:04:05Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:key": {}}}}]}, data: {key: one}}`

func TestAnUntouchedObjectIsNotRead(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	memory := NewMemory(clock)
	obj := object(t, applied)
	item := Item{ID: render.IDOf(obj), GVK: obj.GroupVersionKind(), Hash: "h"}
	at := func(change func(*unstructured.Unstructured)) *metav1.ObjectMeta {
		moved := obj.DeepCopy()
		change(moved)
		return live.MetadataOf(moved)
	}
	version := func(v string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.SetResourceVersion(v) }
	}
	other := testOwner
	other.UID = "another"
	memory.remember(testOwner, item, obj, obj)
	for name, tc := range map[string]struct {
		owner live.Owner
		hash  string
		watch Watch
		want  bool
	}{
		"it is as it was":                    {testOwner, "h", seen{at(version("10"))}, true},
		"the watch is behind":                {testOwner, "h", seen{at(version("9"))}, true},
		"it moved":                           {testOwner, "h", seen{at(version("11"))}, false},
		"it moved by more digits":            {testOwner, "h", seen{at(version("100"))}, false},
		"its version is no number":           {testOwner, "h", seen{at(version("x"))}, false},
		"the watch does not see it":          {testOwner, "h", seen{}, false},
		"the kind is not watched":            {testOwner, "h", nil, false},
		"the render has it in another form":  {testOwner, "i", seen{at(version("10"))}, false},
		"it was seen for another Release":    {other, "h", seen{at(version("10"))}, false},
		"what was never seen is not known":   {testOwner, "", seen{at(version("10"))}, false},
		"the watch has it in another object": {testOwner, "h", seen{at(func(o *unstructured.Unstructured) { o.SetUID("v"); o.SetResourceVersion("12") })}, false},
	} {
		survey := Survey{Memory: memory, Watch: tc.watch, Owner: tc.owner}
		if _, got := survey.known(t.Context(), Subject{item.target(), tc.hash}); got != tc.want {
			t.Errorf("%s: known %t, want %t", name, got, tc.want)
		}
	}
}

func TestTheHealthOfAnUnhealthyObjectIsReadAgainInTime(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	memory := NewMemory(clock)
	for manifest, want := range map[string]bool{
		applied: true,
		`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: apps, uid: p, resourceVersion: "10"}, status: {phase: Pending}}`: false,
	} {
		obj := object(t, manifest)
		item := Item{ID: render.IDOf(obj), GVK: obj.GroupVersionKind(), Hash: "h"}
		memory.remember(testOwner, item, obj, obj)
		survey := Survey{Memory: memory, Watch: seen{live.MetadataOf(obj)}, Owner: testOwner}
		if _, known := survey.known(t.Context(), Subject{item.target(), "h"}); !known {
			t.Errorf("%s: not known at once", item.ID)
		}
		clock.SetTime(clock.Now().Add(stillUnhealthy))
		if _, known := survey.known(t.Context(), Subject{item.target(), "h"}); known != want {
			t.Errorf("%s: known %t after %s, want %t", item.ID, known, stillUnhealthy, want)
		}
		survey.find(Subject{item.target(), "h"}, obj)
		if _, known := survey.known(t.Context(), Subject{item.target(), "h"}); !known {
			t.Errorf("%s: not known after it was read again", item.ID)
		}
	}
}

func TestAReadObjectIsTriedUnlessOnlyItsStatusMoved(t *testing.T) {
	memory := NewMemory(clocktesting.NewFakePassiveClock(time.Now()))
	obj := object(t, applied)
	item := Item{ID: render.IDOf(obj), GVK: obj.GroupVersionKind(), Hash: "h"}
	survey := Survey{Memory: memory, Owner: testOwner}
	entry := func(manager, subresource string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			o.SetResourceVersion("11")
			o.SetManagedFields(append(o.GetManagedFields(), metav1.ManagedFieldsEntry{
				Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(`{"f:x":{}}`),
			}))
		}
	}
	for name, tc := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"as it was":        {func(*unstructured.Unstructured) {}, true},
		"its status moved": {entry("controller", "status"), true},
		"somebody wrote":   {entry("kubectl", ""), false},
		"nobody signed": {func(o *unstructured.Unstructured) {
			o.SetResourceVersion("11")
		}, false},
	} {
		memory.remember(testOwner, item, obj, obj)
		now := obj.DeepCopy()
		tc.change(now)
		if found := survey.find(Subject{item.target(), "h"}, now); found.AsDesired != tc.want {
			t.Errorf("%s: as desired %t, want %t", name, found.AsDesired, tc.want)
		}
		if got := memory.releases[testOwner.UID].seen[item.ID].baseline.ResourceVersion == now.GetResourceVersion(); got != tc.want {
			t.Errorf("%s: the memory moved on %t, want %t", name, got, tc.want)
		}
	}
}

func TestAnObjectIsComparedInFullOnceAnHourAndNotAllAtOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	memory := NewMemory(clock)
	obj := object(t, applied)
	const objects = 200
	for i := range objects {
		item := Item{ID: render.ObjectID{Kind: "ConfigMap", Name: string(rune('a' + i))}, Hash: "h"}
		memory.remember(testOwner, item, obj, obj)
	}
	start := clock.Now()
	fresh := func(after time.Duration) (n int) {
		clock.SetTime(start.Add(after))
		for id := range memory.releases[testOwner.UID].seen {
			if _, known, isFresh := memory.recall(testOwner.UID, id, "h"); known && isFresh {
				n++
			}
		}
		return n
	}
	if n := fresh(fullComparison - spread - time.Second); n != objects {
		t.Errorf("before the first is due, %d of %d are fresh", n, objects)
	}
	if n := fresh(fullComparison); n < objects/4 || n > objects*3/4 {
		t.Errorf("in the middle, %d of %d are fresh: too many are due at once", n, objects)
	}
	if n := fresh(fullComparison + spread); n != 0 {
		t.Errorf("after the last was due, %d are fresh", n)
	}
	s := memory.releases[testOwner.UID].seen[render.ObjectID{Kind: "ConfigMap", Name: "a"}]
	memory.move(testOwner, s, obj)
	if _, _, isFresh := memory.recall(testOwner.UID, render.IDOf(obj), "h"); isFresh {
		t.Error("a look at the metadata counts as a full comparison")
	}
	memory.Forget(testOwner.UID)
	clock.SetTime(start)
	if _, known, _ := memory.recall(testOwner.UID, render.IDOf(obj), "h"); known {
		t.Error("a forgotten Release is remembered")
	}
}

func TestOtherRightsSeeEveryObjectAnew(t *testing.T) {
	memory := NewMemory(clocktesting.NewFakePassiveClock(time.Now()))
	obj := object(t, applied)
	item := Item{ID: render.IDOf(obj), Hash: "h"}
	for _, tc := range []struct {
		rights string
		known  bool
	}{{"deployer", false}, {"deployer", true}, {"viewer", false}, {"viewer", true}} {
		memory.begin(Request{Owner: testOwner, Rights: tc.rights})
		if _, known, _ := memory.recall(testOwner.UID, item.ID, "h"); known != tc.known {
			t.Errorf("with the rights of %s: known %t, want %t", tc.rights, known, tc.known)
		}
		memory.remember(testOwner, item, obj, obj)
	}
}
