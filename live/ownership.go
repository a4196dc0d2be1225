package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// IsOurs says whether an entry of managedFields is that of what convoy applied.
func IsOurs(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == v1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// ownership is who owns a place of an object, by its managedFields: convoy, and all others taken together.
type ownership struct{ ours, others fields }

// fields are the fields of managers at a place: the place itself, and what is below it.
type fields struct {
	self  bool
	below *fieldpath.Set // nil for none
}

// ownershipOf reads the managedFields of a live object.
func ownershipOf(live *unstructured.Unstructured) (ownership, error) {
	ours, others := fieldpath.NewSet(), fieldpath.NewSet()
	for _, e := range live.GetManagedFields() {
		set, err := fieldsOf(e)
		if err != nil {
			return ownership{}, err
		}
		if IsOurs(e) {
			ours = ours.Union(set)
		} else {
			others = others.Union(set)
		}
	}
	return ownership{fields{false, ours}, fields{false, others}}, nil
}

// fieldsOf reads the fields of an entry of managedFields.
func fieldsOf(e metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read the managedFields of %s: %w", e.Manager, err)
	}
	return set, nil
}

// field is the ownership of a field of the place.
func (o ownership) field(name string) ownership {
	return ownership{o.ours.field(name), o.others.field(name)}
}

func (f fields) field(name string) fields {
	if f.below == nil {
		return fields{}
	}
	element := fieldpath.PathElement{FieldName: &name}
	return fields{f.below.Members.Has(element), f.below.Children.Descend(element)}
}

func (f fields) none() bool { return !f.self && f.leaf() }

// leaf says that nothing below the place is told apart.
func (f fields) leaf() bool { return f.below == nil || f.below.Empty() }

func (o ownership) byUs() bool     { return !o.ours.none() }
func (o ownership) byOthers() bool { return !o.others.none() }

// byUsAlone says whether something at the place has no other owner than convoy.
func (o ownership) byUsAlone() bool {
	if o.ours.self && !o.others.self {
		return true
	}
	return !o.ours.leaf() && (o.others.below == nil || !o.ours.below.Difference(o.others.below).Empty())
}

// atomic says that the place is owned as a whole.
func (o ownership) atomic() bool {
	return (o.ours.self || o.others.self) && o.ours.leaf() && o.others.leaf()
}

// Taken are the fields of convoy in next that are not convoy's in now, as paths, and the managers that own them in now. Both are sorted,
// and hold no values.
func Taken(now, next *unstructured.Unstructured) (paths, managers []string) {
	before, err := ownershipOf(next)
	if err != nil {
		return nil, nil
	}
	after, err := ownershipOf(now)
	if err != nil {
		return nil, nil
	}
	taken := before.ours.below.Difference(after.ours.below).Leaves()
	names, owners := map[string]bool{}, map[string]bool{}
	taken.Iterate(func(path fieldpath.Path) { names[nameOf(path)] = true })
	for _, e := range now.GetManagedFields() {
		if set, err := fieldsOf(e); err == nil && !IsOurs(e) && overlap(set, taken) {
			owners[e.Manager] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(owners))
}

// overlap says whether a manager owns one of the fields, or the whole that it is a part of.
func overlap(set, fields *fieldpath.Set) (found bool) {
	fields.Iterate(func(path fieldpath.Path) { // it knows no early end
		for n := len(path); n > 0 && !found; n-- {
			found = set.Has(path[:n]) && (n == len(path) || isWhole(set, path[:n]))
		}
	})
	return found
}

// isWhole says that a manager owns a place as one value, with nothing below it told apart.
func isWhole(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		set = set.Children.Descend(element)
	}
	return set.Empty()
}

// nameOf is a path for people. It ends where a list of plain values begins, since the next element would be a value.
func nameOf(path fieldpath.Path) string {
	for i, element := range path {
		if element.Value != nil {
			path = path[:i]
			break
		}
	}
	return strings.TrimPrefix(path.String(), ".")
}
