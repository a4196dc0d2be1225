package live

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestAssess(t *testing.T) {
	job := func(rest string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, ` + rest + `}`
	}
	deployment := func(rest string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 1, progressDeadlineSeconds: 9}, status: {` + rest + `}}`
	}
	for name, tc := range map[string]struct {
		manifest string
		want     Verdict
	}{
		"a ConfigMap": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, Healthy},
		"a Deployment that its controller has not seen": {deployment(`observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1`), Progressing},
		"a Deployment whose pods are available": {deployment(`observedGeneration: 2, replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1,
			conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]`), Healthy},
		"a Deployment past its deadline":  {deployment(`observedGeneration: 2, replicas: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]`), Failed},
		"a Job that has started":          {job(`status: {startTime: "2026-01-01T00:00:00Z", active: 1}`), Progressing},
		"a Job that is complete":          {job(`status: {startTime: "2026-01-01T00:00:00Z", succeeded: 1, conditions: [{type: Complete, status: "True"}]}`), Healthy},
		"a Job that has failed":           {job(`status: {startTime: "2026-01-01T00:00:00Z", failed: 1, conditions: [{type: Failed, status: "True"}]}`), Failed},
		"a Job that is suspended":         {job(`spec: {suspend: true}, status: {startTime: "2026-01-01T00:00:00Z", conditions: [{type: Suspended, status: "True"}]}`), Healthy},
		"an object that is being deleted": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}}`, Progressing},
		"a custom resource that stalls":   {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {conditions: [{type: Stalled, status: "True"}]}}`, Failed},
		"a status that makes no sense":    {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, status: {conditions: broken}}`, Progressing},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Assess(object(t, tc.manifest)); got.Verdict != tc.want {
				t.Errorf("verdict %d (%s), want %d", got.Verdict, got.Message, tc.want)
			}
		})
	}
}

func TestSummarizeNamesTheFailedFirstAndCountsTheRest(t *testing.T) {
	var objects []*unstructured.Unstructured
	for range 5 {
		objects = append(objects, object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: slow, namespace: apps}, status: {startTime: "2026-01-01T00:00:00Z"}}`))
	}
	objects = append(objects,
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}`),
		object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: broken, namespace: apps}, status: {startTime: "2026-01-01T00:00:00Z", conditions: [{type: Failed, status: "True", message: no luck}]}}`))
	unhealthy := Summarize(objects)
	if len(unhealthy) != 6 || !unhealthy.Failed() {
		t.Fatalf("got %d unhealthy, failed %t, want 6 and true", len(unhealthy), unhealthy.Failed())
	}
	text := unhealthy.String()
	if !strings.HasPrefix(text, "Job.batch apps/broken (") || !strings.HasSuffix(text, "; and 3 more") || strings.Contains(text, "fine") {
		t.Errorf("got %q", text)
	}
}
