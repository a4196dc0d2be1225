package controllers

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/inputs"
)

// controllerName names the controller in logs and metrics, and is the field manager of what convoy writes into its own objects.
const controllerName = "convoy-controller-manager"

const (
	ownerIndex  = "ownerLabel" // Releases by the value of their owner label
	sourceIndex = "sourceFrom" // Releases by the objects that they read files and variables from
)

// convoy's own rights. Target objects are read and written with the rights of the Release's ServiceAccount where it names one; the
// last rule is for Releases that name none, and for watching what all of them deploy.
//
// +kubebuilder:rbac:groups=convoy.dev,resources=releases,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=convoy.dev,resources=releases/status;releases/finalizers,verbs=get;patch;update
// +kubebuilder:rbac:groups=convoy.dev,resources=inventories,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=convoy.dev,resources=inventories/finalizers,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch;update
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update;patch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=impersonate
// +kubebuilder:rbac:groups=*,resources=*,verbs=*

// SetupWithManager starts the controller with a manager: at most concurrent passes at once, each of another Release.
func (r *ReleaseReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrent int) error {
	indexes := map[string]client.IndexerFunc{
		ownerIndex:  func(obj client.Object) []string { return []string{v1alpha1.OwnerLabelValue(obj.GetName())} },
		sourceIndex: func(obj client.Object) []string { return sourceKeys(obj.(*v1alpha1.Release)) },
	}
	for name, index := range indexes {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Release{}, name, index); err != nil {
			return err
		}
	}
	targets, err := newTargetCache(mgr.GetConfig(), r.Targets.Mapper)
	if err != nil {
		return err
	}
	if err := mgr.Add(targets); err != nil {
		return err
	}
	files := func(kind v1alpha1.FromKind) handler.EventHandler { return r.readersOf(mgr.GetClient(), kind) }
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&v1alpha1.Release{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, syncRequested()))).
		Owns(&v1alpha1.Inventory{}, builder.WithPredicates(beingDeleted())).
		WatchesMetadata(&corev1.ConfigMap{}, files(v1alpha1.FromConfigMap)).
		WatchesMetadata(&corev1.Secret{}, files(v1alpha1.FromSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrent}).
		Build(r)
	if err != nil {
		return err
	}
	watches := &Watches{
		controller: c, cache: targets, mapper: r.Targets.Mapper, owners: owners{mgr.GetClient()},
		watched: map[schema.GroupVersionKind]*watch{},
	}
	r.Watcher = watches
	if err := c.Watch(watches.watchDefinitions()); err != nil {
		return err
	}
	flux := &fluxWatches{cache: mgr.GetCache(), readers: files, ends: map[string]context.CancelFunc{}}
	return c.Watch(flux.definitions(targets))
}

// syncRequested lets sync requests through.
func syncRequested() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetAnnotations()[v1alpha1.SyncRequestedAtAnnotation] != e.ObjectNew.GetAnnotations()[v1alpha1.SyncRequestedAtAnnotation]
		},
	}
}

// beingDeleted lets only deletions through: what convoy itself writes into an Inventory starts no pass.
func beingDeleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return !e.ObjectNew.GetDeletionTimestamp().IsZero() },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// sourceKeys are the keys under which a Release that reads files or variables from objects is found.
func sourceKeys(release *v1alpha1.Release) []string {
	keys := map[string]bool{}
	if from := release.Spec.Source.From; from != nil {
		keys[sourceKey(from.Kind, from.Name)] = true
	}
	for _, ref := range inputs.References(release) {
		keys[sourceKey(ref.Kind, ref.Name)] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

func sourceKey(kind v1alpha1.FromKind, name string) string { return string(kind) + "/" + name }

// readersOf starts a pass of every Release that reads files or variables from a changed object.
func (r *ReleaseReconciler) readersOf(reader client.Reader, kind v1alpha1.FromKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		releases := &v1alpha1.ReleaseList{}
		err := reader.List(ctx, releases, client.InNamespace(obj.GetNamespace()),
			client.MatchingFields{sourceIndex: sourceKey(kind, obj.GetName())})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "The Releases that read an object cannot be looked up", "kind", kind, "name", obj.GetName())
			return nil
		}
		var requests []reconcile.Request
		for _, release := range releases.Items {
			r.polls.forget(release.UID)
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&release)})
		}
		return requests
	})
}
