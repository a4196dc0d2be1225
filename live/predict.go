package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// predictDefinitions predicts the CustomResourceDefinitions of the render first: an apply writes them first too, and what becomes of their
// custom resources is decided by what they are then.
func (d *diff) predictDefinitions(ctx context.Context) error {
	isDefinition := func(i *diffItem) bool { return i.gvk.GroupKind() == CRDKind }
	if err := d.predictThose(ctx, isDefinition); err != nil {
		return err
	}
	wanted := map[schema.GroupKind]bool{}
	for _, item := range d.items {
		wanted[item.gvk.GroupKind()] = true
	}
	for _, item := range d.items {
		if isDefinition(item) && (item.change == nil || item.change.Next != nil) {
			d.define(item, wanted)
		}
	}
	return nil
}

// define takes the kind of a definition of the render as it is after the apply.
func (d *diff) define(item *diffItem, wanted map[schema.GroupKind]bool) {
	definition, build := item.live, d.Differ.definitions.of
	if item.change != nil {
		definition = item.change.Next
		build = func(crd *unstructured.Unstructured) (merger, error) { return mergerBy(d.Normalizer, crd) }
	}
	for kind, def := range DefinitionsIn([]*unstructured.Unstructured{definition}) {
		d.changed[kind] = item.change != nil && (item.change.Live == nil ||
			!apiequality.Semantic.DeepEqual(item.change.Live.Object["spec"], definition.Object["spec"]))
		if !wanted[kind] {
			continue
		}
		m, err := build(definition)
		if err != nil {
			item.refuse(err)
			return
		}
		for _, version := range def.Versions {
			d.mergers[kind.WithVersion(version)] = m
		}
	}
}

func (d *diff) predictOthers(ctx context.Context) error {
	return d.predictThose(ctx, func(*diffItem) bool { return true })
}

func (d *diff) predictThose(ctx context.Context, which func(*diffItem) bool) error {
	for _, item := range d.items {
		if which(item) && !item.decided && item.gvk.GroupKind() == CRDKind {
			d.mergers[item.gvk] = merger{d.Normalizer.BuiltIn(item.gvk), d.schemas.converter, false}
		}
	}
	return d.each(ctx, runtime.GOMAXPROCS(0), which, func(ctx context.Context, item *diffItem) error {
		change, err := d.predict(ctx, item)
		var refused refusal
		var owned *OwnedElsewhereError
		switch {
		case errors.As(err, &refused) || errors.As(err, &owned):
			item.refuse(err)
		case err != nil:
			return fmt.Errorf("%s: %w", item.id, err)
		default:
			item.decide(change)
		}
		return nil
	})
}

// predict says what an apply would do to an item; nil if it stays as it is.
func (d *diff) predict(ctx context.Context, item *diffItem) (*Change, error) {
	before := item.live
	if before != nil {
		if err := d.Owner.MayTake(ctx, before, d.OwnerName); err != nil {
			return nil, err
		}
		var err error
		if before, err = d.takenOver(item); err != nil {
			return nil, refusal{err}
		}
	}
	desired, err := LeaveToOthers(item.desired, before)
	switch {
	case err != nil:
		return nil, refusal{err}
	case desired == nil:
		return nil, nil
	}
	if before != nil && !d.mayShow(before) { // nothing of it may show in what comes next
		before, desired = nil, item.desired
	}
	m, ok := d.mergers[item.gvk]
	next := desired.DeepCopy()
	if ok { // otherwise its definition is refused, or not of use
		if next, err = m.apply(ctx, before, desired); err != nil {
			return nil, d.withoutValues(ctx, m, item, err)
		}
		if d.recreates(item, before, next) {
			if next, err = m.apply(ctx, nil, item.desired); err != nil {
				return nil, d.withoutValues(ctx, m, item, err)
			}
		}
	}
	return d.compare(item, m, before, desired, next)
}

// takenOver is the live object as the apply finds it: at an adoption, what former tools own is convoy's.
func (d *diff) takenOver(item *diffItem) (*unstructured.Unstructured, error) {
	if !d.Owner.Adopts(item.live, d.Inventory[item.id].Hash != "") {
		return item.live, nil
	}
	return TakenOver(item.desired, item.live)
}

// recreates says whether an object is deleted and created anew to become what is predicted.
func (d *diff) recreates(item *diffItem, before, next *unstructured.Unstructured) bool {
	return before != nil && Forced(item.desired) && KeptFromForce(d.Owner, item.desired, item.live) == "" &&
		len(frozen(item.gvk.GroupKind(), before, next)) > 0
}

// compare makes a change of a prediction; nil if there is none. The live object is nil if it is not there, or not to be shown.
func (d *diff) compare(item *diffItem, m merger, live, sent, next *unstructured.Unstructured) (*Change, error) {
	change := &Change{Action: Create, Next: next}
	if item.live != nil {
		change.Action = Update
	}
	overridden := false
	if live != nil {
		var err error
		if change.Live, err = m.normalize(live); err != nil {
			return nil, fmt.Errorf("normalise the live object: %w", err)
		}
		if overridden, err = override(next, change.Live, sent, live, d.Inventory[item.id].Overridden); err != nil {
			return nil, err
		}
		trim(change.Live)
	}
	if trim(next); live != nil && apiequality.Semantic.DeepEqual(change.Live.Object, next.Object) {
		return nil, nil
	}
	change.Notes = d.notes(item, m, change)
	if overridden {
		change.Notes = append(change.Notes, "fields that the server's admission changes each time are left as they are")
	}
	return change, nil
}

// mayShow says whether the content of a live object may be shown.
func (d *diff) mayShow(obj *unstructured.Unstructured) bool {
	return !d.Confined || d.Owner.Marks(obj)
}

// withoutValues is a refusal without the values of a Secret, which the text may quote. The fields are named.
func (d *diff) withoutValues(ctx context.Context, m merger, item *diffItem, err error) error {
	var refused refusal
	if item.id.GroupKind() != SecretKind || !errors.As(err, &refused) {
		return err
	}
	text := "does not fit the schema of a Secret"
	schemas, schemaErr := m.schemasFor(ctx, item.gvk.GroupVersion(), nil)
	if schemaErr != nil {
		return schemaErr
	}
	_, err = schemas.ObjectToTyped(item.desired)
	var invalid typed.ValidationErrors
	if errors.As(err, &invalid) {
		var fields []string
		for _, e := range invalid {
			fields = append(fields, e.Path)
		}
		text += " (fields " + strings.Join(fields, ", ") + ")"
	}
	return refusal{errors.New(text + "; the text is withheld, since it may quote the Secret")}
}

// trim takes out what every write moves or what is not applied, and gives each number one form, so that equal objects are equal.
func trim(obj *unstructured.Unstructured) {
	delete(obj.Object, "status")
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		for _, name := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
			delete(metadata, name)
		}
	}
	if annotations := obj.GetAnnotations(); annotations[templateGeneration] != "" && obj.GetKind() == "DaemonSet" {
		delete(annotations, templateGeneration)
		obj.SetAnnotations(annotations)
	}
	for name, value := range obj.Object {
		obj.Object[name] = oneForm(value)
	}
}

// templateGeneration is an annotation in which the server counts the changes of a DaemonSet's template.
const templateGeneration = "deprecated.daemonset.template.generation"

// oneForm turns whole numbers that are stored as floats into integers, in place.
func oneForm(value any) any {
	const exact = 1 << 53
	switch v := value.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < exact {
			return int64(v)
		}
	case map[string]any:
		for name, below := range v {
			v[name] = oneForm(below)
		}
	case []any:
		for i, below := range v {
			v[i] = oneForm(below)
		}
	}
	return value
}
