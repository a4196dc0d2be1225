package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// HookRun is a rollout, or the deletion of a Release, in which hooks run.
type HookRun struct {
	// ID names the rollout: 10 hex digits, the same in all its passes and in no other rollout. It is empty as long as the rollout is not
	// noted down: then no hook is started, or a restart might start it twice.
	ID string

	// Rollout is what it is in the words of Helm.
	Rollout live.Rollout

	// Deletes says that it is the deletion: nothing is applied but the hooks for it, and everything else that was recorded goes.
	Deletes bool
}

// runs says whether a hook runs at all.
func (r *HookRun) runs(hook live.Hook) bool {
	if r == nil {
		return false
	}
	events := []string{v1alpha1.HookPreSync, v1alpha1.HookPostSync, v1alpha1.HookSyncFail}
	if r.Deletes {
		events = deletionEvents
	}
	return slices.ContainsFunc(events, func(event string) bool { return hook.Runs(event, r.Rollout) })
}

// at names the run of a hook at an event.
func (r HookRun) at(event string) string { return r.ID + "-" + event }

// hookItem is a hook that runs in this rollout or deletion.
type hookItem struct {
	Item
	live.Hook
	earlier []Removal // objects of earlier runs that have other names
	unable  bool      // its namespace goes away, so that it cannot run
}

// How far the run of a hook is, as the inventory has it.
const (
	hookRunning   = " Running"
	hookSucceeded = " Succeeded"
	hookFailed    = " Failed"
)

var hookStates = map[live.Verdict]string{live.Progressing: hookRunning, live.Healthy: hookSucceeded, live.Failed: hookFailed}

// Hooked says whether a hook runs in the rollout.
func (p *Plan) Hooked() bool { return len(p.hooks) > 0 }

// hooksAt are the hooks that run at an event, in their order.
func (p *Plan) hooksAt(event string) []hookItem {
	var hooks []hookItem
	for _, h := range p.hooks {
		if h.Runs(event, p.run.Rollout) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

func (r *run) preSync(ctx context.Context) error  { return r.hooks(ctx, v1alpha1.SyncPhasePreSync) }
func (r *run) postSync(ctx context.Context) error { return r.hooks(ctx, v1alpha1.SyncPhasePostSync) }

// followedBy is the event after an event, by which an object may run again.
var followedBy = map[string]string{v1alpha1.HookPreSync: v1alpha1.HookPostSync, v1alpha1.HookPreDelete: v1alpha1.HookPostDelete}

// hooks runs the hooks of an event one after the other, as far as it gets without waiting.
func (r *run) hooks(ctx context.Context, phase v1alpha1.SyncPhase) error {
	for _, h := range r.plan.hooksAt(string(phase)) {
		if r.plan.run.ID == "" {
			r.set.Waiting = awaitHook(phase, h, live.Health{ID: h.ID, Verdict: live.Progressing, Message: "it starts next"})
			return nil
		}
		health, started, err := r.hook(ctx, h, string(phase))
		if err != nil {
			r.set.Waiting = awaitHook(phase, h, live.Health{ID: h.ID, Verdict: live.Progressing, Message: "it could not be started"})
			return ObjectErrors{{h.ID, withoutValues(h.ID, err)}}
		}
		if health.Verdict != live.Healthy {
			r.set.Waiting = awaitHook(phase, h, health)
			r.set.Waiting.Started = started
			return nil
		}
	}
	return nil
}

func awaitHook(phase v1alpha1.SyncPhase, h hookItem, health live.Health) *Waiting {
	return &Waiting{Phase: phase, Wave: h.Weight, Hook: h.ID.String(), Objects: live.Unhealthy{health}}
}

// hook says how far a hook is, and starts it if it was not in this run.
func (r *run) hook(ctx context.Context, h hookItem, event string) (health live.Health, started bool, err error) {
	name, state := r.plan.run.at(event), r.set.Inventory[h.ID].Hook
	health = live.Health{ID: h.ID}
	ran := h.Live != nil && h.Live.GetAnnotations()[v1alpha1.HookRunAnnotation] == name
	switch {
	case state == name+hookSucceeded, followedBy[event] != "" && strings.HasPrefix(state, r.plan.run.at(followedBy[event])):
		return health, false, nil
	case ran:
		health = live.AssessHook(h.Live)
	case state == name+hookRunning, state == name+hookFailed:
		health.Verdict, health.Message = live.Failed, "it is gone, and was not seen to succeed"
	case h.Untried.kind():
		health.Verdict, health.Message = live.Progressing, string(h.Untried)
		return health, false, nil
	default:
		if health, started, err = r.start(ctx, h, name); err != nil || !started {
			return health, started, err
		}
	}
	entry := entryOf(h.Item, "")
	entry.Hook, entry.Deletion = name+hookStates[health.Verdict], r.set.Inventory[h.ID].Deletion
	r.set.Inventory[h.ID] = entry
	return health, started, nil
}

// start creates a hook in the place of what earlier runs left. What is not gone yet is waited for.
func (r *run) start(ctx context.Context, h hookItem, name string) (health live.Health, started bool, err error) {
	for _, rm := range append(h.earlier, Removal{ID: h.ID, GVK: h.GVK, Live: h.Live}) {
		if rm.Live == nil || live.KeptAsHook(rm.Live) {
			continue
		}
		left, err := r.delete(ctx, rm)
		if err != nil {
			return health, false, err
		}
		if len(left) > 0 {
			return left[0], false, nil
		}
		if rm.ID != h.ID {
			delete(r.set.Inventory, rm.ID)
		}
	}
	obj := h.Desired.DeepCopy()
	annotations := obj.GetAnnotations()
	annotations[v1alpha1.HookRunAnnotation] = name
	obj.SetAnnotations(annotations)
	if err := serverSideApply(ctx, r.Client, obj); err != nil {
		return health, false, err
	}
	r.set.Changes = append(r.set.Changes, Change{ID: h.ID, Action: Started})
	return live.AssessHook(obj), true, nil
}

// Fail starts the hooks that run when a rollout has failed, each once in a rollout, and notes them in the ChangeSet of the apply. It returns
// those that still run, unless they were created before since.
func (a *Applier) Fail(ctx context.Context, plan *Plan, set *ChangeSet, since time.Time) (live.Unhealthy, error) {
	r := &run{Applier: a, plan: plan, set: *set}
	defer func() { *set = r.set }()
	var running live.Unhealthy
	var failed ObjectErrors
	for _, h := range plan.hooksAt(v1alpha1.HookSyncFail) {
		if plan.run.ID == "" {
			running = append(running, live.Health{ID: h.ID, Verdict: live.Progressing, Message: "it starts next"})
			continue
		}
		health, started, err := r.hook(ctx, h, v1alpha1.HookSyncFail)
		if err != nil {
			failed = append(failed, ObjectError{h.ID, withoutValues(h.ID, err)})
		} else if late := !started && h.Live != nil && h.Live.GetCreationTimestamp().Time.Before(since); health.Verdict == live.Progressing && !late {
			running = append(running, health)
		}
	}
	return running, failed.orNil()
}

// Finish deletes the hooks of a rollout that has succeeded whose policy says so. That they have succeeded must be recorded before.
func (a *Applier) Finish(ctx context.Context, plan *Plan, set *ChangeSet) error {
	r := &run{Applier: a, plan: plan, set: *set}
	defer func() { *set = r.set }()
	var failed ObjectErrors
	for _, h := range plan.hooks {
		if !h.DeleteWhenDone || !strings.HasSuffix(set.Inventory[h.ID].Hook, hookSucceeded) {
			continue
		}
		obj, err := (live.Reader{Client: a.Client}).Get(ctx, h.target())
		if err == nil && obj != nil && !live.KeptAsHook(obj) {
			_, err = r.delete(ctx, Removal{ID: h.ID, GVK: h.GVK, Live: obj})
			r.set.Changes = append(r.set.Changes, Change{ID: h.ID, Action: Finished})
		}
		if err != nil {
			failed = append(failed, ObjectError{h.ID, err})
		}
	}
	return failed.orNil()
}

// hookOrder sorts hooks of one weight: what runs something comes after what it may need.
func hookOrder(kind schema.GroupKind) int {
	workload := kind == schema.GroupKind{Kind: "Pod"} || slices.Contains([]string{"apps", "batch", "argoproj.io"}, kind.Group)
	if workload {
		return int(stageInterceptors) + 1
	}
	return int(stageOf(kind))
}

// splitHooks takes the hooks out of the objects of a render.
func splitHooks(objects []*unstructured.Unstructured) (ordinary []*unstructured.Unstructured, hooks []live.Hook, err error) {
	var failed ObjectErrors
	for _, obj := range objects {
		switch hook, err := live.HookOf(obj); {
		case err != nil:
			failed = append(failed, ObjectError{render.IDOf(obj), err})
		case hook != nil:
			hooks = append(hooks, *hook)
		default:
			ordinary = append(ordinary, obj)
		}
	}
	return ordinary, hooks, failed.orNil()
}

var errHookTwice = errors.New("is in the render twice, once as a hook: remove one")
