package apply

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// Applier does what a plan says, with the rights of one Release.
type Applier struct {
	Client client.Client // needs get, create, patch and delete on the objects
	Memory *Memory

	// Gated makes each wave wait until the one before is healthy, and the prune until all are. It is for a render that is rolled
	// out; one that has been applied in full before is only put right where it drifted.
	Gated bool
}

// Apply goes as far as it gets without waiting: the PreSync hooks, the waves in order, each healthy before something is changed in the next,
// the prune in reverse, the PostSync hooks. What is as desired already is not sent. The error is ObjectErrors; the ChangeSet says in any case what was done.
func (a *Applier) Apply(ctx context.Context, plan *Plan) (ChangeSet, error) {
	a.Memory.apply(plan.Owner.UID)
	run := &run{Applier: a, plan: plan, health: map[render.ObjectID]live.Health{}}
	run.set.Inventory = plan.Planned()
	err := run.steps(ctx)
	if err != nil && run.set.Waiting == nil && plan.Hooked() { // the hooks of the rollout are still to run, once it goes on
		run.set.Waiting = &Waiting{Phase: v1alpha1.SyncPhaseWave}
	}
	run.set.Health = run.healthOf(plan.Items)
	run.set.Fights = a.Memory.fights(plan.Owner)
	return run.set, err
}

// run is one apply.
type run struct {
	*Applier
	plan *Plan

	mu     sync.Mutex // guards what follows while objects are written in parallel
	set    ChangeSet
	health map[render.ObjectID]live.Health // of what is as desired now, or held
}

func (r *run) steps(ctx context.Context) error {
	line := []func(context.Context) error{r.preSync, r.waves, r.prune, r.postSync}
	if r.plan.deletes() {
		line = []func(context.Context) error{r.preDelete, r.prune, r.postDelete}
	}
	for _, step := range line {
		if err := step(ctx); err != nil || r.set.Waiting != nil {
			return err
		}
	}
	return nil
}

func (r *run) waves(ctx context.Context) error {
	waves := grouped(r.plan.Items, func(i Item) int32 { return i.position.wave })
	for n, wave := range waves {
		for _, stage := range grouped(wave, func(i Item) position { return i.position }) {
			if err := r.stage(ctx, stage); err != nil || r.set.Waiting != nil {
				return err
			}
		}
		if r.Gated && r.pendingAfter(waves[n+1:]) {
			if bad := live.Worst(r.healthOf(wave)); len(bad) > 0 {
				r.set.Waiting = &Waiting{Phase: v1alpha1.SyncPhaseWave, Wave: wave[0].position.wave, Objects: bad}
				return nil
			}
		}
	}
	return nil
}

// stage writes what differs in one stage of a wave. Objects that are not gone yet, so that they cannot be created anew, end the pass, and
// so do those whose kind is not served yet, or is about to change: they are planned anew, and tried on the server, once it is.
func (r *run) stage(ctx context.Context, items []Item) error {
	var awaited live.Unhealthy
	var ready []Item
	for _, item := range items {
		if item.Untried.kind() {
			awaited = append(awaited, live.Health{ID: item.ID, Verdict: live.Progressing, Message: string(item.Untried)})
		} else {
			ready = append(ready, item)
		}
	}
	remaining := make([]live.Unhealthy, len(ready))
	errs := inParallel(len(ready), func(i int) (err error) {
		remaining[i], err = r.write(ctx, ready[i])
		return withoutValues(ready[i].ID, err)
	})
	awaited = append(awaited, slices.Concat(remaining...)...)
	failed := objectErrors(errs, func(i int) render.ObjectID { return ready[i].ID })
	if len(failed) == 0 && len(awaited) > 0 {
		r.set.Waiting = &Waiting{Phase: v1alpha1.SyncPhaseWave, Wave: items[0].position.wave, Objects: awaited}
	}
	return failed.orNil()
}

// write makes one object as the render has it. What is not gone yet, so that it cannot be created anew, is returned.
func (r *run) write(ctx context.Context, item Item) (live.Unhealthy, error) {
	if !item.pending() {
		r.wrote(item, item.health)
		return nil, nil
	}
	if item.Action == Recreated {
		if left, err := r.makeRoom(ctx, item); err != nil || len(left) > 0 {
			return left, err
		}
		item.Live = nil
	}
	sent, result, err := r.send(ctx, item)
	if err != nil {
		return nil, err
	}
	owner := r.plan.Owner
	if result != item.Live { // it is not left to others
		item.overridden = live.Overridden(sent, result)
	}
	r.Memory.remember(owner, item, result, sent)
	if item.Drift != nil {
		r.Memory.putBack(owner.UID, item.ID, *item.Drift)
	}
	r.wrote(item, healthOf(owner, item.ID, result))
	return nil, nil
}

// send applies an item. Where fields are left to others, what they are now is a part of what is sent, so that is sent only for the object
// as it was read.
func (r *run) send(ctx context.Context, item Item) (sent, result *unstructured.Unstructured, err error) {
	const most = 3
	for attempt := 1; ; attempt++ {
		sent, result, err = r.sendAsRead(ctx, &item)
		if !apierrors.IsConflict(err) || attempt == most {
			return sent, result, err
		}
		if item.Live, err = (live.Reader{Client: r.Client}).Get(ctx, item.target()); err != nil {
			return nil, nil, err
		}
	}
}

// sendAsRead is one attempt of send. The error is a conflict if the object was written since it was read, and that matters.
func (r *run) sendAsRead(ctx context.Context, item *Item) (sent, result *unstructured.Unstructured, err error) {
	if item.adopted(r.plan.Owner) {
		if err := r.takeOver(ctx, item); err != nil {
			return nil, nil, err
		}
	}
	if sent, err = live.LeaveToOthers(item.Desired, item.Live); err != nil {
		return nil, nil, err
	}
	if sent == nil { // it was created since, and is left to others
		return item.Desired, item.Live, nil
	}
	result = sent.DeepCopy()
	if sent != item.Desired {
		result.SetResourceVersion(item.Live.GetResourceVersion())
	}
	return sent, result, serverSideApply(ctx, r.Client, result)
}

func (r *run) wrote(item Item, health live.Health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health[item.ID] = health
	r.set.Inventory[item.ID] = entryOf(item, item.Hash)
	if item.pending() {
		r.set.Changes = append(r.set.Changes, Change{ID: item.ID, Action: item.Action, Drift: item.Drift})
	}
}

// pendingAfter says whether anything is left to be changed after the waves so far.
func (r *run) pendingAfter(waves [][]Item) bool {
	deletes := func(rm Removal) bool { return rm.Live != nil && rm.Keep == "" }
	return slices.ContainsFunc(waves, func(w []Item) bool { return slices.ContainsFunc(w, Item.pending) }) ||
		slices.ContainsFunc(r.plan.Removals, deletes) || len(r.plan.hooksAt(v1alpha1.HookPostSync)) > 0
}

// healthOf is the health of those of the items that the apply got to.
func (r *run) healthOf(items []Item) []live.Health {
	var healths []live.Health
	for _, item := range items {
		if health, ok := r.health[item.ID]; ok {
			healths = append(healths, health)
		}
	}
	return healths
}

// prune takes away what left the render, wave by wave in reverse; the objects of one are gone before the next.
func (r *run) prune(ctx context.Context) error {
	for _, group := range grouped(r.plan.Removals, func(rm Removal) position { return rm.position }) {
		if err := r.removeAll(ctx, group); err != nil || r.set.Waiting != nil {
			return err
		}
	}
	return nil
}

// removeAll deletes or lets go of the objects of one wave.
func (r *run) removeAll(ctx context.Context, group []Removal) error {
	remaining := make([]live.Unhealthy, len(group))
	errs := inParallel(len(group), func(i int) (err error) {
		remaining[i], err = r.remove(ctx, group[i])
		return err
	})
	if failed := objectErrors(errs, func(i int) render.ObjectID { return group[i].ID }); len(failed) > 0 {
		return failed
	}
	if left := slices.Concat(remaining...); len(left) > 0 {
		r.set.Waiting = &Waiting{Phase: v1alpha1.SyncPhasePrune, Wave: group[0].position.wave, Objects: left}
	}
	return nil
}

// remove deletes or lets go of one object. What is not gone after the delete is returned.
func (r *run) remove(ctx context.Context, rm Removal) (live.Unhealthy, error) {
	switch {
	case rm.Live == nil:
		r.removed(Change{ID: rm.ID, Action: Unchanged})
		return nil, nil
	case rm.Keep != "":
		if err := r.letGo(ctx, rm); err != nil {
			return nil, fmt.Errorf("take off the owner labels: %w", err)
		}
		r.removed(Change{ID: rm.ID, Action: Skipped, Reason: rm.Keep})
		return nil, nil
	}
	left, err := r.delete(ctx, rm)
	if err == nil && len(left) == 0 {
		r.removed(Change{ID: rm.ID, Action: Deleted})
	}
	return left, err
}

// delete deletes an object. What is not gone then, since a finalizer holds it, is returned.
func (r *run) delete(ctx context.Context, rm Removal) (live.Unhealthy, error) {
	uid := rm.Live.GetUID()
	if rm.Live.GetDeletionTimestamp().IsZero() {
		err := r.Client.Delete(ctx, rm.Live.DeepCopy(), client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil && !live.Gone(err) {
			return nil, fmt.Errorf("delete: %w", err)
		}
	}
	obj, err := live.Reader{Client: r.Client}.Get(ctx, live.Target{ID: rm.ID, GVK: rm.GVK})
	if err != nil {
		return nil, err
	}
	if obj != nil && obj.GetUID() == uid {
		message := "is being deleted, and its finalizers hold it: " + fmt.Sprint(obj.GetFinalizers())
		return live.Unhealthy{{ID: rm.ID, Verdict: live.Progressing, Message: message}}, nil
	}
	return nil, nil
}

// letGo takes the owner labels off an object that is left running, unless it is somebody else's already.
func (r *run) letGo(ctx context.Context, rm Removal) error {
	if !rm.Ours {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null,%q:null}}}`, v1alpha1.ReleaseNameLabel, v1alpha1.ReleaseNamespaceLabel)
	err := r.Client.Patch(ctx, rm.Live.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(v1alpha1.FieldManager))
	if live.Gone(err) || abandons(r.plan.policy, err) {
		return nil
	}
	return err
}

func (r *run) removed(change Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set.Inventory, change.ID)
	r.Memory.drop(r.plan.Owner.UID, change.ID)
	if change.Action != Unchanged {
		r.set.Changes = append(r.set.Changes, change)
	}
}
