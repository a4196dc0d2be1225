package main

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// reconnectAfter is the pause before a watch that ended is set up again.
const reconnectAfter = time.Second

// follower is shown a Release at each change.
type follower interface {
	// see is shown the Release, nil once it is gone, and says whether that is enough.
	see(*v1alpha1.Release) (enough bool)
	// lost is told why the cluster cannot be asked just now.
	lost(error)
}

// follow shows a Release to a follower, at first as it is and then at each change, until it has seen enough or the context
// ends, whose cause it returns then. A cluster that cannot be reached is asked again; one that refuses is not.
func (k *cluster) follow(ctx context.Context, name string, f follower) error {
	for {
		enough, err := k.watch(ctx, name, f)
		switch {
		case enough:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), isUnserved(err):
			return err
		case err != nil:
			f.lost(err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(reconnectAfter):
		}
	}
}

// watch lists and watches until it has seen enough, or the watch ends.
func (k *cluster) watch(ctx context.Context, name string, f follower) (enough bool, err error) {
	one := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	list, err := k.requests.Resource(releaseResource).Namespace(k.namespace).List(ctx, one)
	if err != nil {
		return false, k.explain(ctx, request{verb: "list", namespace: k.namespace}, err)
	}
	if len(list.Items) == 0 {
		return f.see(nil), nil
	}
	if enough, err := show(f, &list.Items[0]); enough || err != nil {
		return enough, err
	}
	one.ResourceVersion = list.GetResourceVersion()
	w, err := k.watches.Resource(releaseResource).Namespace(k.namespace).Watch(ctx, one)
	if err != nil {
		return false, k.explain(ctx, request{verb: "watch", namespace: k.namespace, name: name}, err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		switch object, ok := event.Object.(*unstructured.Unstructured); {
		case event.Type == watch.Error:
			return false, apierrors.FromObject(event.Object)
		case event.Type == watch.Deleted:
			enough = f.see(nil)
		case ok && event.Type != watch.Bookmark:
			enough, err = show(f, object)
		}
		if enough || err != nil {
			return enough, err
		}
	}
	return false, nil
}

func show(f follower, object *unstructured.Unstructured) (bool, error) {
	release, err := typed[v1alpha1.Release](object)
	if err != nil {
		return false, err
	}
	return f.see(release), nil
}
