package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReleaseDiff says what an apply of a render would change, as releases/{name}/diff serves it. It is predicted: nothing is written, and the
// server is not asked to try.
//
// +kubebuilder:object:root=true
type ReleaseDiff struct {
	metav1.TypeMeta `json:",inline"`

	// metadata has the name, namespace and uid of the Release.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// from is the render that was last applied in full. Its renderRef is empty if there is none.
	// +optional
	From DiffRender `json:"from,omitzero"`

	// to is the render that is compared with the live objects.
	To DiffRender `json:"to"`

	// changes are the objects that the apply would touch, by group, kind, namespace and name. Empty: everything is as the render says.
	Changes []ReleaseChange `json:"changes"`
}

// DiffRender is one side of a diff.
type DiffRender struct {
	// renderRef names the render: sha256: and 64 lower-case hex digits.
	// +optional
	RenderRef string `json:"renderRef,omitempty"`

	// summary is the source URL or <kind>/<name>, then @ and the revision, as far as it is known.
	// +optional
	Summary string `json:"summary,omitempty"`

	// origin says where the render comes from.
	// +optional
	Origin DiffOrigin `json:"origin,omitempty"`
}

// DiffOrigin says where the render of a diff comes from.
//
// +enum
type DiffOrigin string

// The origins.
const (
	// DiffFromSource: it is what the source renders now.
	DiffFromSource DiffOrigin = "Source"
	// DiffFromPin: it is the render that the Release is pinned to.
	DiffFromPin DiffOrigin = "Pin"
	// DiffFromStore: it is the stored render that the request names.
	DiffFromStore DiffOrigin = "Store"
)

// ReleaseChange is what the apply would do to one object. Values of Secrets are masked: equal values stay equal, and different ones stay
// different.
type ReleaseChange struct {
	// action is what would happen.
	Action ChangeAction `json:"action"`

	// apiVersion of the object.
	APIVersion string `json:"apiVersion"`

	// kind of the object.
	Kind string `json:"kind"`

	// namespace of the object; empty if it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name of the object.
	Name string `json:"name"`

	// patch are the changes of an update, as a JSON patch (RFC 6902).
	// +optional
	Patch []PatchOperation `json:"patch,omitempty"`

	// unified is the same as a unified diff of the object in YAML.
	// +optional
	Unified string `json:"unified,omitempty"`

	// notes say what the prediction leaves open, or why the action is what it is.
	// +optional
	Notes []string `json:"notes,omitempty"`
}

// ChangeAction is what an apply would do to an object.
//
// +enum
type ChangeAction string

// The actions.
const (
	// ChangeCreate: the object is not there.
	ChangeCreate ChangeAction = "create"
	// ChangeUpdate: the object differs from the render.
	ChangeUpdate ChangeAction = "update"
	// ChangeDelete: the object left the render and would be pruned.
	ChangeDelete ChangeAction = "delete"
	// ChangeKeep: the object left the render and would be left running, for the reason that notes gives.
	ChangeKeep ChangeAction = "keep"
	// ChangeRefuse: the apply would be refused because of the object, for the reason that notes gives, and nothing would change.
	ChangeRefuse ChangeAction = "refuse"
)

// PatchOperation is one operation of a JSON patch.
type PatchOperation struct {
	// op is add, remove or replace.
	Op string `json:"op"`

	// path is a JSON pointer into the live object.
	Path string `json:"path"`

	// value is what is added or put in place.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}
