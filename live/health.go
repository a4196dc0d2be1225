package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/render"
)

// Verdict is what the health of an object comes to.
type Verdict int

// The verdicts, from best to worst.
const (
	// Healthy: the object is what its spec asks for.
	Healthy Verdict = iota
	// Progressing: the object is on its way.
	Progressing
	// Failed: the object says that it will not get there by itself.
	Failed
)

// Health is the health of one object.
type Health struct {
	ID      render.ObjectID
	Verdict Verdict
	Message string
}

// Assess computes the health of a live object by kstatus, and of a Job by its completion: kstatus calls a Job healthy once it has
// started, but what comes after a Job in the waves needs its result.
func Assess(obj *unstructured.Unstructured) Health {
	health := Health{ID: render.IDOf(obj)}
	result, err := status.Compute(obj)
	if err != nil {
		health.Verdict, health.Message = Progressing, "its status cannot be read: "+err.Error()
		return health
	}
	health.Message = result.Message
	switch result.Status {
	case status.CurrentStatus:
		if done, message := jobDone(obj); !done {
			health.Verdict, health.Message = Progressing, message
		}
	case status.FailedStatus:
		health.Verdict = Failed
	default:
		health.Verdict = Progressing
	}
	return health
}

// jobDone says whether the object is no Job, or one that is complete or suspended.
func jobDone(obj *unstructured.Unstructured) (bool, string) {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "batch", Kind: "Job"}) {
		return true, ""
	}
	if suspended, _, err := unstructured.NestedBool(obj.Object, "spec", "suspend"); err == nil && suspended {
		return true, ""
	}
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false, "its conditions cannot be read: " + err.Error()
	}
	complete := slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Complete" && condition["status"] == "True"
	})
	return complete, "Job is not complete"
}

// Unhealthy are the objects that are not healthy, the failed ones first.
type Unhealthy []Health

// Summarize assesses the objects and keeps those that are not healthy.
func Summarize(objects []*unstructured.Unstructured) Unhealthy {
	healths := make([]Health, 0, len(objects))
	for _, obj := range objects {
		healths = append(healths, Assess(obj))
	}
	return Worst(healths)
}

// Worst keeps those that are not healthy.
func Worst(healths []Health) Unhealthy {
	var u Unhealthy
	for _, h := range healths {
		if h.Verdict != Healthy {
			u = append(u, h)
		}
	}
	slices.SortStableFunc(u, func(a, b Health) int { return int(b.Verdict) - int(a.Verdict) })
	return u
}

// Failed says whether one of the objects has failed.
func (u Unhealthy) Failed() bool { return len(u) > 0 && u[0].Verdict == Failed }

// String names the first objects and what is wrong with each, and counts the rest.
func (u Unhealthy) String() string {
	const most = 3
	var parts []string
	for _, h := range u[:min(len(u), most)] {
		parts = append(parts, fmt.Sprintf("%s (%s)", h.ID, strings.TrimRight(h.Message, ".")))
	}
	s := strings.Join(parts, "; ")
	if rest := len(u) - most; rest > 0 {
		s += fmt.Sprintf("; and %d more", rest)
	}
	return s
}
