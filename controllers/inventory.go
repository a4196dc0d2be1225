package controllers

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
)

// shards reads the Inventory objects of a Release. They belong to it by name, as the applied objects do: so one that was forced away
// leaves nothing behind once it is made again, and a deletion that takes the owner references off leaves nothing at all.
func (r *ReleaseReconciler) shards(ctx context.Context, release *v1alpha1.Release) ([]v1alpha1.Inventory, error) {
	list := &v1alpha1.InventoryList{}
	labels := client.MatchingLabels(v1alpha1.OwnerLabels(release.Namespace, release.Name))
	err := r.Client.List(ctx, list, client.InNamespace(release.Namespace), labels)
	return list.Items, err
}

// writeInventory records what a Release applied and returns the Inventory objects as they are then. Additions come first, so that
// an object is recorded somewhere at any moment.
func (r *ReleaseReconciler) writeInventory(
	ctx context.Context, release *v1alpha1.Release, shards []v1alpha1.Inventory, want live.Inventory,
) ([]v1alpha1.Inventory, error) {
	layout := apply.PlanLayout(release, shards, want)
	after := map[string]v1alpha1.Inventory{}
	for _, shard := range shards {
		after[shard.Name] = shard
	}
	for _, shard := range layout.Create {
		shard.Namespace = release.Namespace
		shard.Labels = v1alpha1.OwnerLabels(release.Namespace, release.Name)
		controllerutil.AddFinalizer(&shard, v1alpha1.Finalizer)
		if err := controllerutil.SetControllerReference(release, &shard, r.Client.Scheme()); err != nil {
			return nil, err
		}
		if err := r.Client.Create(ctx, &shard, client.FieldOwner(controllerName)); err != nil {
			return nil, fmt.Errorf("create inventory %s: %w", shard.Name, err)
		}
		after[shard.Name] = shard
	}
	for _, shard := range layout.Update {
		if err := r.Client.Update(ctx, &shard, client.FieldOwner(controllerName)); err != nil {
			return nil, fmt.Errorf("update inventory %s: %w", shard.Name, err)
		}
		after[shard.Name] = shard
	}
	for _, shard := range layout.Delete {
		if err := r.deleteShard(ctx, shard); err != nil {
			return nil, err
		}
		delete(after, shard.Name)
	}
	var result []v1alpha1.Inventory
	for _, shard := range after {
		result = append(result, shard)
	}
	return result, nil
}

// deleteShard lets an Inventory object go. Its finalizer kept it from everybody who is not convoy, such as the deletion of its
// namespace, as long as it recorded something.
func (r *ReleaseReconciler) deleteShard(ctx context.Context, shard v1alpha1.Inventory) error {
	base := shard.DeepCopy()
	if controllerutil.RemoveFinalizer(&shard, v1alpha1.Finalizer) {
		patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, &shard, patch, client.FieldOwner(controllerName)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release inventory %s: %w", shard.Name, err)
		}
	}
	if err := r.Client.Delete(ctx, &shard); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete inventory %s: %w", shard.Name, err)
	}
	return nil
}

// dropInventory lets all Inventory objects of a Release go.
func (r *ReleaseReconciler) dropInventory(ctx context.Context, release *v1alpha1.Release) error {
	shards, err := r.shards(ctx, release)
	if err != nil {
		return err
	}
	var errs []error
	for _, shard := range shards {
		errs = append(errs, r.deleteShard(ctx, shard))
	}
	return errors.Join(errs...)
}
