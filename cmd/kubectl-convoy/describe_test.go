package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

func TestDescriptionOfARelease(t *testing.T) {
	for name, tc := range map[string]struct {
		release func() *v1alpha1.Release
		want    string
	}{
		"that is well": {appliedRelease, `
Release   podinfo in namespace apps
          ready
Source    https://git.example.com/team/podinfo.git, branch main, folder deploy
Runs      render 3a5f0c9be1d2 since 2026-11-29 10:00:00 UTC (120m ago)
          revision main@sha1:0b4c1d5e
          REF_A
Health    healthy
          since 2026-11-29 11:00:00 UTC (60m ago)
Pin       none: the Release follows its source
`},
		"that is frozen until tomorrow": {func() *v1alpha1.Release {
			r := pinOn(appliedRelease(), refA)
			ends := metav1.NewTime(noon.Add(24 * time.Hour))
			r.Pin.ExpiresAt = &ends
			return r
		}, `
Release   podinfo in namespace apps
          ready
Source    https://git.example.com/team/podinfo.git, branch main, folder deploy
Runs      render 3a5f0c9be1d2 since 2026-11-29 10:00:00 UTC (120m ago)
          revision main@sha1:0b4c1d5e
          REF_A
Health    healthy
          since 2026-11-29 11:00:00 UTC (60m ago)
Pin       freeze on render 3a5f0c9be1d2 by alice, 2026-11-29 11:30:00 UTC (30m ago)
          why: INC-1234
          until 2026-11-30 12:00:00 UTC (in 24h), or somebody unpins it: kubectl convoy release unpin podinfo -n apps
`},
		"whose deploy hangs in wave 2": {hanging, `
Release   podinfo in namespace apps
          not ready yet
Source    https://git.example.com/team/podinfo.git, branch main, folder deploy
Runs      render 3a5f0c9be1d2 since 2026-11-29 10:00:00 UTC (120m ago)
          revision main@sha1:0b4c1d5e
          REF_A
          partly render b7e1406f9c33, which was begun 2026-11-29 11:55:00 UTC (5m ago)
Health    not known to be healthy: Render b7e1406f9c33 is not applied in full yet
Pin       none: the Release follows its source
Awaited   Waiting for wave 2 to be healthy: Deployment podinfo: 0 of 1 replicas
          since 2026-11-29 11:57:00 UTC (3m ago)
`},
		"whose deletion a hook holds": {func() *v1alpha1.Release {
			r := with(appliedRelease(), condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonHookFailed, "A PreDelete hook failed"),
				condition(v1alpha1.ConditionApplied, metav1.ConditionFalse, v1alpha1.ReasonHookFailed, "A PreDelete hook failed: Job.batch apps/backup"))
			since := before(4 * time.Minute)
			r.DeletionTimestamp = &since
			r.Status.Sync = &v1alpha1.SyncStatus{StartedAt: before(3 * time.Minute), Phase: v1alpha1.SyncPhasePreDelete, Hook: "Job.batch apps/backup"}
			return r
		}, `
Release   podinfo in namespace apps
          not ready
          being deleted since 2026-11-29 11:56:00 UTC (4m ago)
Source    https://git.example.com/team/podinfo.git, branch main, folder deploy
Runs      render 3a5f0c9be1d2 since 2026-11-29 10:00:00 UTC (120m ago)
          revision main@sha1:0b4c1d5e
          REF_A
Health    healthy
          since 2026-11-29 11:00:00 UTC (60m ago)
Pin       none: the Release follows its source
Failed    Applied: HookFailed, since 2026-11-29 11:00:00 UTC (60m ago)
          A PreDelete hook failed: Job.batch apps/backup
          next: run the hook again: kubectl convoy release sync podinfo -n apps
                Or delete without hooks: kubectl annotate releases podinfo convoy.dev/deletion-hooks=disabled -n apps
`},
		"whose rollback is not in the store, with the source down": {func() *v1alpha1.Release {
			r := pinOn(appliedRelease(), refB)
			r.Generation = 4
			return with(r,
				condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSourceFailed, "The source cannot be fetched"),
				condition(v1alpha1.ConditionRendered, metav1.ConditionFalse, v1alpha1.ReasonSourceFailed, "The source cannot be fetched: no route"),
				condition(v1alpha1.ConditionApplied, metav1.ConditionFalse, v1alpha1.ReasonPinned, "Nothing is applied, since the pinned render cannot be had"))
		}, `
Release   podinfo in namespace apps
          not ready
Source    https://git.example.com/team/podinfo.git, branch main, folder deploy
Runs      render 3a5f0c9be1d2 since 2026-11-29 10:00:00 UTC (120m ago)
          revision main@sha1:0b4c1d5e
          REF_A
Health    healthy
          since 2026-11-29 11:00:00 UTC (60m ago)
Pin       rollback on render b7e1406f9c33 by alice, 2026-11-29 11:30:00 UTC (30m ago)
          why: INC-1234
          until somebody unpins it: kubectl convoy release unpin podinfo -n apps
          REF_B
Awaited   convoy has not looked at the last change of the Release yet
Failed    Rendered: SourceFailed, since 2026-11-29 11:00:00 UTC (60m ago)
          The source cannot be fetched: no route
          next: mend what the message names; convoy tries again by itself. What runs stays, and a pin needs no source.
Failed    Applied: Pinned, since 2026-11-29 11:00:00 UTC (60m ago)
          Nothing is applied, since the pinned render cannot be had
          next: pin a render that the store has, or unpin: kubectl convoy release unpin podinfo -n apps
                Those that it has: kubectl convoy release history podinfo -n apps
`},
		"that failed, and can go back": {func() *v1alpha1.Release {
			r := hanging()
			r.Status.Sync = nil
			r.Spec.Suspend, r.Spec.SyncPolicy.Mode = true, v1alpha1.SyncManual
			return with(r,
				condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonTimedOut, "Not done within 5m"),
				condition(v1alpha1.ConditionApplied, metav1.ConditionFalse, v1alpha1.ReasonTimedOut, "Not done within 5m.\nTwo lines, and \x1b[2Jan escape"))
		}, `
Release   podinfo in namespace apps
          not ready
Source    https://git.example.com/team/podinfo.git, branch main, folder deploy
          a new render waits for: kubectl convoy release sync podinfo -n apps
          what a sync changes: kubectl convoy release diff podinfo -n apps
          not followed, since spec.suspend is true
Runs      render 3a5f0c9be1d2 since 2026-11-29 10:00:00 UTC (120m ago)
          revision main@sha1:0b4c1d5e
          REF_A
          partly render b7e1406f9c33, which was begun 2026-11-29 11:55:00 UTC (5m ago)
Health    not known to be healthy: Render b7e1406f9c33 is not applied in full yet
Pin       none: the Release follows its source
Failed    Applied: TimedOut, since 2026-11-29 11:00:00 UTC (60m ago)
          Not done within 5m.
          Two lines, and ^[[2Jan escape
          next: mend what the message names; convoy goes on by itself.
                Or go back to the last healthy render: kubectl convoy release pin podinfo --render-ref 3a5f0c9be1d2 -n apps
                What that changes: kubectl convoy release diff podinfo --render 3a5f0c9be1d2 -n apps
`},
		"that is new": {func() *v1alpha1.Release {
			r := &v1alpha1.Release{}
			r.Name, r.Namespace, r.Generation = "new", "apps", 1
			r.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}
			return r
		}, `
Release   new in namespace apps
          not ready yet
Source    ConfigMap files
Runs      nothing was applied in full yet
Health    not known yet
Pin       none: the Release follows its source
Awaited   convoy has not looked at the last change of the Release yet
`},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.NewReplacer("REF_A", refA, "REF_B", refB).Replace(strings.TrimPrefix(tc.want, "\n"))
			if diff := cmp.Diff(want, describe(tc.release(), noon, "-n apps", false)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// hanging is a Release whose new render waits for a wave.
func hanging() *v1alpha1.Release {
	r := appliedRelease()
	r.Status.LastAttempted = record(refB, "main@sha1:9f00", 5*time.Minute)
	r.Status.Sync = &v1alpha1.SyncStatus{RenderRef: refB, StartedAt: before(3 * time.Minute), Wave: 2, Phase: v1alpha1.SyncPhaseWave}
	return with(r,
		condition(v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "Waiting"),
		condition(v1alpha1.ConditionApplied, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "Waiting for wave 2 to be healthy: Deployment podinfo: 0 of 1 replicas"),
		condition(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "Render b7e1406f9c33 is not applied in full yet"))
}

func TestEveryReasonOfAFailureHasANextMove(t *testing.T) {
	for _, reason := range reasonsOfFailures(t) {
		if (description{Release: appliedRelease()}).nextMove(reason) == "" {
			t.Errorf("a condition that is False with reason %s gets no next move", reason)
		}
	}
}

func TestEverySourceIsDescribed(t *testing.T) {
	for want, source := range map[string]v1alpha1.Source{
		"https://example.com/app.git, branch main, folder deploy": {Git: &v1alpha1.GitSource{
			URL: "https://example.com/app.git", Ref: v1alpha1.GitRef{Branch: "main"}, Path: "deploy"}},
		"oci://example.com/app, semver 1.x, folder deploy": {OCI: &v1alpha1.OCISource{
			URL: "oci://example.com/app", Ref: v1alpha1.OCIRef{Semver: "1.x"}, Path: "deploy"}},
		"https://example.com/app.tgz, digest sha256:0a, folder deploy": {Archive: &v1alpha1.ArchiveSource{
			URL: "https://example.com/app.tgz", Digest: "sha256:0a", Path: "deploy"}},
		"GitRepository app, folder deploy": {From: &v1alpha1.FromSource{Kind: v1alpha1.FromGitRepository, Name: "app", Path: "deploy"}},
		"ConfigMap files":                  {From: &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}},
	} {
		d := description{Release: &v1alpha1.Release{Spec: v1alpha1.ReleaseSpec{Source: source}}}
		if got := d.source().lines[0].text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
