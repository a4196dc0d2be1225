package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/render"
)

// parallel is how many requests are under way at once.
const parallel = 16

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

// Unlisted are the targets that could not be looked for, and why.
type Unlisted map[render.ObjectID]error

// Error is about the first target.
func (u Unlisted) Error() string {
	first := slices.MinFunc(slices.Collect(maps.Keys(u)), render.ObjectID.Compare)
	return fmt.Sprintf("%s: %v", first, u[first])
}

// Owned returns those of the targets that are there and carry all of the labels. It lists once per kind and namespace. That an
// object is missing says only that no object with these labels was listed: before that counts as "not there", Get must confirm it.
// The error is Unlisted.
func (r Reader) Owned(ctx context.Context, targets []Target, labels map[string]string) (Objects, error) {
	type group struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	groups := map[group][]render.ObjectID{}
	for _, t := range targets {
		g := group{t.GVK, t.ID.Namespace}
		groups[g] = append(groups[g], t.ID)
	}
	found, unlisted := Objects{}, Unlisted{}
	var mu sync.Mutex
	var requests errgroup.Group
	requests.SetLimit(parallel)
	for g, wanted := range groups {
		requests.Go(func() error {
			listed := Objects{}
			err := r.list(ctx, g.gvk, g.namespace, labels, func(obj *unstructured.Unstructured) { listed[render.IDOf(obj)] = obj })
			mu.Lock()
			defer mu.Unlock()
			for _, id := range wanted {
				if err != nil && !NotServed(err) { // of what is not served there is nothing
					unlisted[id] = fmt.Errorf("list its kind: %w", err)
				} else if obj := listed[id]; obj != nil {
					found[id] = obj
				}
			}
			return nil
		})
	}
	requests.Wait() //nolint:errcheck // the errors are in unlisted, one a target
	if len(unlisted) > 0 {
		return nil, unlisted
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

// Names are the names of all objects of a kind in a namespace, whoever owns them.
func (r Reader) Names(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (map[string]bool, error) {
	names := map[string]bool{}
	next := ""
	for {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := r.Client.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list the names of %s: %w", gvk.GroupKind(), err)
		}
		for i := range page.Items {
			names[page.Items[i].Name] = true
		}
		if next = page.GetContinue(); next == "" {
			return names, nil
		}
	}
}

// NotServed says that a request failed since the server does not serve its kind in its version. That says nothing about the object:
// it may be there in another version.
func NotServed(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Gone says that a request failed since its object is not there.
func Gone(err error) bool { return apierrors.IsNotFound(err) && !NotServed(err) }

// Get returns the object, or nil if the server says that it is not there. The error is NotServed if it cannot be there in this
// version.
func (r Reader) Get(ctx context.Context, t Target) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(t.GVK)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: t.ID.Namespace, Name: t.ID.Name}, obj)
	if Gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", t.ID, err)
	}
	return obj, nil
}

// Recorded reads an object that was recorded as applied; nil if it is gone. Its kind may be served in another version than the recorded
// one by now: only if it is served in none, the object went with it. Served is what the server serves, asked when it matters.
func (r Reader) Recorded(ctx context.Context, t Target, served func() (Kinds, error)) (*unstructured.Unstructured, error) {
	obj, err := r.Get(ctx, t)
	if !NotServed(err) {
		return obj, err
	}
	kinds, err := served()
	if err != nil {
		return nil, fmt.Errorf("look up its kind: %w", err)
	}
	version, err := kinds.Version(t.ID.GroupKind())
	if version == "" || err != nil {
		return nil, err
	}
	t.GVK.Version = version
	return r.Get(ctx, t)
}
