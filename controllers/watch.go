package controllers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/live"
)

// settle joins the events of one object after the other into one pass.
const settle = 500 * time.Millisecond

// served is how long the API server may take to serve a kind whose definition is there.
const served = 2 * time.Second

var crdVersionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// Watches watches the metadata of the objects that carry an owner label, kind by kind as Releases deploy them.
type Watches struct {
	controller controller.Controller
	cache      cache.Cache
	mapper     meta.RESTMapper
	owners     owners

	mu      sync.Mutex
	watched map[schema.GroupVersionKind]*watch
}

// watch is the watch of one kind.
type watch struct {
	kind     crsource.SyncingSource
	resource schema.GroupResource
	cancel   context.CancelFunc

	mu sync.Mutex
	// waiting are the Releases that get another pass once the watch has begun, since it does not see what went before; nil from
	// then on.
	waiting map[reconcile.Request]bool
}

// Start implements source.Source.
func (w *watch) Start(ctx context.Context, q queue) error {
	ctx, w.cancel = context.WithCancel(ctx)
	if err := w.kind.Start(ctx, q); err != nil {
		return err
	}
	go func() {
		if w.kind.WaitForSync(ctx) == nil {
			w.hasBegun(q)
		}
	}()
	return nil
}

func (w *watch) hasBegun(q queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for release := range w.waiting {
		q.Add(release)
	}
	w.waiting = nil
}

// isOn says whether the watch has begun.
func (w *watch) isOn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting == nil
}

// await gives a Release another pass once the watch has begun.
func (w *watch) await(release reconcile.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting != nil {
		w.waiting[release] = true
	}
}

// String is for the log of controller-runtime.
func (w *watch) String() string { return fmt.Sprint(w.kind) }

// newTargetCache makes the cache of the watches. It holds no more than the metadata that tells whose an object is, and whether somebody
// changed it.
func newTargetCache(config *rest.Config, mapper meta.RESTMapper) (cache.Cache, error) {
	owned, err := labels.NewRequirement(v1alpha1.ReleaseNameLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	crds := &metav1.PartialObjectMetadata{}
	crds.SetGroupVersionKind(crdVersionKind)
	return cache.New(config, cache.Options{
		Mapper:               mapper,
		DefaultLabelSelector: labels.NewSelector().Add(*owned),
		DefaultTransform:     compacted,
		// What is read is compared, and never written to.
		DefaultUnsafeDisableDeepCopy: new(true),
		ByObject:                     map[client.Object]cache.ByObject{crds: {Label: labels.Everything()}},
	})
}

// compacted drops what the watches do not look at.
func compacted(obj any) (any, error) {
	if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
		live.Compact(&object.ObjectMeta)
	}
	return obj, nil
}

// Metadata implements apply.Watch.
func (w *Watches) Metadata(ctx context.Context, t live.Target) (*metav1.ObjectMeta, bool) {
	w.mu.Lock() // or the cache would begin to watch again what ends meanwhile
	defer w.mu.Unlock()
	if begun := w.watched[t.GVK]; begun == nil || !begun.isOn() {
		return nil, false
	}
	object := metadataOf(t.GVK)
	err := w.cache.Get(ctx, client.ObjectKey{Namespace: t.ID.Namespace, Name: t.ID.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true
	case err != nil:
		log.FromContext(ctx).V(1).Info("What a watch has seen cannot be read", "kind", t.GVK.String(), "error", err.Error())
		return nil, false
	}
	return &object.ObjectMeta, true
}

// Ensure watches the kinds of a plan.
func (w *Watches) Ensure(ctx context.Context, plan *apply.Plan) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	release := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: plan.Owner.Namespace, Name: plan.Owner.Name}}
	for _, gvk := range plan.Kinds() {
		if w.watched[gvk] == nil {
			if err := w.begin(gvk); meta.IsNoMatchError(err) {
				continue // it went since the plan was made
			} else if err != nil {
				return err
			}
			log.FromContext(ctx).V(1).Info("Watching a kind", "kind", gvk.String())
		}
		w.watched[gvk].await(release)
	}
	return nil
}

func (w *Watches) begin(gvk schema.GroupVersionKind) error {
	mapping, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	begun := &watch{
		kind:     crsource.Kind[client.Object](w.cache, metadataOf(gvk), w.owners),
		resource: mapping.Resource.GroupResource(),
		waiting:  map[reconcile.Request]bool{},
	}
	if err := w.controller.Watch(begun); err != nil {
		return err
	}
	w.watched[gvk] = begun
	return nil
}

// watchDefinitions ends the watch of a kind whose definition is deleted, which would otherwise fail for ever, and lets Releases that may
// have waited for a kind try again.
func (w *Watches) watchDefinitions() crsource.Source {
	return crsource.Kind[client.Object](w.cache, metadataOf(crdVersionKind), handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				w.owners.retry(ctx, q)
			}
		},
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, q queue) { w.owners.retry(ctx, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ queue) {
			resource, group, _ := strings.Cut(e.Object.GetName(), ".")
			w.end(ctx, schema.GroupResource{Group: group, Resource: resource})
		},
	})
}

func (w *Watches) end(ctx context.Context, gone schema.GroupResource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for gvk, watch := range w.watched {
		if watch.resource != gone {
			continue
		}
		watch.cancel() // or it would begin again, if it has not begun yet
		if err := w.cache.RemoveInformer(ctx, metadataOf(gvk)); err != nil {
			log.FromContext(ctx).Error(err, "The watch of a kind that is gone cannot be ended", "kind", gvk.String())
			continue
		}
		delete(w.watched, gvk)
	}
}

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// owners starts a pass of the Release that an object's labels name.
type owners struct {
	releases client.Reader // an index of Releases by owner label
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (o owners) Create(ctx context.Context, e event.CreateEvent, q queue) {
	o.enqueue(ctx, e.Object, q)
}
func (o owners) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	o.enqueue(ctx, e.Object, q)
}
func (o owners) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	o.enqueue(ctx, e.Object, q)
}
func (o owners) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	o.enqueue(ctx, e.ObjectOld, q)
	o.enqueue(ctx, e.ObjectNew, q)
}

func (o owners) enqueue(ctx context.Context, obj client.Object, q queue) {
	releases := &v1alpha1.ReleaseList{}
	err := o.releases.List(ctx, releases, client.InNamespace(obj.GetLabels()[v1alpha1.ReleaseNamespaceLabel]),
		client.MatchingFields{ownerIndex: obj.GetLabels()[v1alpha1.ReleaseNameLabel]})
	if err != nil {
		log.FromContext(ctx).Error(err, "The owner of an object cannot be looked up", "object", obj.GetName())
		return
	}
	for _, release := range releases.Items {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&release)}, settle)
	}
}

// retry starts a pass of the Releases whose dry run failed.
func (o owners) retry(ctx context.Context, q queue) {
	releases := &v1alpha1.ReleaseList{}
	if err := o.releases.List(ctx, releases); err != nil {
		log.FromContext(ctx).Error(err, "The Releases that may wait for a kind cannot be listed")
		return
	}
	for _, release := range releases.Items {
		applied := meta.FindStatusCondition(release.Status.Conditions, v1alpha1.ConditionApplied)
		if applied != nil && applied.Reason == v1alpha1.ReasonDryRunFailed {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&release)}, served)
		}
	}
}
