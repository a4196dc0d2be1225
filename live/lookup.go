package live

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/render"
)

// read finds the live objects of the render: by one listing a kind and namespace, and those without the owner's labels one by one.
func (d *diff) read(ctx context.Context) error {
	var targets []Target
	for _, item := range d.items {
		if !item.decided && item.untried == "" {
			targets = append(targets, Target{item.id, item.gvk})
		}
	}
	objects, err := Reader{Client: d.Client}.Owned(ctx, targets, d.Owner.Labels())
	if err != nil {
		return err
	}
	namespaces := map[string]*unstructured.Unstructured{}
	for _, item := range d.items {
		if item.live = objects[item.id]; item.live == nil && !item.decided {
			namespaces[item.id.Namespace] = nil
		}
	}
	if err := d.readNamespaces(ctx, namespaces); err != nil {
		return err
	}
	absent, err := d.absent(ctx)
	if err != nil {
		return err
	}
	return d.each(ctx, parallel, func(i *diffItem) bool { return i.live == nil }, func(ctx context.Context, item *diffItem) error {
		namespace := namespaces[item.id.Namespace]
		if item.id.Namespace != "" && namespace == nil {
			d.inNoNamespace(item)
			return nil
		}
		if item.untried == "" && !absent[item.id] {
			if err := d.readItem(ctx, item); err != nil {
				return err
			}
		}
		item.checkNamespace(namespace)
		return nil
	})
}

// checkNamespace refuses a new object in a Namespace that is being deleted.
func (i *diffItem) checkNamespace(namespace *unstructured.Unstructured) {
	if i.live == nil && namespace != nil && namespace.GetDeletionTimestamp() != nil {
		i.refuse(errors.New("its Namespace is being deleted, and takes no new object"))
	}
}

// manyMissing is from how many missing objects of a kind and namespace on one listing of all names costs less than asking for each.
const manyMissing = 50

// absent are objects that are known not to be there, where many were not listed: those of a new Release, or of a new folder of it.
func (d *diff) absent(ctx context.Context) (map[render.ObjectID]bool, error) {
	type group struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	missing := map[group][]render.ObjectID{}
	for _, item := range d.items {
		if item.live == nil && !item.decided && item.untried == "" {
			g := group{item.gvk, item.id.Namespace}
			missing[g] = append(missing[g], item.id)
		}
	}
	absent := map[render.ObjectID]bool{}
	for g, ids := range missing {
		if len(ids) < manyMissing {
			continue
		}
		names, err := Reader{Client: d.Client}.Names(ctx, g.gvk, g.namespace)
		if NotServed(err) {
			continue // each says so
		} else if err != nil {
			return nil, err
		}
		for _, id := range ids {
			absent[id] = !names[id.Name]
		}
	}
	return absent, nil
}

// readNamespaces fills in the Namespaces that are there.
func (d *diff) readNamespaces(ctx context.Context, namespaces map[string]*unstructured.Unstructured) error {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	var names []string
	for name := range namespaces {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, name := range names {
		g.Go(func() error {
			target := Target{render.ObjectID{Kind: NamespaceKind.Kind, Name: name}, NamespaceKind.WithVersion("v1")}
			found, err := Reader{Client: d.Client}.Get(ctx, target)
			mu.Lock()
			defer mu.Unlock()
			namespaces[name] = found
			return err
		})
	}
	return g.Wait()
}

// inNoNamespace decides about an item whose Namespace is not there.
func (d *diff) inNoNamespace(item *diffItem) {
	switch {
	case !d.namespaces[item.id.Namespace]:
		item.refuse(fmt.Errorf("namespaces %q not found", item.id.Namespace))
	case item.untried == "":
		item.untried = NamespaceMissing
	}
}

// readItem confirms that an object that was not listed is not there, or reads it.
func (d *diff) readItem(ctx context.Context, item *diffItem) error {
	found, err := Reader{Client: d.Client}.Get(ctx, Target{item.id, item.gvk})
	_, defined := d.definitions[item.id.GroupKind()]
	switch {
	case NotServed(err) && defined: // the mapper knows it from before
		item.untried = KindNotServed
		return nil
	case NotServed(err):
		item.refuse(ErrNotServed(item.gvk))
		return nil
	}
	item.live = found
	return err
}

// remove decides about what was recorded and is not in the render.
func (d *diff) remove(ctx context.Context) error {
	for _, item := range d.items {
		if item.change != nil {
			d.changes = append(d.changes, *item.change)
		}
	}
	removals, err := d.readRemovals(ctx)
	if err != nil {
		return err
	}
	deletes, first := 0, len(d.changes)
	for _, obj := range removals {
		change := d.removal(obj)
		if change.Action == Delete && obj.GetDeletionTimestamp().IsZero() {
			deletes++
		}
		d.changes = append(d.changes, change)
	}
	if err := d.Policy.Budget(deletes, len(d.Inventory)); err != nil {
		for i := range d.changes[first:] {
			if change := &d.changes[first+i]; change.Action == Delete {
				change.Action = Refuse
				change.Notes = append(change.Notes, "left the render: "+err.Error())
			}
		}
	}
	return nil
}

// removal is what becomes of a live object that left the render.
func (d *diff) removal(obj *unstructured.Unstructured) Change {
	change := Change{Action: Delete, ID: render.IDOf(obj), GVK: obj.GroupVersionKind()}
	if d.mayShow(obj) {
		change.Live = obj.DeepCopy()
		trim(change.Live)
	}
	why := d.Policy.Keeps(d.Owner, change.ID, obj)
	switch {
	case why != "":
		change.Action, change.Notes = Keep, []string{why}
	case !obj.GetDeletionTimestamp().IsZero():
		change.Notes = []string{"it is being deleted already"}
	}
	return change
}

// readRemovals reads what was recorded, is not in the render, and is still there.
func (d *diff) readRemovals(ctx context.Context) ([]*unstructured.Unstructured, error) {
	inRender := map[render.ObjectID]bool{}
	for _, item := range d.items {
		inRender[item.id] = true
	}
	var targets []Target
	for _, t := range d.Inventory.Targets() {
		if !inRender[t.ID] && !d.hooks.Has(t.ID) {
			targets = append(targets, t)
		}
	}
	reader := Reader{Client: d.Client}
	listed, err := reader.Owned(ctx, targets, d.Owner.Labels())
	var unlisted Unlisted
	if err != nil && !errors.As(err, &unlisted) {
		return nil, err
	}
	found := make([]*unstructured.Unstructured, len(targets))
	served := sync.OnceValues(func() (Kinds, error) { return DiscoverKinds(ctx, d.Discovery) })
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, t := range targets {
		if found[i] = listed[t.ID]; found[i] != nil {
			continue
		}
		g.Go(func() error {
			obj, err := reader.Recorded(ctx, t, served)
			if d.Policy.Abandon && apierrors.IsForbidden(err) {
				return nil
			}
			found[i] = obj
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	there := found[:0]
	for _, obj := range found {
		if obj != nil {
			there = append(there, obj)
		}
	}
	return there, nil
}
