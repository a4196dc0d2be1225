package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// ReleasePin is the pin of a Release, as releases/{name}/pin serves it. Every Release has one; without spec, the Release is not pinned.
// An update sets the pin, an update without spec or a delete takes it off.
//
// +kubebuilder:object:root=true
type ReleasePin struct {
	metav1.TypeMeta `json:",inline"`

	// metadata has the name, namespace, uid, resourceVersion and annotations of the Release. An update changes none of them; with a
	// resourceVersion it is refused if the Release has changed since.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the render on which the Release is held. Without spec, it follows its source.
	// +optional
	Spec *ReleasePinSpec `json:"spec,omitempty"`

	// status is what the API server and convoy say of the pin. What an update says of it is ignored.
	// +optional
	Status ReleasePinStatus `json:"status,omitzero"`
}

// ReleasePinSpec is what a user says of a pin.
type ReleasePinSpec struct {
	// renderRef names the render: sha256: and 64 lower-case hex digits. Default: the last one that was applied in full. Whether the
	// render store has it is not checked.
	// +optional
	RenderRef string `json:"renderRef,omitempty"`

	// reason is why, for whoever finds the pin later. At most 1024 characters.
	// +optional
	Reason string `json:"reason,omitempty"`

	// expiresAt is when the pin ends by itself; it must lie in the future. Default: never.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// ReleasePinStatus is what the API server and convoy say of a pin.
type ReleasePinStatus struct {
	// intent is freeze if the pinned render is the one that was last applied in full, else rollback. Empty without a pin.
	// +optional
	Intent v1alpha1.PinIntent `json:"intent,omitempty"`

	// pinnedBy is the user who set the pin.
	// +optional
	PinnedBy string `json:"pinnedBy,omitempty"`

	// pinnedAt is when the pin was set.
	// +optional
	PinnedAt *metav1.Time `json:"pinnedAt,omitempty"`
}
