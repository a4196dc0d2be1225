package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// plannedHooks are the hooks of a render.
type plannedHooks struct {
	set      live.HookSet      // all of them
	items    []hookItem        // those that run in this rollout or deletion, in their order
	unable   []render.ObjectID // those that cannot run in the deletion, since their namespaces go away
	deferred []hookItem        // those that run when the Release is deleted, while it is not
}

// resolveHooks finds what the hooks are called in this cluster, and which of them run in this rollout. What is wrong with the others is no
// matter.
func (p *Planner) resolveHooks(req Request, hooks []live.Hook, items []Item) (plannedHooks, error) {
	var planned plannedHooks
	var failed ObjectErrors
	definitions := live.DefinitionsIn(req.Objects)
	for _, hook := range hooks {
		item, err := p.resolveObject(req, hook.Object, definitions)
		runs, deferred := req.Run.runs(hook), !req.deletes() && forDeletion(hook)
		switch {
		case err != nil && (runs || deferred):
			failed = append(failed, ObjectError{render.IDOf(hook.Object), err})
			continue
		case err != nil: // its scope is not known
			namespaced := hook.Object.DeepCopy()
			namespaced.SetNamespace(cmp.Or(namespaced.GetNamespace(), req.Owner.Namespace))
			planned.set.Add(namespaced)
			planned.set.Add(hook.Object)
			continue
		}
		if runs {
			planned.items = append(planned.items, hookItem{Item: named(item, req.Run.ID), Hook: hook})
		}
		if deferred {
			planned.deferred = append(planned.deferred, hookItem{Item: named(item, ""), Hook: hook})
		}
		planned.set.Add(item.Desired)
	}
	failed = append(failed, twice(items, planned.items)...)
	failed = append(failed, twice(items, planned.deferred)...)
	for i, h := range planned.items {
		planned.items[i].earlier = earlierRuns(req.Inventory, h)
	}
	slices.SortFunc(planned.items, func(a, b hookItem) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(hookOrder(a.ID.GroupKind()), hookOrder(b.ID.GroupKind())), a.ID.Compare(b.ID))
	})
	return planned, failed.orNil()
}

// twice are the hooks that have the identity of another object.
func twice(items []Item, hooks []hookItem) (failed ObjectErrors) {
	seen := map[render.ObjectID]bool{}
	for _, item := range items {
		seen[item.ID] = true
	}
	for _, h := range hooks {
		if seen[h.ID] {
			failed = append(failed, ObjectError{h.ID, errHookTwice})
		}
		seen[h.ID] = true
	}
	return failed
}

// named gives a hook that has no name the one that it has in a run. Before that is known, it stands for all runs.
func named(hook Item, run string) Item {
	if hook.Desired.GetName() == "" {
		const undecided = "0000000000"
		hook.Desired = hook.Desired.DeepCopy()
		hook.Desired.SetName(live.HookName(hook.Desired.GetGenerateName(), cmp.Or(run, undecided)))
		hook.Desired.SetGenerateName("")
		hook.ID = render.IDOf(hook.Desired)
	}
	return hook
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

// tryHooks reads the hooks that run in this rollout or deletion, and tries those that were not started yet on the server, and in a rollout
// those for the deletion too. In a namespace that goes away no hook of a deletion can run, so it is left out.
func (p *Planner) tryHooks(ctx context.Context, req Request, planned *plannedHooks, coming coming) error {
	hooks := slices.Clone(planned.items)
	if req.Run != nil {
		runs := req.Run.runs
		hooks = append(hooks, slices.DeleteFunc(slices.Clone(planned.deferred), func(h hookItem) bool { return runs(h.Hook) })...)
	}
	errs := inParallel(len(hooks), func(i int) error {
		h := &hooks[i]
		err := p.tryHook(ctx, req, h)
		switch why := coming.excuse(h.Item, err); {
		case err == nil:
			return nil
		case req.deletes() && namespaceGoes(err):
			h.unable = true
			return nil
		case why != "" && !h.Runs(v1alpha1.HookPreSync, req.Run.Rollout):
			h.Untried = why
			return nil
		case live.NotServed(err):
			err = live.ErrNotServed(h.GVK)
		}
		return withoutValues(h.ID, err)
	})
	planned.items = nil
	for _, h := range hooks {
		if h.unable {
			planned.unable = append(planned.unable, h.ID)
		} else if req.Run.runs(h.Hook) {
			planned.items = append(planned.items, h)
		}
	}
	return objectErrors(errs, func(i int) render.ObjectID { return hooks[i].ID }).orNil()
}

// namespaceGoes says that a request failed since its namespace is gone, or is being deleted.
func namespaceGoes(err error) bool {
	return missingNamespace(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
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
	case req.Run.ID != "" && strings.HasPrefix(run, req.Run.ID) && (h.Live != nil || !req.deletes()): // it was started
		return nil
	case h.Live == nil || live.KeptAsHook(h.Live):
		return serverSideApply(ctx, p.Client, h.Desired.DeepCopy(), client.DryRunAll)
	}
	if err := p.tryDelete(ctx, &Removal{ID: h.ID, GVK: h.GVK, Live: h.Live}); err != nil {
		return err
	}
	return p.tryCreate(ctx, h.Desired)
}
