package apply

import (
	"cmp"
	"context"
	"errors"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// dryRun tries the items on the server and decides their actions. Definitions go first: what their kinds look like after the
// change is known only then.
func (p *Planner) dryRun(ctx context.Context, owner live.Owner, items []Item) error {
	isDefinition := func(i Item) bool { return i.ID.GroupKind() == live.CRDKind }
	isOther := func(i Item) bool { return !isDefinition(i) && i.Untried == "" }
	errs := make([]error, len(items))
	for _, which := range []func(Item) bool{isDefinition, isOther} {
		for i, err := range inParallel(len(items), func(i int) error {
			if !which(items[i]) {
				return nil
			}
			return p.try(ctx, owner, &items[i])
		}) {
			errs[i] = cmp.Or(errs[i], err)
		}
	}
	coming := comingWith(items)
	for i, err := range errs {
		if items[i].Action == Recreated && coming.changing[items[i].ID.GroupKind()] { // it may well be updated then
			items[i].Action, items[i].Untried = Configured, schemaChanges
		}
		if err == nil {
			continue
		}
		if why := coming.excuse(items[i], err); why != "" {
			if items[i].Untried, errs[i] = why, nil; items[i].Live != nil {
				items[i].Action = Configured
			}
			continue
		}
		if live.NotServed(err) {
			err = live.ErrNotServed(items[i].GVK)
		}
		errs[i] = withoutValues(items[i].ID, err)
	}
	return objectErrors(errs, func(i int) render.ObjectID { return items[i].ID }).orNil()
}

// coming is what a plan brings that other objects need.
type coming struct {
	namespaces map[string]bool
	kinds      map[schema.GroupKind]bool // whose definition is in the render
	changing   map[schema.GroupKind]bool // whose definition is about to change
}

func comingWith(items []Item) coming {
	c := coming{namespaces: map[string]bool{}, kinds: map[schema.GroupKind]bool{}, changing: map[schema.GroupKind]bool{}}
	for _, item := range items {
		switch item.ID.GroupKind() {
		case live.NamespaceKind:
			c.namespaces[item.ID.Name] = true
		case live.CRDKind:
			for kind := range live.DefinitionsIn([]*unstructured.Unstructured{item.Desired}) {
				c.kinds[kind] = true
				c.changing[kind] = item.pending()
			}
		}
	}
	return c
}

// excuse says why the dry run of an item could not succeed before the apply; empty if it could.
func (c coming) excuse(item Item, err error) untried {
	kind := item.ID.GroupKind()
	switch {
	case missingNamespace(err) && c.namespaces[item.ID.Namespace]:
		return namespaceMissing
	case live.NotServed(err) && c.kinds[kind]:
		return kindNotServed
	case c.changing[kind] && !isOwnershipError(err):
		return schemaChanges
	}
	return ""
}

// try decides what an apply would do to one item.
func (p *Planner) try(ctx context.Context, owner live.Owner, item *Item) error {
	if item.settled {
		item.Action = Unchanged
		p.Memory.calm(owner.UID, item.ID)
		return nil
	}
	sent, result, err := p.tryOn(ctx, owner, item)
	if err != nil {
		return p.tryAnew(ctx, owner, item, err)
	}
	item.health = healthOf(owner, item.ID, item.Live)
	if result != item.Live { // it is not left to others
		item.overridden = live.Overridden(sent, result)
	}
	switch {
	case item.Live == nil:
		item.Action = Created
	case sameState(item.Live, result):
		item.Action = Unchanged
		p.Memory.remember(owner, *item, item.Live, sent)
		p.Memory.calm(owner.UID, item.ID)
		return nil
	default:
		item.Action = Configured
	}
	if p.wasAsDesired(owner, item) {
		p.noteDrift(owner, item, driftOf(owner, item.Live, result))
	}
	return nil
}

// wasAsDesired says that an item that is not as the render has it was so before.
func (p *Planner) wasAsDesired(owner live.Owner, item *Item) bool {
	_, known, _ := p.Memory.recall(owner.UID, item.ID, item.Hash)
	return known || item.recorded
}

func (p *Planner) noteDrift(owner live.Owner, item *Item, drift *Drift) {
	item.Drift = drift
	item.Held = p.Memory.drifted(owner.UID, item.ID, *drift)
}

// tryOn sends the dry run, and reads the live object that it was tried on: its controllers may write it between a reading and the dry
// run. Without our labels it was not listed; the server knows whether it is there, since only then the result has a resourceVersion.
// An object that is left to others is as it is desired.
func (p *Planner) tryOn(ctx context.Context, owner live.Owner, item *Item) (sent, result *unstructured.Unstructured, err error) {
	const most = 3 // an object that is written faster than that counts as changed
	for attempt := 1; ; attempt++ {
		if item.Live != nil {
			if err := owner.MayTake(ctx, item.Live, p.OwnerName); err != nil {
				return nil, nil, err
			}
		}
		found, err := item.found(owner)
		if err != nil {
			return nil, nil, err
		}
		if sent, err = live.LeaveToOthers(item.Desired, found); err != nil {
			return nil, nil, err
		}
		if sent == nil {
			return item.Desired, item.Live, nil
		}
		result, err = p.send(ctx, item, found, sent)
		switch {
		case item.Live == nil && apierrors.IsInvalid(err): // what a former tool owns may be in the way
		case err != nil:
			return nil, nil, err
		case isAt(item.Live, result.GetResourceVersion()) || attempt > most:
			return sent, result, nil
		}
		refused := err
		if item.Live, err = (live.Reader{Client: p.Client}).Get(ctx, item.target()); err != nil {
			return nil, nil, err
		}
		if item.Live == nil && refused != nil {
			return nil, nil, refused
		}
	}
}

// send tries an apply on the server. found is the live object as the apply finds it.
func (p *Planner) send(ctx context.Context, item *Item, found, sent *unstructured.Unstructured) (result *unstructured.Unstructured, err error) {
	if found != item.Live {
		if result, err = p.tryTakeover(ctx, item, found, sent); err != nil || result != nil {
			return result, err
		}
	}
	result = sent.DeepCopy()
	return result, serverSideApply(ctx, p.Client, result, client.DryRunAll)
}

// isAt says whether an object is at a resourceVersion; nil is at none.
func isAt(obj *unstructured.Unstructured, resourceVersion string) bool {
	if obj == nil {
		return resourceVersion == ""
	}
	return obj.GetResourceVersion() == resourceVersion
}

func serverSideApply(ctx context.Context, c client.Client, obj *unstructured.Unstructured, opts ...client.ApplyOption) error {
	opts = append(opts, client.ForceOwnership, client.FieldOwner(v1alpha1.FieldManager))
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), opts...)
}

// sameState compares everything but what every write moves.
func sameState(a, b *unstructured.Unstructured) bool {
	return apiequality.Semantic.DeepEqual(stateOf(a), stateOf(b))
}

func stateOf(obj *unstructured.Unstructured) map[string]any {
	state := obj.DeepCopy()
	fields := state.GetManagedFields()
	for i := range fields {
		fields[i].Time = nil
	}
	state.SetManagedFields(fields)
	unstructured.RemoveNestedField(state.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(state.Object, "metadata", "generation")
	return state.Object
}

// missingNamespace says that a request failed since its namespace is not there.
func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && status.Status().Reason == metav1.StatusReasonNotFound
}

func isOwnershipError(err error) bool {
	var owned *live.OwnedElsewhereError
	return errors.As(err, &owned)
}
