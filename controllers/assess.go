package controllers

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
)

// assess computes the health of everything that was applied. What is on its way has until the deadline.
func (r *ReleaseReconciler) assess(p pass, changes apply.ChangeSet) *Failure {
	defer r.Metrics.step("assess")()
	fact := p.judge(live.Worst(changes.Health))
	if fact.Late == "" {
		return nil
	}
	return &Failure{v1alpha1.ConditionHealthy, metav1.ConditionFalse, v1alpha1.ReasonDegraded, Interval, errors.New(fact.Late)}
}

// judge notes the health of the objects and, unless all is well, since when that is awaited.
func (p pass) judge(unhealthy live.Unhealthy) *HealthFact {
	fact := &HealthFact{Unhealthy: unhealthy}
	p.seen.Health = fact
	if len(unhealthy) == 0 {
		return fact
	}
	late := p.await(apply.Waiting{Phase: v1alpha1.SyncPhaseHealth, Objects: unhealthy})
	switch {
	case unhealthy.Failed():
		fact.Late = fmt.Sprintf("Objects have failed: %s", unhealthy)
	case late != nil:
		fact.Late = fmt.Sprintf("Not healthy within %s: %s", p.release.Spec.Timeout.Duration, unhealthy)
	}
	return fact
}

// lookAtWhatRuns keeps Healthy true to the facts in a pass that applied nothing, since the source, the render or the dry run failed or
// the Release is suspended: what was applied before still runs, and may fail or be deleted.
func (r *ReleaseReconciler) lookAtWhatRuns(ctx context.Context, p pass) {
	if p.deleting() || p.seen.Attempted != nil || p.release.Status.LastSuccessful == nil {
		return
	}
	unhealthy, err := r.healthOfInventory(ctx, p)
	if err != nil {
		p.seen.Health = &HealthFact{Unread: err}
		return
	}
	p.judge(unhealthy)
}

func (r *ReleaseReconciler) healthOfInventory(ctx context.Context, p pass) (live.Unhealthy, error) {
	target, err := r.Targets.For(p.release.Namespace, r.serviceAccount(p.release))
	if err != nil {
		return nil, err
	}
	shards, err := r.shards(ctx, p.release)
	if err != nil {
		return nil, err
	}
	applied := live.InventoryOf(shards)
	var subjects []apply.Subject
	for _, t := range applied.Targets() {
		if hash := applied[t.ID].Hash; hash != "" { // else it was only planned
			subjects = append(subjects, apply.Subject{Target: t, Hash: hash})
		}
	}
	survey := apply.Survey{Client: target, Memory: r.Memory, Watch: r.Watcher, Owner: p.owner}
	findings, err := survey.Look(ctx, subjects)
	if err != nil {
		return nil, err
	}
	var healths []live.Health
	for _, subject := range subjects {
		found, ok := findings[subject.ID]
		if !ok {
			if found.Health, err = survey.Confirm(ctx, subject.Target); err != nil {
				return nil, err
			}
		}
		healths = append(healths, found.Health)
	}
	return live.Worst(healths), nil
}
