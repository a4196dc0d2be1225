package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// Action is what an apply does, or did, to an object.
type Action string

// The actions.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Recreated  Action = "recreated" // deleted and created anew, since it cannot be updated
	Unchanged  Action = "unchanged"
	Deleted    Action = "deleted"
	Skipped    Action = "skipped"  // left the render, and is left running
	Started    Action = "started"  // a hook
	Finished   Action = "finished" // a hook has done its work, and is deleted
)

// Item is one object of the render in a plan.
type Item struct {
	ID      render.ObjectID
	GVK     schema.GroupVersionKind
	Desired *unstructured.Unstructured // as the render has it, for this cluster and owner
	Live    *unstructured.Unstructured // nil if it is not there, or need not be read
	Hash    string                     // of the object in the render
	Action  Action                     // Created, Configured, Recreated or Unchanged
	Untried untried                    // why the server could not try it yet; empty if it did
	Drift   *Drift                     // how it came to differ, if it was as the render has it; nil otherwise
	Held    bool                       // it is left as it is for now, since it is in a fight

	position   position
	applied    bool        // the inventory says that it was applied, perhaps in another form
	recorded   bool        // the inventory says that it was applied as the render has it
	overridden []string    // what the server's admission makes of it, for the inventory
	settled    bool        // it is as desired without a dry run
	health     live.Health // of what is there
}

// pending says that the object is to be written.
func (i Item) pending() bool { return i.Action != Unchanged && !i.Held }

// untried says why an object could not be tried on the server before the apply.
type untried string

const (
	kindNotServed    untried = live.KindNotServed
	namespaceMissing untried = live.NamespaceMissing
	schemaChanges    untried = live.SchemaChanges
)

// kind says that the kind of the object is what is missing.
func (u untried) kind() bool { return u == kindNotServed || u == schemaChanges }

func (i Item) target() live.Target { return live.Target{ID: i.ID, GVK: i.GVK} }

// Plan is what an apply would do. Planning changed nothing on the server.
type Plan struct {
	Owner    live.Owner
	Items    []Item    // by wave and stage
	Removals []Removal // by wave and stage, in reverse

	// Unable are hooks of the deletion that cannot run, since their namespaces go away.
	Unable []render.ObjectID

	hooks     []hookItem // that run in this rollout, in their order
	run       *HookRun   // nil if this is no rollout
	deferred  []hookItem // hooks that wait for the deletion of the Release
	pruned    bool       // the prune of a deletion is done
	inventory live.Inventory
	policy    live.Policy
}

// Request is what is to be planned.
type Request struct {
	Owner     live.Owner
	Ref       render.Ref
	Objects   []*unstructured.Unstructured // the render
	Inventory live.Inventory               // what the Release recorded
	Policy    live.Policy
	Run       *HookRun // nil if this is neither a rollout nor a deletion, so that no hook runs

	// Cause is what makes the apply what it is, such as the render and the request for it: another one ends all fights.
	Cause string

	// Rights is whose rights the Client has: with others, every object is tried again.
	Rights string
}

func (r Request) deletes() bool { return r.Run != nil && r.Run.Deletes }
func (p *Plan) deletes() bool   { return p.run != nil && p.run.Deletes }

// Planner plans applies with the rights of one Release.
type Planner struct {
	Client client.Client // needs get, list, create and patch on the objects
	Mapper meta.RESTMapper
	Memory *Memory
	Watch  Watch // nil if nothing is watched

	// Discovery asks the server what it serves, for kinds that the Mapper may know from before.
	Discovery discovery.DiscoveryInterfaceWithContext

	OwnerName live.OwnerName
	Takeovers *live.Takeovers
}

// Plan tries the objects on the server by dry runs, except for those that are known to be as desired, and reads what left the render. The
// error is ObjectErrors if objects are at fault, *live.PruneRefusedError if too many would be deleted.
func (p *Planner) Plan(ctx context.Context, req Request) (*Plan, error) {
	ordinary, hooks, err := splitHooks(req.Objects)
	if err != nil {
		return nil, err
	}
	if req.Objects = ordinary; req.deletes() {
		req.Objects = nil
		hooks = slices.DeleteFunc(hooks, func(h live.Hook) bool { return !req.Run.runs(h) }) // the others go with all that was recorded
	}
	items, err := p.resolve(req)
	if err != nil {
		return nil, err
	}
	hooked, err := p.resolveHooks(req, hooks, items)
	if err != nil {
		return nil, err
	}
	removals, err := p.planRemovals(ctx, req, items, hooked.set)
	if err != nil {
		return nil, err
	}
	if err := req.Policy.Budget(deletes(removals), len(req.Inventory)); err != nil {
		return nil, err
	}
	p.Memory.begin(req)
	if err := p.lookAt(ctx, req, items); err != nil {
		return nil, err
	}
	if err := p.dryRun(ctx, req.Owner, items); err != nil {
		return nil, err
	}
	if err := p.tryHooks(ctx, req, &hooked, comingWith(items)); err != nil {
		return nil, err
	}
	return &Plan{
		Owner: req.Owner, Items: items, Removals: removals,
		Unable: hooked.unable, hooks: hooked.items, run: req.Run, deferred: hooked.deferred, pruned: len(ordinary) > 0 && len(removals) == 0,
		inventory: req.Inventory, policy: req.Policy,
	}, nil
}

// lookAt fills in what there is of the items.
func (p *Planner) lookAt(ctx context.Context, req Request, items []Item) error {
	var subjects []Subject
	for _, item := range items {
		if item.Untried == "" {
			subjects = append(subjects, Subject{item.target(), item.Hash})
		}
	}
	survey := Survey{Client: p.Client, Memory: p.Memory, Watch: p.Watch, Owner: req.Owner}
	findings, err := survey.Look(ctx, subjects)
	if err != nil {
		return err
	}
	for i, item := range items {
		found := findings[item.ID]
		items[i].Live, items[i].settled, items[i].health = found.Live, found.AsDesired, found.Health
		items[i].applied = req.Inventory[item.ID].Hash != ""
		items[i].recorded = req.Inventory[item.ID].Hash == item.Hash
		items[i].overridden = req.Inventory[item.ID].Overridden
	}
	return nil
}

// Planned is the inventory that covers the plan, whatever becomes of it: what was recorded, and every object that is to be applied.
func (p *Plan) Planned() live.Inventory {
	inv := live.Inventory{}
	for id, e := range p.inventory {
		inv[id] = e
	}
	for _, item := range p.Items {
		inv[item.ID] = entryOf(item, p.inventory[item.ID].Hash)
	}
	for _, h := range p.hooks {
		if p.run.ID != "" { // else none is created in this pass
			entry := entryOf(h.Item, "")
			entry.Hook, entry.Deletion = p.inventory[h.ID].Hook, p.deletes()
			inv[h.ID] = entry
		}
	}
	for _, h := range p.deferred {
		entry := entryOf(h.Item, "")
		entry.Hook, entry.Deletion = inv[h.ID].Hook, true
		inv[h.ID] = entry
	}
	return inv
}

// Changes says whether an apply of the plan would write anything.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Items, Item.pending) || len(p.Removals) > 0
}

// Kinds are the kinds of the objects of the plan that the server serves.
func (p *Plan) Kinds() []schema.GroupVersionKind {
	kinds := map[schema.GroupVersionKind]bool{}
	var list []schema.GroupVersionKind
	add := func(gvk schema.GroupVersionKind) {
		if !kinds[gvk] {
			kinds[gvk] = true
			list = append(list, gvk)
		}
	}
	for _, item := range p.Items {
		if item.Untried != kindNotServed {
			add(item.GVK)
		}
	}
	for _, h := range p.hooks {
		if h.Untried != kindNotServed {
			add(h.GVK)
		}
	}
	for _, r := range p.Removals {
		if r.Live != nil {
			add(r.GVK)
		}
	}
	return list
}
