package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/render"
)

// DifferOptions are what a Differ needs.
type DifferOptions struct {
	Client     client.Reader   // reads the objects, Namespaces and CustomResourceDefinitions, past any cache: get and list
	Mapper     meta.RESTMapper // which kinds are namespaced
	Discovery  discovery.DiscoveryInterfaceWithContext
	Normalizer Normalizer
	OwnerName  OwnerName
}

// Differ predicts what an apply would change. It only reads, and needs no right to write. It is safe for concurrent use, and faster the
// second time: it keeps schemas.
type Differ struct {
	DifferOptions
	schemas     *schemas
	definitions *definitionCache
}

// NewDiffer returns a Differ that has no schema yet.
func NewDiffer(o DifferOptions) *Differ {
	return &Differ{
		DifferOptions: o,
		schemas:       newSchemas(o.Discovery),
		definitions:   &definitionCache{client: o.Client, normalizer: o.Normalizer, built: map[string]builtDefinition{}},
	}
}

// DiffRequest is what an apply would be asked to do.
type DiffRequest struct {
	Owner     Owner
	Objects   []*unstructured.Unstructured // the render
	Inventory Inventory                    // what the Release recorded
	Policy    Policy

	// Confined says that the Release may reach less than the Differ does. Then no object is shown that does not carry the owner's labels.
	Confined bool
}

// Diff says what an apply of the render by force would change, sorted by identity. What would stay as it is, is left out, and so are
// hooks; who owns a field is no matter of it. The error says what could not be read: that is never taken for an object that is not there.
func (d *Differ) Diff(ctx context.Context, req DiffRequest) ([]Change, error) {
	run := &diff{
		Differ: d, DiffRequest: req, definitions: DefinitionsIn(req.Objects), namespaces: map[string]bool{},
		mergers: map[schema.GroupVersionKind]merger{}, changed: map[schema.GroupKind]bool{},
	}
	steps := []func(context.Context) error{run.resolve, run.read, run.predictDefinitions, run.findMergers, run.predictOthers, run.remove}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(run.changes, func(a, b Change) int { return a.ID.Compare(b.ID) })
	return run.changes, nil
}

// diff is one run of a Differ.
type diff struct {
	*Differ
	DiffRequest
	definitions Definitions     // in the render
	namespaces  map[string]bool // in the render

	hooks   HookSet // of the render
	items   []*diffItem
	mergers map[schema.GroupVersionKind]merger // of the kinds of the items
	changed map[schema.GroupKind]bool          // whose definition changes in the render
	changes []Change
}

// diffItem is an object of the render.
type diffItem struct {
	id      render.ObjectID
	gvk     schema.GroupVersionKind
	desired *unstructured.Unstructured
	live    *unstructured.Unstructured // nil if it is not there
	untried string                     // why the server could not try it yet; empty if it could
	change  *Change                    // nil if it stays as it is, or is not decided yet
	decided bool
}

// refuse decides that an apply would be refused because of the item.
func (i *diffItem) refuse(cause error) {
	i.decide(&Change{Action: Refuse, Notes: []string{cause.Error()}})
}

// decide ends the work on the item; nil leaves it as it is.
func (i *diffItem) decide(c *Change) {
	if c != nil {
		c.ID, c.GVK = i.id, i.gvk
	}
	i.change, i.decided = c, true
}

// resolve turns the objects of the render into items, as they are applied.
func (d *diff) resolve(context.Context) error {
	providers, waves, seen := map[render.ObjectID]int32{}, map[*diffItem]int32{}, map[render.ObjectID]*diffItem{}
	for _, obj := range d.Objects {
		item := &diffItem{id: render.IDOf(obj), gvk: obj.GroupVersionKind()}
		hook, err := HookOf(obj)
		var wave int32
		if err == nil {
			wave, err = d.resolveItem(item, obj)
		}
		var lookup *lookupError
		if errors.As(err, &lookup) {
			return fmt.Errorf("%s: %w", item.id, err)
		}
		if hook != nil { // whether it runs is a matter of the rollout, and it is no drift
			d.hooks.Add(cmp.Or(item.desired, obj))
			continue
		}
		if twin := seen[item.id]; twin != nil {
			twin.refuse(errors.New("is in the render twice, with and without its namespace: remove one"))
			continue
		}
		if err != nil {
			item.refuse(err)
		}
		d.items = append(d.items, item)
		seen[item.id], waves[item] = item, wave
		if kind := item.id.GroupKind(); kind == CRDKind || kind == NamespaceKind {
			providers[item.id] = wave
			d.namespaces[item.id.Name] = kind == NamespaceKind
		}
	}
	for _, item := range d.items {
		if err := d.definitions.CheckOrder(item.id, waves[item], providers); err != nil && !item.decided {
			item.refuse(err)
		}
	}
	return nil
}

func (d *diff) resolveItem(item *diffItem, obj *unstructured.Unstructured) (wave int32, err error) {
	if wave, err = WaveOf(obj); err != nil {
		return wave, err
	}
	if err := CheckPruneAnnotation(obj); err != nil {
		return wave, err
	}
	if err := CheckForceAnnotation(obj); err != nil {
		return wave, err
	}
	namespaced, served, err := d.definitions.Scope(d.Mapper, item.gvk)
	if err != nil {
		return wave, err
	}
	if item.desired, err = Desired(d.Owner, obj, namespaced); err != nil {
		return wave, err
	}
	item.id = render.IDOf(item.desired)
	if !served {
		item.untried = KindNotServed
	}
	return wave, nil
}

// findMergers finds how the server merges the kinds of the items.
func (d *diff) findMergers(ctx context.Context) error {
	for _, item := range d.items {
		if _, ok := d.mergers[item.gvk]; ok || item.decided || item.untried == KindNotServed {
			continue
		}
		m, err := d.mergerOf(ctx, item.gvk)
		if err != nil {
			return fmt.Errorf("%s: %w", item.id, err)
		}
		d.mergers[item.gvk] = m
	}
	return nil
}

func (d *diff) mergerOf(ctx context.Context, gvk schema.GroupVersionKind) (merger, error) {
	if normal := d.Normalizer.BuiltIn(gvk); normal != nil {
		return merger{normal, d.schemas.converter, false}, nil
	}
	mapping, err := d.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return merger{}, &lookupError{err}
	}
	if strings.Contains(gvk.Group, ".") {
		m, err := d.Differ.definitions.named(ctx, mapping.Resource.GroupResource().String())
		if err != nil {
			return merger{}, err
		}
		if m != nil {
			return *m, nil
		}
	}
	return merger{nil, d.schemas.converter, false}, nil
}

// each does something for the items that are not decided, some at once. The error is that of the first item that has one.
func (d *diff) each(ctx context.Context, limit int, which func(*diffItem) bool, do func(context.Context, *diffItem) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for _, item := range d.items {
		if !item.decided && which(item) {
			g.Go(func() error { return do(ctx, item) })
		}
	}
	return g.Wait()
}
