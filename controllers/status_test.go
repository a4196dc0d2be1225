package controllers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

var (
	noon    = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	pending = live.Unhealthy{{ID: render.ObjectID{Kind: "ConfigMap", Name: "a"}, Verdict: live.Progressing, Message: "not yet"}}
)

func selectionOf(t *testing.T) Selection {
	t.Helper()
	r, err := render.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return Selection{Render: r, Origin: FromSource, Revision: "main@sha1:abc", Summary: "https://git.example.com/app.git@main@sha1:abc"}
}

// observations are what passes see that end at different steps.
func observations(t *testing.T) map[string]func() (Observation, *Failure) {
	selection := selectionOf(t)
	rendered := &RenderedFact{Ref: selection.Render.Ref(), Objects: 1, Summary: selection.Summary}
	applied := &AppliedFact{Selection: selection, Objects: 1}
	waiting := func(phase v1alpha1.SyncPhase) *WaitingFact {
		return &WaitingFact{Waiting: apply.Waiting{Phase: phase, Wave: 2, Objects: pending}, Since: noon}
	}
	return map[string]func() (Observation, *Failure){
		"the source fails": func() (Observation, *Failure) {
			return Observation{}, notRendered(v1alpha1.ReasonSourceFailed, Backoff, "The source cannot be fetched: %w", errors.New("no route"))
		},
		"the files do not render": func() (Observation, *Failure) {
			return Observation{}, notRendered(v1alpha1.ReasonRenderFailed, OnChange, "a.yaml is broken")
		},
		"suspended": func() (Observation, *Failure) {
			return Observation{Rendered: rendered}, &Failure{v1alpha1.ConditionApplied, metav1.ConditionUnknown, v1alpha1.ReasonSuspended, OnChange, errors.New("Suspended")}
		},
		"the dry run fails": func() (Observation, *Failure) {
			return Observation{Rendered: rendered}, notApplied(v1alpha1.ReasonDryRunFailed, Backoff, "rejected")
		},
		"a wave is awaited": func() (Observation, *Failure) {
			return Observation{Rendered: rendered, Attempted: &selection, Waiting: waiting(v1alpha1.SyncPhaseWave)}, nil
		},
		"a wave is late": func() (Observation, *Failure) {
			return Observation{Rendered: rendered, Attempted: &selection, Waiting: waiting(v1alpha1.SyncPhaseWave)},
				notApplied(v1alpha1.ReasonTimedOut, Interval, "late")
		},
		"health is awaited": func() (Observation, *Failure) {
			return Observation{Rendered: rendered, Attempted: &selection, Applied: applied, Waiting: waiting(v1alpha1.SyncPhaseHealth), Health: &HealthFact{Unhealthy: pending}, HistoryCount: new(1)}, nil
		},
		"degraded": func() (Observation, *Failure) {
			return Observation{Rendered: rendered, Attempted: &selection, Applied: applied, Waiting: waiting(v1alpha1.SyncPhaseHealth), Health: &HealthFact{Unhealthy: pending, Late: "late"}, HistoryCount: new(1)},
				&Failure{v1alpha1.ConditionHealthy, metav1.ConditionFalse, v1alpha1.ReasonDegraded, Interval, errors.New("late")}
		},
		"all is well": func() (Observation, *Failure) {
			return Observation{Rendered: rendered, Attempted: &selection, Applied: applied, Health: &HealthFact{}, HistoryCount: new(1)}, nil
		},
	}
}

func TestConditionsOfEachOutcome(t *testing.T) {
	want := map[string]map[string]string{
		"the source fails":        {"Rendered": "False SourceFailed", "Ready": "False SourceFailed", "Reconciling": "True SourceFailed"},
		"the files do not render": {"Rendered": "False RenderFailed", "Ready": "False RenderFailed", "Stalled": "True RenderFailed"},
		"suspended":               {"Rendered": "True Succeeded", "Applied": "Unknown Suspended", "Ready": "Unknown Suspended"},
		"the dry run fails": {
			"Rendered": "True Succeeded", "Applied": "False DryRunFailed", "Ready": "False DryRunFailed", "Reconciling": "True DryRunFailed",
		},
		"a wave is awaited": {
			"Rendered": "True Succeeded", "Applied": "Unknown Progressing", "Healthy": "Unknown Progressing", "Ready": "Unknown Progressing", "Reconciling": "True Progressing",
		},
		"a wave is late": {"Rendered": "True Succeeded", "Applied": "False TimedOut", "Healthy": "Unknown Progressing", "Ready": "False TimedOut", "Stalled": "True TimedOut"},
		"health is awaited": {
			"Rendered": "True Succeeded", "Applied": "True Succeeded", "Healthy": "Unknown Progressing", "Ready": "Unknown Progressing",
			"Reconciling": "True Progressing",
		},
		"degraded": {
			"Rendered": "True Succeeded", "Applied": "True Succeeded", "Healthy": "False Degraded", "Ready": "False Degraded", "Stalled": "True Degraded",
		},
		"all is well": {"Rendered": "True Succeeded", "Applied": "True Succeeded", "Healthy": "True Succeeded", "Ready": "True Succeeded"},
	}
	for name, observe := range observations(t) {
		t.Run(name, func(t *testing.T) {
			seen, failure := observe()
			got := map[string]string{}
			for _, c := range nextStatus(v1alpha1.ReleaseStatus{}, &v1alpha1.Release{}, seen, failure, noon).Conditions {
				got[c.Type] = string(c.Status) + " " + c.Reason
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusIsAFixedPoint(t *testing.T) {
	for name, observe := range observations(t) {
		t.Run(name, func(t *testing.T) {
			seen, failure := observe()
			once := nextStatus(v1alpha1.ReleaseStatus{}, &v1alpha1.Release{}, seen, failure, noon)
			twice := nextStatus(once, &v1alpha1.Release{}, seen, failure, noon.Add(time.Hour))
			if diff := cmp.Diff(once, twice); diff != "" {
				t.Errorf("nothing changed in the world, and the status did (-once +twice):\n%s", diff)
			}
		})
	}
}

func TestReadyIsNeverTrueWithoutTheOthers(t *testing.T) {
	for before, observeBefore := range observations(t) {
		for after, observeAfter := range observations(t) {
			seen, failure := observeBefore()
			status := nextStatus(v1alpha1.ReleaseStatus{}, &v1alpha1.Release{}, seen, failure, noon)
			seen, failure = observeAfter()
			status = nextStatus(status, &v1alpha1.Release{}, seen, failure, noon)
			if ready := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady); ready != (after == "all is well") {
				t.Errorf("%s, then %s: Ready is %t", before, after, ready)
			}
			if reconciling, stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReconciling), meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); reconciling != nil && stalled != nil {
				t.Errorf("%s, then %s: both Reconciling and Stalled", before, after)
			}
		}
	}
}

func TestRecordsMoveAtTheirStep(t *testing.T) {
	type moved struct{ Attempted, Successful, Healthy bool }
	want := map[string]moved{
		"the source fails": {}, "the files do not render": {}, "suspended": {}, "the dry run fails": {},
		"a wave is awaited": {Attempted: true},
		"a wave is late":    {Attempted: true},
		"health is awaited": {Attempted: true, Successful: true},
		"degraded":          {Attempted: true, Successful: true},
		"all is well":       {Attempted: true, Successful: true, Healthy: true},
	}
	for name, observe := range observations(t) {
		seen, failure := observe()
		s := nextStatus(v1alpha1.ReleaseStatus{}, &v1alpha1.Release{}, seen, failure, noon)
		if got := (moved{s.LastAttempted != nil, s.LastSuccessful != nil, s.LastHealthy != nil}); got != want[name] {
			t.Errorf("%s: moved %+v, want %+v", name, got, want[name])
		}
	}
}

func TestRecordKeepsItsTimeWhileTheRenderStays(t *testing.T) {
	selection := selectionOf(t)
	first := selection.record(nil, noon)
	selection.Revision = "main@sha1:def"
	later := selection.record(first, noon.Add(time.Hour))
	if !later.Time.Equal(&first.Time) || later.Revision != "main@sha1:def" {
		t.Errorf("got %+v, want the time of the first and the revision of the last", later)
	}
	other := &v1alpha1.RenderRecord{RenderRef: "sha256:other", Time: metav1.NewTime(noon)}
	if moved := selection.record(other, noon.Add(time.Hour)); moved.Time.Equal(&other.Time) {
		t.Error("another render kept the time")
	}
}

func TestLongMessagesAreCutAtACharacter(t *testing.T) {
	for _, text := range []string{strings.Repeat("ä", longestMessage), "x" + strings.Repeat("ä", longestMessage), strings.Repeat("x", 2*longestMessage)} {
		got := shortened(text)
		if len(got) > longestMessage || !strings.HasSuffix(got, " …") || strings.ContainsRune(got, '�') {
			t.Errorf("%d bytes became %d, ending in %q", len(text), len(got), got[len(got)-8:])
		}
	}
	if got := shortened("short"); got != "short" {
		t.Errorf("got %q", got)
	}
}

func TestPollsFollowTheIntervalAndTheGeneration(t *testing.T) {
	p := newPolls()
	release := &v1alpha1.Release{}
	release.UID, release.Generation, release.Spec.Interval.Duration = "u", 1, time.Minute
	if !p.due(release, noon) {
		t.Error("a source that was never asked is not due")
	}
	p.done(release, noon)
	for _, tc := range []struct {
		name string
		now  time.Time
		want bool
	}{
		{"before the interval", noon.Add(59 * time.Second), false},
		{"at the interval", noon.Add(time.Minute), true},
		{"after the clock jumped back", noon.Add(-time.Hour), true},
		{"after the clock jumped ahead", noon.Add(1000 * time.Hour), true},
	} {
		if got := p.due(release, tc.now); got != tc.want {
			t.Errorf("%s: due %t, want %t", tc.name, got, tc.want)
		}
	}
	release.Generation = 2
	if !p.due(release, noon) {
		t.Error("a changed Release does not ask its source")
	}
}

func TestTemplatesThatDidNotEndAreTriedAgainAfterAnInterval(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		built built
		want  bool
	}{
		"what rendered":                {built{}, true},
		"what did not end, soon after": {built{err: render.ErrUnfinished, until: now.Add(time.Second)}, true},
		"what did not end, later":      {built{err: render.ErrUnfinished, until: now}, false},
	} {
		if got := tc.built.counts(now); got != tc.want {
			t.Errorf("%s: counts %t, want %t", name, got, tc.want)
		}
	}
}
