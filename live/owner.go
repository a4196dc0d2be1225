package live

import (
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
