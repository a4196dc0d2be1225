package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// asPlugin is set for a process of the test binary that is to be the command.
const asPlugin = "CONVOY_TEST_AS_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		main()
	}
	testenv.Main(m)
}

// Renders, and the time at which the tests take place.
var (
	refA = "sha256:3a5f0c9be1d2" + strings.Repeat("a", 52)
	refB = "sha256:b7e1406f9c33" + strings.Repeat("b", 52)
	refC = "sha256:3a5f0c9be1ff" + strings.Repeat("c", 52)
	noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

// before is a time before noon.
func before(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// outcome is what a command did.
type outcome struct {
	stdout, stderr string
	code           int
}

// execute runs a command in this process. Nobody answers questions.
func execute(ctx context.Context, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := run(ctx, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}, args)
	return outcome{stdout.String(), stderr.String(), code}
}

// condition makes a condition that has been so for an hour.
func condition(name string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, Reason: reason, Message: message, LastTransitionTime: before(time.Hour), ObservedGeneration: 3}
}

// record is a render that was recorded some time ago.
func record(ref, revision string, ago time.Duration) *v1alpha1.RenderRecord {
	return &v1alpha1.RenderRecord{RenderRef: ref, Revision: revision, Time: before(ago)}
}

// appliedRelease makes a Release that runs refA and is healthy.
func appliedRelease() *v1alpha1.Release {
	r := &v1alpha1.Release{}
	r.APIVersion, r.Kind = v1alpha1.GroupVersion.String(), "Release"
	r.Namespace, r.Name, r.Generation, r.CreationTimestamp = "apps", "podinfo", 3, before(48*time.Hour)
	r.Spec.Source.Git = &v1alpha1.GitSource{URL: "https://git.example.com/team/podinfo.git", Ref: v1alpha1.GitRef{Branch: "main"}, Path: "deploy"}
	a := record(refA, "main@sha1:0b4c1d5e", 2*time.Hour)
	r.Status = v1alpha1.ReleaseStatus{
		ObservedGeneration: 3, Render: "3a5f0c9be1d2", LastAttempted: a, LastSuccessful: a, LastHealthy: a,
		Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Applied 2 objects of render 3a5f0c9be1d2, and all are healthy"),
			condition(v1alpha1.ConditionRendered, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Rendered 2 objects"),
			condition(v1alpha1.ConditionApplied, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Applied 2 objects of render 3a5f0c9be1d2"),
			condition(v1alpha1.ConditionHealthy, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "All objects are healthy"),
		},
	}
	return r
}

// with sets conditions of a Release, in place of those of the same type.
func with(r *v1alpha1.Release, conditions ...metav1.Condition) *v1alpha1.Release {
	for _, c := range conditions {
		replaced := false
		for i := range r.Status.Conditions {
			if r.Status.Conditions[i].Type == c.Type {
				r.Status.Conditions[i], replaced = c, true
			}
		}
		if !replaced {
			r.Status.Conditions = append(r.Status.Conditions, c)
		}
	}
	return r
}

// pinOn pins a Release, as of half an hour ago.
func pinOn(r *v1alpha1.Release, ref string) *v1alpha1.Release {
	r.Pin = &v1alpha1.Pin{RenderRef: ref, PinnedBy: "alice", PinnedAt: before(30 * time.Minute), Reason: "INC-1234"}
	r.Status.Pin = &v1alpha1.PinStatus{RenderRef: ref, Intent: v1alpha1.PinRollback}
	if lastApplied(r.Status) == ref {
		r.Status.Pin.Intent = v1alpha1.PinFreeze
	}
	return r
}
