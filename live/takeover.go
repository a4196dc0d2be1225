package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// formerTools are the tools that deploy whole objects, as the server names them in managedFields: field manager and operations. What they
// set was the source of the object until convoy takes it over. People (kubectl-edit, kubectl-patch, kubectl-set, ...), controllers, and
// before-first-apply, which owns what the server gave an object, are not among them: what they set stays theirs.
var formerTools = map[string][]metav1.ManagedFieldsOperationType{
	"kubectl-client-side-apply": {metav1.ManagedFieldsOperationUpdate}, // kubectl apply, and Argo CD through it
	"kubectl":                   {metav1.ManagedFieldsOperationApply},  // kubectl apply --server-side; its updates are people's
	"kubectl-last-applied":      {metav1.ManagedFieldsOperationApply},  // keeps the annotation of the former, where both were used

	"helm":            {metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply}, // Helm 3, and Helm 4
	"helm-controller": {metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply}, // Flux, by the SDKs of both

	"kustomize-controller": {metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply}, // Flux before 0.18, and since

	"argocd-controller":             {metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply},
	"argocd-application-controller": {metav1.ManagedFieldsOperationUpdate}, // Argo CD, by create, replace and old versions
}

func ofFormerTool(e metav1.ManagedFieldsEntry) bool {
	return e.Subresource == "" && slices.Contains(formerTools[e.Manager], e.Operation)
}

// Adopts says whether an apply for the owner takes a live object over from whoever deployed it before, so that TakeOver counts: it does
// not carry the owner's labels, and is not just an object of the owner that lost them. applied says that the inventory has it as applied.
func (o Owner) Adopts(obj *unstructured.Unstructured, applied bool) bool {
	return !o.Marks(obj) && (!applied || !slices.ContainsFunc(obj.GetManagedFields(), IsOurs))
}

// TakeOver returns the managedFields of a live object after what former tools own in it became convoy's, and whether that is anything. The
// server-side apply that follows then removes what the render does not have. What desired leaves to others by its annotation
// convoy.dev/ignore-drift stays with the tools. The error names a manager or a pointer that is malformed.
//
// There is one entry for convoy, in the version of the object as it was read. Of what was set in another version it has the fields that are
// in the object by the same path.
func TakeOver(desired, found *unstructured.Unstructured) (entries []metav1.ManagedFieldsEntry, taken bool, err error) {
	pointers, all, err := leftToOthers(desired)
	if err != nil || all {
		return found.GetManagedFields(), false, err
	}
	ours := metav1.ManagedFieldsEntry{
		Manager: v1alpha1.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: found.GetAPIVersion(), FieldsType: "FieldsV1",
	}
	owned := fieldpath.NewSet()
	for _, e := range found.GetManagedFields() {
		if !IsOurs(e) && !ofFormerTool(e) {
			entries = append(entries, e)
			continue
		}
		set, left, err := takenOf(e, desired, found, pointers)
		if err != nil {
			return nil, false, err
		}
		taken = taken || ofFormerTool(e) && (left.Empty() || !set.Empty())
		if !left.Empty() {
			if e.FieldsV1, err = encoded(left); err != nil {
				return nil, false, err
			}
			entries = append(entries, e)
		}
		if owned = owned.Union(set); ours.Time.Before(e.Time) {
			ours.Time = e.Time
		}
	}
	if !taken {
		return found.GetManagedFields(), false, nil
	}
	ours.FieldsV1, err = encoded(owned)
	return append(entries, ours), true, err
}

// takenOf splits the fields of an entry into those that are taken, and those that are left with a former tool.
func takenOf(e metav1.ManagedFieldsEntry, desired, found *unstructured.Unstructured, pointers []pointer) (taken, left *fieldpath.Set, err error) {
	set, err := fieldsOf(e)
	if err != nil {
		return nil, nil, err
	}
	if found.GroupVersionKind().GroupKind() == SecretKind {
		set = ofData(set)
	}
	if e.APIVersion != found.GetAPIVersion() {
		set, _ = split(set, func(path fieldpath.Path) bool {
			_, there := valueAt(found.Object, path)
			return there
		})
	}
	left, taken = split(set, func(path fieldpath.Path) bool {
		return ofFormerTool(e) && slices.ContainsFunc(pointers, func(p pointer) bool { return p.leadsTo(desired.Object, path) })
	})
	return taken, left, nil
}

// TakenOver is a live object as it is after TakeOver: itself if nothing is taken, else a copy.
func TakenOver(desired, found *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	entries, taken, err := TakeOver(desired, found)
	if err != nil || !taken {
		return found, err
	}
	after := found.DeepCopy()
	after.SetManagedFields(entries)
	return after, nil
}

// Takeovers foretell what the apply after a takeover makes of an object, which the server cannot be asked in one dry run: without the
// takeover, what former tools own stays, and may be in the way. It keeps the server's schemas, and is safe for concurrent use.
type Takeovers struct{ schemas *schemas }

// NewTakeovers returns Takeovers that have no schema yet.
func NewTakeovers(server discovery.DiscoveryInterfaceWithContext) *Takeovers {
	return &Takeovers{newSchemas(server)}
}

// Foretell merges what is sent into a live object as it is after TakeOver, as the server does, but for its defaults. The result is nil if
// that cannot be foretold: without a schema, or if the server would not take what is sent. found is the live object before. The paths are
// what former tools own in it and nobody owns in the result, sorted and without values.
func (t *Takeovers) Foretell(ctx context.Context, found, taken, sent *unstructured.Unstructured) (*unstructured.Unstructured, []string, error) {
	converter, err := t.schemas.converter(ctx, sent.GroupVersionKind().GroupVersion())
	if err != nil || converter == nil {
		return nil, nil, err
	}
	next, err := merger{schemaOf: t.schemas.converter}.apply(ctx, taken, sent)
	var refused refusal
	if err != nil {
		if errors.As(err, &refused) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	theirs, err := union(found, ofFormerTool)
	if err != nil {
		return nil, nil, err
	}
	kept, err := union(next, func(metav1.ManagedFieldsEntry) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	var gone []string
	theirs.Difference(kept).Leaves().Iterate(func(path fieldpath.Path) {
		if _, stays := valueAt(next.Object, path); !stays {
			gone = append(gone, nameOf(path))
		}
	})
	slices.Sort(gone)
	return next, slices.Compact(gone), nil
}

// union are the fields of some of the managers of an object.
func union(obj *unstructured.Unstructured, which func(metav1.ManagedFieldsEntry) bool) (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, e := range obj.GetManagedFields() {
		if !which(e) {
			continue
		}
		set, err := fieldsOf(e)
		if err != nil {
			return nil, err
		}
		if obj.GroupVersionKind().GroupKind() == SecretKind {
			set = ofData(set)
		}
		all = all.Union(set)
	}
	return all, nil
}

// ofData are the fields of a Secret as they are stored: who applied stringData owns nothing of what became of it.
func ofData(set *fieldpath.Set) *fieldpath.Set {
	stored := fieldpath.NewSet()
	set.Iterate(func(path fieldpath.Path) {
		if name := path[0].FieldName; name != nil && *name == "stringData" {
			path = append(fieldpath.MakePathOrDie("data"), path[1:]...)
		}
		stored.Insert(path)
	})
	return stored
}

func split(set *fieldpath.Set, which func(fieldpath.Path) bool) (those, others *fieldpath.Set) {
	those, others = fieldpath.NewSet(), fieldpath.NewSet()
	set.Iterate(func(path fieldpath.Path) {
		if which(path) {
			those.Insert(path)
		} else {
			others.Insert(path)
		}
	})
	return those, others
}

func encoded(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	content, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("write managedFields: %w", err)
	}
	return metav1.NewFieldsV1(string(content)), nil
}

// leadsTo says whether a path is at or below what the pointer names in an object of the render.
func (p pointer) leadsTo(desired any, path fieldpath.Path) bool {
	if len(path) < len(p.tokens) {
		return false
	}
	for i, token := range p.tokens {
		switch list, isList := desired.([]any); {
		case isList:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(list) || !isElement(list[index], path[i]) {
				return false
			}
			desired = list[index]
		case path[i].FieldName == nil || *path[i].FieldName != token:
			return false
		default:
			desired, _ = step(desired, path[i])
		}
	}
	return true
}
