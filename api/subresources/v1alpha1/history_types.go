package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReleaseHistory are the renders that a Release applied, each once, the newest first, as releases/{name}/history serves them.
//
// +kubebuilder:object:root=true
type ReleaseHistory struct {
	metav1.TypeMeta `json:",inline"`

	// metadata has, of a page that is not the last one, the token to continue with, and how many entries come after it.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the entries of this page.
	Items []ReleaseHistoryEntry `json:"items"`
}

// ReleaseHistoryEntry says that a render was applied.
type ReleaseHistoryEntry struct {
	// renderRef names the render: sha256: and 64 lower-case hex digits.
	RenderRef string `json:"renderRef"`

	// syncedAt is when the render was applied for the first time.
	SyncedAt metav1.MicroTime `json:"syncedAt"`

	// summary is the source URL or <kind>/<name>, then @ and the revision.
	// +optional
	Summary string `json:"summary,omitempty"`

	// size is the number of bytes of the stored render. Absent if the render store does not have it any more: then it cannot be pinned.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// current says that this is the render that was last applied in full.
	// +optional
	Current bool `json:"current,omitempty"`

	// pinned says that the Release is pinned to this render.
	// +optional
	Pinned bool `json:"pinned,omitempty"`

	// healthy says that this is the render that was last healthy.
	// +optional
	Healthy bool `json:"healthy,omitempty"`
}
