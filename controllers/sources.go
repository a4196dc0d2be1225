package controllers

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/source"
)

// fluxWatches starts a pass of every Release whose source is an object of Flux that changes. Flux need not be installed: each of its
// kinds is watched from when its definition comes until it goes.
type fluxWatches struct {
	cache   cache.Cache
	readers func(v1alpha1.FromKind) handler.EventHandler
	ends    map[string]context.CancelFunc // of the kinds watched now, by the name of their definition
}

// definitions watches the definitions, which are in the cache crds. Its handlers run one after the other.
func (w *fluxWatches) definitions(crds cache.Cache) crsource.Source {
	kinds := map[string]v1alpha1.FromKind{
		"gitrepositories": v1alpha1.FromGitRepository, "ocirepositories": v1alpha1.FromOCIRepository, "buckets": v1alpha1.FromBucket,
		"helmcharts": v1alpha1.FromHelmChart, "externalartifacts": v1alpha1.FromExternalArtifact,
	}
	byDefinition := map[string]v1alpha1.FromKind{}
	for plural, kind := range kinds {
		byDefinition[plural+"."+source.FluxVersion.Group] = kind
	}
	return crsource.Kind[client.Object](crds, metadataOf(crdVersionKind), handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if kind, ok := byDefinition[e.Object.GetName()]; ok {
				w.begin(ctx, e.Object.GetName(), kind, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if kind, ok := byDefinition[e.Object.GetName()]; ok {
				w.end(ctx, e.Object.GetName(), kind)
			}
		},
	})
}

// begin watches a kind. The watch waits until the server serves it.
func (w *fluxWatches) begin(ctx context.Context, definition string, kind v1alpha1.FromKind, q queue) {
	watching, end := context.WithCancel(ctx)
	objects := crsource.Kind[client.Object](w.cache, metadataOf(source.FluxVersion.WithKind(string(kind))), w.readers(kind))
	if err := objects.Start(watching, q); err != nil {
		end()
		log.FromContext(ctx).Error(err, "A kind of Flux cannot be watched", "kind", kind)
		return
	}
	w.ends[definition] = end
	log.FromContext(ctx).V(1).Info("Watching a kind of Flux", "kind", kind)
}

// end stops the watch of a kind that is gone, which would otherwise fail for ever.
func (w *fluxWatches) end(ctx context.Context, definition string, kind v1alpha1.FromKind) {
	if end, ok := w.ends[definition]; ok {
		end()
		delete(w.ends, definition)
	}
	if err := w.cache.RemoveInformer(ctx, metadataOf(source.FluxVersion.WithKind(string(kind)))); err != nil {
		log.FromContext(ctx).Error(err, "The watch of a kind of Flux that is gone cannot be ended", "kind", kind)
	}
}
