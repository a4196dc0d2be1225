package live

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// applied is an object as the server answers an apply of convoy, with the entries of two others.
const applied = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: u
  resourceVersion: "10"
  generation: 2
  labels: {app: web, team: theirs}
  annotations: {note: ours, other: theirs}
  managedFields:
  - {manager: convoy, operation: Apply, apiVersion: apps/v1, time: "2026-01-02T03:04:05Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: kubectl, operation: Update, apiVersion: apps/v1, time: "2026-01-02T03:04:06Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {manager: controller, operation: Update, subresource: status, apiVersion: apps/v1, time: "2026-01-02T03:04:07Z", fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}
`

// sent is what convoy applied to get there.
const sent = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}, annotations: {note: ours}}}`

// entries changes the managedFields of an object; the entries are convoy's, kubectl's and that of the status.
func entries(change func(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { obj.SetManagedFields(change(obj.GetManagedFields())) }
}

func entry(i int, change func(*metav1.ManagedFieldsEntry)) func(*unstructured.Unstructured) {
	return entries(func(e []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		change(&e[i])
		return e
	})
}

func without(i int) func(*unstructured.Unstructured) {
	return entries(func(e []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry { return append(e[:i:i], e[i+1:]...) })
}

func TestJudgementFollowsFromMetadataStepByStep(t *testing.T) {
	set := func(at, key, value string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(obj.Object, value, "metadata", at, key); err != nil {
				panic(err)
			}
		}
	}
	generation := func(n int64) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) { obj.SetGeneration(n) }
	}
	moved := func(*unstructured.Unstructured) {}
	for name, tc := range map[string]struct {
		generation int64 // before
		change     func(*unstructured.Unstructured)
		want       Suspicion
	}{
		"1: it is being deleted": {2, func(obj *unstructured.Unstructured) {
			now := metav1.Now()
			obj.SetDeletionTimestamp(&now)
		}, Drifted},
		"1: it is another object":         {2, func(obj *unstructured.Unstructured) { obj.SetUID("v") }, Drifted},
		"1: convoy owns nothing any more": {2, without(0), Drifted},
		"1: convoy owns other fields":     {2, entry(0, func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{}}`) }), Drifted},
		"1: convoy's entry was written":   {2, entry(0, func(e *metav1.ManagedFieldsEntry) { e.Time = &metav1.Time{Time: e.Time.Add(time.Second)} }), Drifted},
		"2: our label has another value":  {2, set("labels", "app", "other"), Drifted},
		"2: our label is gone":            {2, func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"team": "theirs"}) }, Drifted},
		"2: our annotation has another":   {2, set("annotations", "note", "other"), Drifted},
		"2: our annotation is empty":      {2, set("annotations", "note", ""), Drifted},
		"2: the label of another manager": {2, set("labels", "team", "other"), Clean},
		"2: another's annotation":         {2, set("annotations", "other", "new"), Clean},
		"3: the generation moved":         {2, generation(3), Suspect},
		"3: another manager wrote":        {2, entry(1, func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{}}`) }), Suspect},
		"3: at another time":              {2, entry(1, func(e *metav1.ManagedFieldsEntry) { e.Time = nil }), Suspect},
		"3: another manager is gone":      {2, without(1), Suspect},
		"3: another manager came": {2, entries(func(e []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
			return append(e, metav1.ManagedFieldsEntry{Manager: "new"})
		}), Suspect},
		"3: another apply of convoy's name": {2, entries(func(e []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
			return append(e, metav1.ManagedFieldsEntry{Manager: "convoy", Operation: "Update"})
		}), Suspect},
		"4: only the version moved": {0, moved, Suspect},
		"4: with a generation":      {2, moved, Clean},
		"5: the status moved":       {0, entry(2, func(e *metav1.ManagedFieldsEntry) { e.Time = nil }), Clean},
		"5: a status entry came": {0, entries(func(e []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
			return append(e, metav1.ManagedFieldsEntry{Manager: "new", Subresource: "status"})
		}), Clean},
	} {
		t.Run(name, func(t *testing.T) {
			before := manifest(t, applied)
			before.SetGeneration(tc.generation)
			baseline := BaselineOf(before, manifest(t, sent))
			if got := baseline.Judge(MetadataOf(before)); got != Clean {
				t.Fatalf("the object itself is %s, want clean", got)
			}
			now := before.DeepCopy()
			now.SetResourceVersion("11")
			tc.change(now)
			if got := baseline.Judge(MetadataOf(now)); got != tc.want {
				t.Errorf("judged %s, want %s", got, tc.want)
			}
			if got := baseline.Moved(MetadataOf(now)).Judge(MetadataOf(now)); tc.want != Drifted && got != Clean {
				t.Errorf("once it was compared, judged %s, want clean", got)
			}
		})
	}
}

func TestTheFieldsOfAnEntryCountInAnyOrderOfBytes(t *testing.T) {
	before := manifest(t, applied)
	for _, fields := range []string{`{"f:spec":{"f:replicas":{},"k:{\"name\":\"a\"}":{".":{}}}}`, `{"f:spec": {"k:{\"name\":\"a\"}": {".": {}}, "f:replicas": {}}}`} {
		entry(0, func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = metav1.NewFieldsV1(fields) })(before)
		other := before.DeepCopy()
		meta := &metav1.ObjectMeta{UID: "u", ResourceVersion: "10", Labels: other.GetLabels(), Annotations: other.GetAnnotations(), ManagedFields: other.GetManagedFields()}
		meta.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(fields)
		Compact(meta)
		if got := BaselineOf(before, manifest(t, sent)).Judge(meta); got != Clean {
			t.Errorf("as the server wrote it: judged %s, want clean", got)
		}
	}
}

func TestCompactMetadataStaysAsItIsAndHoldsNoValue(t *testing.T) {
	obj := manifest(t, applied)
	obj.SetAnnotations(map[string]string{"note": "a long and telling value"})
	meta := MetadataOf(obj)
	again := meta.DeepCopy()
	Compact(again)
	if diff := cmp.Diff(meta, again); diff != "" {
		t.Errorf("compact metadata was changed (-before +after):\n%s", diff)
	}
	if text := meta.String(); strings.Contains(text, "telling") || strings.Contains(text, "replicas") {
		t.Errorf("a value, or a field, is still there: %s", text)
	}
	bare := &metav1.ObjectMeta{}
	Compact(bare)
	if !isCompact(bare) {
		t.Error("metadata without managedFields is not marked as compact")
	}
}

func TestTakenNamesFieldsAndManagersWithoutValues(t *testing.T) {
	fields := `{"f:spec": {"f:replicas": {}, "f:selector": {"f:app": {}}, "f:list": {"v:\"secret\"": {}}, "f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}`
	next := ownedBy(t, manifest(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}`), fields, `{}`)
	for name, tc := range map[string]struct {
		ours, theirs string
		paths        []string
		managers     []string
	}{
		"nothing":                 {fields, `{"f:spec": {"f:paused": {}}}`, nil, nil},
		"a field":                 {strings.Replace(fields, `"f:replicas": {}, `, "", 1), `{"f:spec": {"f:replicas": {}}}`, []string{"spec.replicas"}, []string{"autoscaler"}},
		"a removed field":         {strings.Replace(fields, `"f:replicas": {}, `, "", 1), `{}`, []string{"spec.replicas"}, nil},
		"a field, with others":    {strings.Replace(fields, `"f:replicas": {}, `, "", 1), `{"f:spec": {"f:paused": {}}}`, []string{"spec.replicas"}, nil},
		"a part of a whole":       {strings.Replace(fields, `"f:app": {}`, "", 1), `{"f:spec": {"f:selector": {}}}`, []string{"spec.selector.app"}, []string{"autoscaler"}},
		"a field of an element":   {strings.Replace(fields, `"f:image": {}`, "", 1), `{"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}`, []string{`spec.containers[name="web"].image`}, []string{"autoscaler"}},
		"a value of a plain list": {strings.Replace(fields, `"v:\"secret\"": {}`, "", 1), `{"f:spec": {"f:list": {"v:\"secret\"": {}}}}`, []string{"spec.list"}, []string{"autoscaler"}},
	} {
		now := ownedBy(t, manifest(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}`), tc.ours, tc.theirs)
		paths, managers := Taken(now, next)
		if diff := cmp.Diff(tc.paths, paths); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.managers, managers); diff != "" {
			t.Errorf("%s: managers (-want +got):\n%s", name, diff)
		}
	}
}

func BenchmarkCompact(b *testing.B) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"note":"value"}}}`)); err != nil {
		b.Fatal(err)
	}
	full := metav1.ObjectMeta{Annotations: obj.GetAnnotations(), ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "convoy", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:app":{},"f:convoy.dev/release-name":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`)},
		{Manager: "controller", Operation: "Update", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:replicas":{},"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:status":{}}}}}`)},
	}}
	for b.Loop() {
		meta := full
		Compact(&meta)
	}
}
