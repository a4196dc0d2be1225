package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MaxInventoryEntries is the most entries that one Inventory holds; a Release with more objects has several.
const MaxInventoryEntries = 1000

// MaxOverridden is the most overridden fields that an entry of an Inventory holds.
const MaxOverridden = 16

// Inventory records objects that a Release applied. The controller alone writes it. An object is recorded before it is applied
// and until it is gone, so that none is orphaned, whenever the controller dies.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=convoy
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.metadata.ownerReferences[0].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Inventory struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// entries are the objects, in no particular order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Entries []InventoryEntry `json:"entries,omitempty"`
}

// InventoryList is a list of Inventories.
//
// +kubebuilder:object:root=true
type InventoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Inventory `json:"items"`
}

// InventoryEntry is one object that a Release applied.
type InventoryEntry struct {
	// group is the API group of the object; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// version is the API version in which the object was applied.
	Version string `json:"version"`

	// kind is the kind of the object.
	Kind string `json:"kind"`

	// namespace is the namespace of the object; empty if it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the object.
	Name string `json:"name"`

	// hash is the start of the SHA-256 of the object as it was last applied: 16 hex digits. For a Secret it is that of the render that it
	// was applied in, 12 hex digits: nothing can be told from it about a value. Empty until the first apply of the object has succeeded.
	// +optional
	Hash string `json:"hash,omitempty"`

	// hook is how the last run of a hook went: the run, a space, and Running, Succeeded or Failed. Empty for every other object.
	// +optional
	Hook string `json:"hook,omitempty"`

	// deletion says that the object is a hook that runs when the Release is deleted. It need not be there before.
	// +optional
	Deletion bool `json:"deletion,omitempty"`

	// overridden are fields that the server stored with another value than was applied, since its admission changes them: the start of the
	// SHA-256 of a field and both its values, 16 hex digits each. A diff leaves them out for as long as both are as they were. Always empty
	// for a Secret.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Overridden []string `json:"overridden,omitempty"`
}

// GroupVersionKind is the kind of the object with the version in which it was applied.
func (e InventoryEntry) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind}
}
