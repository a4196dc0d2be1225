package controllers

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
)

// planned is a plan, with the Inventory objects that it was made from.
type planned struct {
	*apply.Plan
	run    *apply.HookRun // nil if this is no rollout
	shards []v1alpha1.Inventory
	target client.Client
}

// plan tries the selection on the server. Nothing is changed, and nothing is stored of what fails here.
func (r *ReleaseReconciler) plan(ctx context.Context, p pass, selection Selection) (*planned, *Failure) {
	defer r.Metrics.step("plan")()
	target, err := r.Targets.For(p.release.Namespace, r.serviceAccount(p.release))
	if err != nil {
		return nil, notApplied(v1alpha1.ReasonDryRunFailed, Backoff, "The cluster cannot be reached: %w", err)
	}
	shards, err := r.shards(ctx, p.release)
	if err != nil {
		return nil, notApplied(v1alpha1.ReasonDryRunFailed, Backoff, "The inventory cannot be read: %w", err)
	}
	inventory := live.InventoryOf(shards)
	objects, failure := r.objects(ctx, p, selection, inventory)
	if failure != nil {
		return nil, failure
	}
	planner := &apply.Planner{
		Client: target, Mapper: r.Targets.Mapper, Discovery: r.Targets.Discovery, Memory: r.Memory, Watch: r.Watcher,
		OwnerName: live.OwnerNameFrom(r.Client), Takeovers: r.Targets.Takeovers,
	}
	run := p.hookRun(selection)
	plan, err := planner.Plan(ctx, apply.Request{
		Owner: p.owner, Ref: selection.Render.Ref(), Objects: objects, Inventory: inventory, Policy: live.PolicyOf(p.release),
		Run:    run,
		Cause:  p.cause(selection),
		Rights: r.serviceAccount(p.release),
	})
	var refused *live.PruneRefusedError
	switch {
	case errors.As(err, &refused):
		return nil, notApplied(v1alpha1.ReasonPruneRefused, OnChange, "Nothing was applied: %w; raise it, or put the objects back into the source", err)
	case err != nil:
		what := "nothing was changed"
		if p.goesOn(selection) {
			what = "nothing more was changed"
		}
		failure := notApplied(v1alpha1.ReasonDryRunFailed, Backoff, "The dry run failed, and %s: %w", what, err)
		if p.deleting() && len(objects) > 0 {
			failure = failure.because(withoutHooks)
		}
		return nil, failure
	}
	if err := r.Watcher.Ensure(ctx, plan); err != nil {
		return nil, notApplied(v1alpha1.ReasonDryRunFailed, Backoff, "The objects cannot be watched: %w", err)
	}
	r.tellUnable(p, plan)
	return &planned{plan, run, shards, target}, nil
}

// cause is what makes an apply what it is. A source that is down for a while does not change that.
func (p pass) cause(selection Selection) string {
	origin := selection.Origin
	if origin == FromStore {
		origin = FromSource
	}
	return strings.Join([]string{selection.Render.Ref().String(), string(origin), syncRequest(p.release)}, " ")
}

// objects are what the plan is made from: the render, of which in a deletion only hooks count.
func (r *ReleaseReconciler) objects(
	ctx context.Context, p pass, selection Selection, recorded live.Inventory,
) ([]*unstructured.Unstructured, *Failure) {
	if p.deleting() {
		return r.lastHooks(ctx, p, recorded)
	}
	objects, err := selection.Render.Objects()
	if err != nil {
		return nil, notApplied(v1alpha1.ReasonDryRunFailed, OnChange, "The render cannot be read: %w", err)
	}
	return objects, nil
}

func (r *ReleaseReconciler) serviceAccount(release *v1alpha1.Release) string {
	if release.Spec.ServiceAccountName != "" {
		return release.Spec.ServiceAccountName
	}
	return r.DefaultServiceAccount
}
