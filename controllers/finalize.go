package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// finalize ends a deletion: every object is gone or let go, so the Release's keys in the render store go, then its inventory, then
// itself.
func (r *ReleaseReconciler) finalize(ctx context.Context, p pass) *Failure {
	if err := p.archive.Purge(ctx); err != nil {
		return notApplied(v1alpha1.ReasonDeployFailed, Backoff,
			"The objects are gone, and the Release waits for the render store to delete what it holds: %w", err)
	}
	if err := r.dropInventory(ctx, p.release); err != nil {
		return notApplied(v1alpha1.ReasonDeployFailed, Backoff, "The inventory cannot be deleted: %w", err)
	}
	release := p.release.DeepCopy()
	controllerutil.RemoveFinalizer(release, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(p.release, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, release, patch, client.FieldOwner(controllerName)); client.IgnoreNotFound(err) != nil {
		return notApplied(v1alpha1.ReasonDeployFailed, Backoff, "The Release cannot be let go: %w", err)
	}
	r.forget(p.release)
	return nil
}

// forget drops what this process remembers of a Release.
func (r *ReleaseReconciler) forget(release *v1alpha1.Release) {
	r.Memory.Forget(release.UID)
	r.polls.forget(release.UID)
	r.built.forget(release.UID)
	r.kept.forget(release.UID)
	r.tallies.forget(release.UID)
	r.stored.forget(release.UID)
	r.Metrics.forget(release)
}
