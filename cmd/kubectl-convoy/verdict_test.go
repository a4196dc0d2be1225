package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// allReasons are the values of all reasons that conditions have.
func allReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, value)
		return true
	})
	if len(reasons) < 10 {
		t.Fatalf("found only the reasons %v", reasons)
	}
	return reasons
}

// reasonsOfFailures are those of conditions that are False.
func reasonsOfFailures(t *testing.T) []string {
	t.Helper()
	good := []string{v1alpha1.ReasonSucceeded, v1alpha1.ReasonProgressing, v1alpha1.ReasonWaitingForSync, v1alpha1.ReasonSuspended}
	return slices.DeleteFunc(allReasons(t), func(reason string) bool { return slices.Contains(good, reason) })
}

// A word for what the condition Applied says, with what goes with it.
func saying(r *v1alpha1.Release, status metav1.ConditionStatus, reason string, stalled bool) *v1alpha1.Release {
	progress := v1alpha1.ConditionReconciling
	if stalled {
		progress = v1alpha1.ConditionStalled
	}
	return with(r,
		condition(v1alpha1.ConditionApplied, status, reason, "the message"),
		condition(progress, metav1.ConditionTrue, reason, "the message"))
}

func TestVerdictOfEachReasonOfApplied(t *testing.T) {
	type said struct {
		status  metav1.ConditionStatus
		stalled bool
		want    state
	}
	cases := map[string][]said{
		v1alpha1.ReasonSucceeded:      {{metav1.ConditionTrue, false, reached}},
		v1alpha1.ReasonProgressing:    {{metav1.ConditionUnknown, false, pending}},
		v1alpha1.ReasonSourceFailed:   {{metav1.ConditionFalse, false, pending}}, // reasons of Rendered, as an unpin meets them
		v1alpha1.ReasonRenderFailed:   {{metav1.ConditionFalse, true, failed}},
		v1alpha1.ReasonDryRunFailed:   {{metav1.ConditionFalse, false, pending}, {metav1.ConditionFalse, true, failed}},
		v1alpha1.ReasonDeployFailed:   {{metav1.ConditionFalse, false, pending}, {metav1.ConditionFalse, true, failed}},
		v1alpha1.ReasonHookFailed:     {{metav1.ConditionFalse, true, failed}},
		v1alpha1.ReasonPruneRefused:   {{metav1.ConditionFalse, true, failed}},
		v1alpha1.ReasonRolledBack:     {{metav1.ConditionFalse, true, failed}},  // it holds until somebody acts
		v1alpha1.ReasonTimedOut:       {{metav1.ConditionFalse, true, pending}}, // it goes on by itself
		v1alpha1.ReasonPinned:         {{metav1.ConditionFalse, true, failed}},
		v1alpha1.ReasonContested:      {{metav1.ConditionFalse, true, failed}}, // somebody has to stop the other
		v1alpha1.ReasonWaitingForSync: {{metav1.ConditionUnknown, false, failed}},
		v1alpha1.ReasonSuspended:      {{metav1.ConditionUnknown, false, failed}},
		v1alpha1.ReasonDegraded:       {{metav1.ConditionFalse, true, failed}}, // never of Applied
	}
	for _, reason := range allReasons(t) {
		if cases[reason] == nil {
			t.Errorf("the reason %s has no case here: decide whether a wait goes on when Applied has it", reason)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(cases)) {
		for _, c := range cases[reason] {
			r := saying(pinOn(appliedRelease(), refA), c.status, reason, c.stalled)
			got := pinApplied(refA)(r)
			if got.state != c.want || !strings.Contains(got.message, "the message") {
				t.Errorf("Applied is %s with reason %s, stalled %t: got %d (%s), want %d and the message", c.status, reason, c.stalled, got.state, got.message, c.want)
			}
			tells := strings.Contains(got.message, "convoy tries on")
			if retried := c.status == metav1.ConditionFalse && c.want == pending; tells != retried {
				t.Errorf("reason %s: %q, and convoy tries on: %t", reason, got.message, retried)
			}
		}
	}
}

func TestAPinIsAppliedOnlyOnceEverythingSaysSo(t *testing.T) {
	for name, tc := range map[string]struct {
		release *v1alpha1.Release
		want    state
		says    string
	}{
		"applied":                       {pinOn(appliedRelease(), refA), reached, "all are healthy"},
		"applied, and not healthy":      {with(pinOn(appliedRelease(), refA), condition("Healthy", metav1.ConditionFalse, "Degraded", "Pod crashes")), reached, "not all are healthy: Pod crashes"},
		"what is applied is another":    {pinOn(appliedRelease(), refB), failed, "alice pinned render b7e1406f9c33"},
		"not looked at":                 {changed(pinOn(appliedRelease(), refA), func(r *v1alpha1.Release) { r.Generation = 4 }), pending, "not looked at"},
		"unpinned":                      {appliedRelease(), failed, "taken off"},
		"being deleted":                 {changed(pinOn(appliedRelease(), refA), func(r *v1alpha1.Release) { now := before(0); r.DeletionTimestamp = &now }), failed, "being deleted"},
		"the status knows no pin":       {changed(pinOn(appliedRelease(), refA), func(r *v1alpha1.Release) { r.Status.Pin = nil }), pending, "Another render"},
		"the last success is another":   {changed(pinOn(appliedRelease(), refA), func(r *v1alpha1.Release) { r.Status.LastSuccessful = record(refB, "", 0) }), pending, "Another render"},
		"nothing was applied":           {changed(pinOn(appliedRelease(), refA), func(r *v1alpha1.Release) { r.Status.LastSuccessful = nil }), pending, "Another render"},
		"the source fails all the same": {with(pinOn(appliedRelease(), refA), condition("Rendered", metav1.ConditionFalse, "SourceFailed", "no route")), reached, ""},
		"a failure of an earlier pin": {changed(saying(pinOn(appliedRelease(), refA), metav1.ConditionFalse, "Pinned", true),
			func(r *v1alpha1.Release) { r.Generation = 4 }), pending, "not looked at"},
		"what stalls is the source": {with(saying(pinOn(appliedRelease(), refA), metav1.ConditionFalse, "DeployFailed", false),
			condition("Stalled", metav1.ConditionTrue, "RenderFailed", "a.yaml")), pending, "convoy tries on"},
		"an earlier failure that stalls": {changed(saying(pinOn(appliedRelease(), refA), metav1.ConditionFalse, "DeployFailed", true),
			func(r *v1alpha1.Release) {
				r.Generation = 4
				for i := range r.Status.Conditions {
					if r.Status.Conditions[i].Type == "Applied" {
						r.Status.Conditions[i].ObservedGeneration = 4
					}
				}
			}), pending, "convoy tries on"},
	} {
		t.Run(name, func(t *testing.T) {
			got := pinApplied(refA)(tc.release)
			if got.state != tc.want || !strings.Contains(got.message, tc.says) {
				t.Errorf("got %d (%s), want %d and %q", got.state, got.message, tc.want, tc.says)
			}
		})
	}
}

func changed(r *v1alpha1.Release, change func(*v1alpha1.Release)) *v1alpha1.Release {
	change(r)
	return r
}

func TestAnUnpinIsDoneOnceTheSourceIsApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		release *v1alpha1.Release
		want    state
		says    string
	}{
		"applied":            {appliedRelease(), reached, "all are healthy"},
		"pinned again":       {pinOn(appliedRelease(), refB), failed, "alice pinned render b7e1406f9c33"},
		"not looked at":      {changed(appliedRelease(), func(r *v1alpha1.Release) { r.Generation = 4 }), pending, "not looked at"},
		"the source is down": {with(appliedRelease(), condition("Rendered", metav1.ConditionFalse, "SourceFailed", "no route")), pending, "no route (convoy tries on)"},
		"the files are broken": {with(appliedRelease(), condition("Rendered", metav1.ConditionFalse, "RenderFailed", "a.yaml"),
			condition("Stalled", metav1.ConditionTrue, "RenderFailed", "a.yaml")), failed, "a.yaml"},
		"suspended": {saying(appliedRelease(), metav1.ConditionUnknown, "Suspended", false), failed, "the message"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sourceApplied(tc.release)
			if got.state != tc.want || !strings.Contains(got.message, tc.says) {
				t.Errorf("got %d (%s), want %d and %q", got.state, got.message, tc.want, tc.says)
			}
		})
	}
}

func TestASyncIsDoneOnceItWasActedOnAndApplied(t *testing.T) {
	const asked, earlier, later = "2026-11-29T12:00:00.5Z", "2026-11-29T12:00:00Z", "2026-11-29T12:00:01Z"
	handled := func(at, ref string) *v1alpha1.Release {
		return changed(appliedRelease(), func(r *v1alpha1.Release) { r.Status.LastHandledSyncAt, r.Status.LastHandledSyncRef = at, ref })
	}
	for name, tc := range map[string]struct {
		release *v1alpha1.Release
		want    state
		says    string
	}{
		"applied":                  {handled(asked, refA), reached, "all are healthy"},
		"a later one was acted on": {handled(later, refA), reached, "all are healthy"},
		"only an earlier one":      {handled(earlier, refA), pending, "not acted on the request yet"},
		"none yet":                 {handled("", ""), pending, "not acted on the request yet"},
		"the source is down": {with(handled(earlier, refA), condition("Rendered", metav1.ConditionFalse, "SourceFailed", "no route"),
			condition("Stalled", metav1.ConditionTrue, "SourceFailed", "no route")), pending, "no route"},
		"the files were broken before": {with(handled(earlier, refA), condition("Rendered", metav1.ConditionFalse, "RenderFailed", "a.yaml"),
			condition("Stalled", metav1.ConditionTrue, "RenderFailed", "a.yaml")), pending, "a.yaml"},
		"the dry run fails":                  {saying(handled(asked, refB), metav1.ConditionFalse, "DryRunFailed", false), pending, "convoy tries on"},
		"a wave failed":                      {saying(handled(asked, refB), metav1.ConditionFalse, "DeployFailed", true), failed, "the message"},
		"applied, and something newer waits": {saying(handled(asked, refA), metav1.ConditionUnknown, "WaitingForSync", false), reached, "something newer"},
		"overtaken by something newer":       {saying(handled(asked, refB), metav1.ConditionUnknown, "WaitingForSync", false), failed, "the message"},
		"suspended":                          {changed(handled("", ""), func(r *v1alpha1.Release) { r.Spec.Suspend = true }), failed, "spec.suspend"},
		"pinned and suspended":               {changed(pinOn(handled(asked, refA), refA), func(r *v1alpha1.Release) { r.Spec.Suspend = true }), reached, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := syncHandled(asked)(tc.release)
			if got.state != tc.want || !strings.Contains(got.message, tc.says) {
				t.Errorf("got %d (%s), want %d and %q", got.state, got.message, tc.want, tc.says)
			}
		})
	}
}
