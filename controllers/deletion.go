package controllers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

// withoutHooks is the way out for who cannot wait for a hook.
const withoutHooks = "to delete without hooks, annotate the Release with " + v1alpha1.DeletionHooksAnnotation + "=" + v1alpha1.DeletionHooksDisabled

// lastHooks are the objects of the render that was last applied in full, or else begun, if the inventory says that hooks of it run in the
// deletion. The source is not asked. What can never be had again holds no deletion.
func (r *ReleaseReconciler) lastHooks(ctx context.Context, p pass, recorded live.Inventory) ([]*unstructured.Unstructured, *Failure) {
	record := cmp.Or(p.release.Status.LastSuccessful, p.release.Status.LastAttempted)
	if record == nil || !slices.ContainsFunc(slices.Collect(maps.Values(recorded)), isHookOfDeletion) ||
		p.release.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan ||
		p.release.Annotations[v1alpha1.DeletionHooksAnnotation] == v1alpha1.DeletionHooksDisabled {
		return nil, nil
	}
	objects, err := r.storedObjects(ctx, p, record.RenderRef)
	switch {
	case err == nil:
		return objects, nil
	case errors.Is(err, renderstore.ErrDisabled), errors.Is(err, renderstore.ErrNotFound), errors.Is(err, renderstore.ErrCorrupt):
		// A store that was purged in part is asked again once all is done.
		if !apply.AllSucceeded(recorded) {
			r.event(p.release, corev1.EventTypeWarning, v1alpha1.EventHooksSkipped, "Delete",
				"The hooks of the deletion are not run, since the render that has them cannot be had: %v", err)
		}
		return nil, nil
	default:
		return nil, notApplied(v1alpha1.ReasonDeployFailed, Backoff, "The deletion waits for the render store, which has the hooks to run: %w; %s",
			err, withoutHooks)
	}
}

func isHookOfDeletion(e v1alpha1.InventoryEntry) bool { return e.Deletion }

func (r *ReleaseReconciler) storedObjects(ctx context.Context, p pass, name string) ([]*unstructured.Unstructured, error) {
	ref, err := render.ParseRef(name)
	if err != nil {
		return nil, err
	}
	selection, err := r.readStored(ctx, p, ref, FromDeletion)
	if err != nil {
		return nil, err
	}
	return selection.Render.Objects()
}

// tellUnable makes events of the hooks that cannot run.
func (r *ReleaseReconciler) tellUnable(p pass, plan *apply.Plan) {
	for _, id := range plan.Unable {
		r.event(p.release, corev1.EventTypeWarning, v1alpha1.EventHooksSkipped, "Delete", "%s is not run, since its namespace is being deleted", id)
	}
}

// clear removes the hooks of a deletion, once all have succeeded.
func (r *ReleaseReconciler) clear(ctx context.Context, p pass, applier *apply.Applier, planned *planned, changes *apply.ChangeSet) *Failure {
	before := len(changes.Changes)
	err := applier.Clear(ctx, planned.Plan, changes)
	r.tell(ctx, p, changes.Changes[before:])
	if err != nil {
		return notApplied(v1alpha1.ReasonDeployFailed, Backoff, "Hooks that are done cannot be deleted: %w", err)
	}
	return p.ended(*changes, nil)
}
