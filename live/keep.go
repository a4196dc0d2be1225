package live

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// The kinds that get special care.
var (
	CRDKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	NamespaceKind = schema.GroupKind{Kind: "Namespace"}
	pvcKind       = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	SecretKind    = schema.GroupKind{Kind: "Secret"}
)

// protected are the kinds whose objects are deleted only if they say so.
var protected = []schema.GroupKind{CRDKind, NamespaceKind, pvcKind}

// Policy is what happens to objects that left the render.
type Policy struct {
	// Delete deletes them; otherwise they are left running and lose their owner labels.
	Delete bool
	// KeptBecause says why nothing is deleted, if so.
	KeptBecause string
	// Abandon lets go also of what the rights do not reach any more. Its owner labels stay, which is harmless once their Release is
	// gone.
	Abandon bool
	// MaxDeletes limits the deletes of one pass; nil is no limit.
	MaxDeletes *intstr.IntOrString
}

// PolicyOf is the policy of a Release.
func PolicyOf(release *v1alpha1.Release) Policy {
	deleting := !release.DeletionTimestamp.IsZero()
	switch {
	case deleting && release.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan:
		return Policy{KeptBecause: "spec.deletionPolicy is Orphan", Abandon: true}
	case deleting:
		return Policy{Delete: true}
	case !release.Spec.PrunePolicy.IsEnabled():
		return Policy{KeptBecause: "spec.prunePolicy.enabled is false"}
	default:
		return Policy{Delete: true, MaxDeletes: release.Spec.PrunePolicy.MaxDeletes}
	}
}

// Keeps says why a live object of the owner that left the render is left running; empty if it is to be deleted.
func (p Policy) Keeps(owner Owner, id render.ObjectID, obj *unstructured.Unstructured) string {
	switch {
	case obj.GetUID() == owner.UID:
		return "it is this Release itself"
	case id.GroupKind() == NamespaceKind && id.Name == owner.Namespace:
		return "it is the namespace of this Release"
	case !owner.Owns(obj):
		return "it is not this Release's any more"
	case keptByAnnotation(obj) != "":
		return "its annotation " + keptByAnnotation(obj)
	case !p.Delete:
		return p.KeptBecause
	case isProtected(obj):
		return "its kind is protected; the annotation " + v1alpha1.PruneAnnotation + ": " + v1alpha1.PruneEnabled + " allows deleting it"
	}
	return ""
}

// KeptAsHook says whether a live hook is applied over, and never deleted to be created anew: what it holds would be lost.
func KeptAsHook(obj *unstructured.Unstructured) bool {
	return keptByAnnotation(obj) != "" || isProtected(obj)
}

// isProtected says whether an object is of a protected kind, and does not say that it may be deleted all the same.
func isProtected(obj *unstructured.Unstructured) bool {
	return slices.Contains(protected, obj.GroupVersionKind().GroupKind()) && obj.GetAnnotations()[v1alpha1.PruneAnnotation] != v1alpha1.PruneEnabled
}

// keptByAnnotation is the annotation that keeps an object, and what it says; empty if none does. Those of Helm, Flux and Argo CD count where
// convoy's own says nothing.
func keptByAnnotation(obj *unstructured.Unstructured) string {
	annotations := obj.GetAnnotations()
	switch annotations[v1alpha1.PruneAnnotation] {
	case "":
	case v1alpha1.PruneDisabled:
		return v1alpha1.PruneAnnotation + " says " + v1alpha1.PruneDisabled
	default:
		return ""
	}
	if annotations[v1alpha1.HelmResourcePolicyAnnotation] == v1alpha1.HelmResourcePolicyKeep {
		return v1alpha1.HelmResourcePolicyAnnotation + " says " + v1alpha1.HelmResourcePolicyKeep
	}
	if fluxSays(obj, v1alpha1.FluxPruneAnnotation, v1alpha1.FluxDisabled) {
		return v1alpha1.FluxPruneAnnotation + " says " + v1alpha1.FluxDisabled
	}
	for option := range strings.SplitSeq(annotations[v1alpha1.ArgoSyncOptionsAnnotation], ",") {
		if strings.TrimSpace(option) == v1alpha1.ArgoPruneFalse {
			return v1alpha1.ArgoSyncOptionsAnnotation + " says " + v1alpha1.ArgoPruneFalse
		}
	}
	return ""
}

// fluxSays reads an annotation of Flux as Flux does: it may be a label too, and the case does not matter.
func fluxSays(obj *unstructured.Unstructured, name, value string) bool {
	return strings.EqualFold(obj.GetAnnotations()[name], value) || strings.EqualFold(obj.GetLabels()[name], value)
}

// PruneRefusedError says that a render would delete more objects than the prune policy allows.
type PruneRefusedError struct {
	Deletes, Limit int
	Policy         string // as the user wrote it
}

func (e *PruneRefusedError) Error() string {
	return fmt.Sprintf("%d objects would be deleted, and prunePolicy.maxDeletes %s allows %d", e.Deletes, e.Policy, e.Limit)
}

// Budget returns a *PruneRefusedError if the deletes of a pass are too many. A percentage counts from what the Release recorded.
func (p Policy) Budget(deletes, recorded int) error {
	if p.MaxDeletes == nil {
		return nil
	}
	limit := p.MaxDeletes.IntValue()
	if p.MaxDeletes.Type == intstr.String {
		percent, err := strconv.Atoi(strings.TrimSuffix(p.MaxDeletes.StrVal, "%"))
		if err != nil {
			return fmt.Errorf("prunePolicy.maxDeletes %q: want a number or a percentage", p.MaxDeletes.StrVal)
		}
		limit = recorded * percent / 100
	}
	if deletes > limit {
		return &PruneRefusedError{Deletes: deletes, Limit: limit, Policy: p.MaxDeletes.String()}
	}
	return nil
}

// CheckPruneAnnotation fails if an object says something about its prune that means nothing.
func CheckPruneAnnotation(obj *unstructured.Unstructured) error {
	switch value := obj.GetAnnotations()[v1alpha1.PruneAnnotation]; value {
	case "", v1alpha1.PruneDisabled, v1alpha1.PruneEnabled:
		return nil
	default:
		return errors.New("annotation " + v1alpha1.PruneAnnotation + ": want " + v1alpha1.PruneDisabled + " or " + v1alpha1.PruneEnabled +
			", not " + fmt.Sprintf("%q", value))
	}
}
