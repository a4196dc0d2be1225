package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// plannedHooks are the hooks of a render.
type plannedHooks struct {
	set   live.HookSet // all of them
	items []hookItem   // those that run in this rollout, in their order
}

// resolveHooks finds what the hooks are called in this cluster, and which of them run in this rollout. What is wrong with the others is no
// matter.
func (p *Planner) resolveHooks(req Request, hooks []live.Hook, items []Item) (plannedHooks, error) {
	var planned plannedHooks
	var failed ObjectErrors
	seen := map[render.ObjectID]bool{}
	for _, item := range items {
		seen[item.ID] = true
	}
	definitions := live.DefinitionsIn(req.Objects)
	for _, hook := range hooks {
		item, err := p.resolveObject(req, hook.Object, definitions)
		switch runs := req.Run != nil && runsIn(hook, *req.Run); {
		case err != nil && runs:
			failed = append(failed, ObjectError{render.IDOf(hook.Object), err})
			continue
		case err != nil: // its scope is not known
			namespaced := hook.Object.DeepCopy()
			namespaced.SetNamespace(cmp.Or(namespaced.GetNamespace(), req.Owner.Namespace))
			planned.set.Add(namespaced)
			planned.set.Add(hook.Object)
			continue
		case runs:
			planned.items = append(planned.items, hookItemOf(req, hook, item))
		}
		planned.set.Add(item.Desired)
	}
	for i, h := range planned.items {
		if seen[h.ID] {
			failed = append(failed, ObjectError{h.ID, errHookTwice})
		}
		seen[h.ID] = true
		planned.items[i].earlier = earlierRuns(req.Inventory, h)
	}
	slices.SortFunc(planned.items, func(a, b hookItem) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(hookOrder(a.ID.GroupKind()), hookOrder(b.ID.GroupKind())), a.ID.Compare(b.ID))
	})
	return planned, failed.orNil()
}

// runsIn says whether a hook runs at all in a rollout.
func runsIn(hook live.Hook, run HookRun) bool {
	return slices.ContainsFunc([]string{v1alpha1.HookPreSync, v1alpha1.HookPostSync, v1alpha1.HookSyncFail}, func(event string) bool {
		return hook.Runs(event, run.Upgrade)
	})
}

// hookItemOf gives a hook that has no name the one that it has in this run.
func hookItemOf(req Request, hook live.Hook, item Item) hookItem {
	if item.Desired.GetName() == "" {
		const undecided = "0000000000"
		item.Desired = item.Desired.DeepCopy()
		item.Desired.SetName(live.HookName(item.Desired.GetGenerateName(), cmp.Or(req.Run.ID, undecided)))
		item.Desired.SetGenerateName("")
		item.ID = render.IDOf(item.Desired)
	}
	return hookItem{Item: item, Hook: hook}
}

// earlierRuns are the recorded objects of a hook that has another name in every run.
func earlierRuns(inventory live.Inventory, h hookItem) []Removal {
	var own live.HookSet
	generic := h.Desired.DeepCopy()
	generic.SetName("")
	generic.SetGenerateName(h.Object.GetGenerateName())
	if h.Object.GetName() == "" {
		own.Add(generic)
	}
	var earlier []Removal
	for _, id := range slices.SortedFunc(maps.Keys(inventory), render.ObjectID.Compare) {
		if own.Has(id) && id != h.ID {
			earlier = append(earlier, Removal{ID: id, GVK: inventory[id].GroupVersionKind()})
		}
	}
	return earlier
}

// tryHooks reads the hooks that run in this rollout, and tries those that were not started yet on the server.
func (p *Planner) tryHooks(ctx context.Context, req Request, hooks []hookItem, coming coming) error {
	errs := inParallel(len(hooks), func(i int) error {
		h := &hooks[i]
		err := p.tryHook(ctx, req, h)
		if err == nil {
			return nil
		}
		if why := coming.excuse(h.Item, err); why != "" && !h.Runs(v1alpha1.HookPreSync, req.Run.Upgrade) {
			h.Untried = why
			return nil
		}
		if live.NotServed(err) {
			err = live.ErrNotServed(h.GVK)
		}
		return withoutValues(h.ID, err)
	})
	return objectErrors(errs, func(i int) render.ObjectID { return hooks[i].ID }).orNil()
}

func (p *Planner) tryHook(ctx context.Context, req Request, h *hookItem) (err error) {
	reader := live.Reader{Client: p.Client}
	if h.Live, err = reader.Get(ctx, h.target()); err != nil {
		return err
	}
	for i, rm := range h.earlier {
		if h.earlier[i].Live, err = reader.Get(ctx, live.Target{ID: rm.ID, GVK: rm.GVK}); err != nil {
			return err
		}
	}
	run := req.Inventory[h.ID].Hook
	if h.Live != nil {
		if err := req.Owner.MayTake(ctx, h.Live, p.OwnerName); err != nil {
			return err
		}
		run = h.Live.GetAnnotations()[v1alpha1.HookRunAnnotation]
	}
	switch {
	case req.Run.ID != "" && strings.HasPrefix(run, req.Run.ID): // it was started
		return nil
	case h.Live == nil || live.KeptAsHook(h.Live):
		return serverSideApply(ctx, p.Client, h.Desired.DeepCopy(), client.DryRunAll)
	}
	if err := p.tryDelete(ctx, &Removal{ID: h.ID, GVK: h.GVK, Live: h.Live}); err != nil {
		return err
	}
	// The one that is there is in the way, and would not take what cannot be changed.
	tried := h.Desired.DeepCopy()
	tried.SetGenerateName(h.Desired.GetName() + "-")
	tried.SetName("")
	return p.Client.Create(ctx, tried, client.DryRunAll, client.FieldOwner(v1alpha1.FieldManager))
}
