package live

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/render"
)

// pageSize is how many objects one page of a listing holds, so that the memory of a page stays far below that of the whole.
const pageSize = 500

// Target is an object to look for: its identity, and the version to read it in.
type Target struct {
	ID  render.ObjectID
	GVK schema.GroupVersionKind
}

// Objects are live objects by identity.
type Objects map[render.ObjectID]*unstructured.Unstructured

// Reader reads the objects that a Release deploys.
type Reader struct {
	// Client reads with the rights of the Release: it needs get and list.
	Client client.Reader
}

// Owned returns those of the targets that are there and carry all of the labels. It lists once per kind and namespace. That an
// object is missing says only that no object with these labels was listed: before that counts as "not there", Get must confirm it.
func (r Reader) Owned(ctx context.Context, targets []Target, labels map[string]string) (Objects, error) {
	type group struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	wanted := map[render.ObjectID]bool{}
	groups := map[group]bool{}
	for _, t := range targets {
		wanted[t.ID] = true
		groups[group{t.GVK, t.ID.Namespace}] = true
	}
	found := Objects{}
	for g := range groups {
		err := r.list(ctx, g.gvk, g.namespace, labels, func(obj *unstructured.Unstructured) {
			if id := render.IDOf(obj); wanted[id] {
				found[id] = obj
			}
		})
		if apierrors.IsNotFound(err) {
			continue // the kind is not served any more, so there is no such object
		}
		if err != nil {
			return nil, fmt.Errorf("list %s in namespace %q: %w", g.gvk.GroupKind(), g.namespace, err)
		}
	}
	return found, nil
}

func (r Reader) list(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string, labels map[string]string, visit func(*unstructured.Unstructured),
) error {
	next := ""
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		opts := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels(labels), client.Limit(pageSize), client.Continue(next)}
		if err := r.Client.List(ctx, page, opts...); err != nil {
			return err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// Get returns the object, or nil if the server says that it is not there.
func (r Reader) Get(ctx context.Context, t Target) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(t.GVK)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: t.ID.Namespace, Name: t.ID.Name}, obj)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", t.ID, err)
	}
	return obj, nil
}
