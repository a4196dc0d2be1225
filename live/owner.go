package live

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Owner is the Release for which objects are deployed.
type Owner struct {
	Namespace string
	Name      string
	UID       types.UID
}

// Labels mark the objects of the owner.
func (o Owner) Labels() map[string]string { return v1alpha1.OwnerLabels(o.Namespace, o.Name) }

// Marks says whether an object carries the labels of the owner.
func (o Owner) Marks(obj *unstructured.Unstructured) bool {
	labels := obj.GetLabels()
	for name, value := range o.Labels() {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// Owns says whether a recorded object is still the owner's: it has its labels, or not both of anybody's and fields that convoy applied.
func (o Owner) Owns(obj *unstructured.Unstructured) bool {
	label, namespace := obj.GetLabels()[v1alpha1.ReleaseNameLabel], obj.GetLabels()[v1alpha1.ReleaseNamespaceLabel]
	if label != "" && namespace != "" {
		return label == v1alpha1.OwnerLabelValue(o.Name) && namespace == o.Namespace
	}
	return slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == v1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// OwnerName returns the name of the Release in the namespace whose owner label has the value, or "" if there is none.
type OwnerName func(ctx context.Context, namespace, label string) (string, error)

// OwnedElsewhereError says that another Release owns an object.
type OwnedElsewhereError struct {
	Release string // namespace/name
}

func (e *OwnedElsewhereError) Error() string {
	return fmt.Sprintf("is owned by Release %s: remove it from one of the two sources", e.Release)
}

// MayTake returns an *OwnedElsewhereError if another Release that exists owns the object. Labels of one that is gone bind nobody.
func (o Owner) MayTake(ctx context.Context, obj *unstructured.Unstructured, nameOf OwnerName) error {
	label, namespace := obj.GetLabels()[v1alpha1.ReleaseNameLabel], obj.GetLabels()[v1alpha1.ReleaseNamespaceLabel]
	if label == "" || namespace == "" || (namespace == o.Namespace && label == v1alpha1.OwnerLabelValue(o.Name)) {
		return nil
	}
	name, err := nameOf(ctx, namespace, label)
	if err != nil {
		return fmt.Errorf("look up its owner, Release %s/%s: %w", namespace, label, err)
	}
	if name == "" {
		return nil
	}
	return &OwnedElsewhereError{namespace + "/" + name}
}
