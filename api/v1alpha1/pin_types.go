package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pin holds a Release on one render. The API server stamps who set it, and when.
type Pin struct {
	// renderRef names the render: sha256: and 64 lower-case hex digits.
	// +required
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	RenderRef string `json:"renderRef"`

	// reason is why, for whoever finds the pin later.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// pinnedBy is the user who set the pin.
	// +required
	PinnedBy string `json:"pinnedBy"`

	// pinnedAt is when the pin was set.
	// +required
	PinnedAt metav1.Time `json:"pinnedAt"`

	// expiresAt is when the pin ends by itself. Default: never.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// Expired says whether the pin has ended by itself.
func (p *Pin) Expired(now time.Time) bool {
	return p != nil && p.ExpiresAt != nil && !p.ExpiresAt.After(now)
}

// PinIntent is what a pin does.
//
// +kubebuilder:validation:Enum=freeze;rollback
type PinIntent string

// The intents of a pin.
const (
	// PinFreeze: the pinned render is the one that was last applied in full.
	PinFreeze PinIntent = "freeze"

	// PinRollback: it is another one. So it is until the first apply of the pinned render, or while it cannot be applied.
	PinRollback PinIntent = "rollback"
)

// IntentOf is what a pin on a render does, given what was last applied in full.
func (s *ReleaseStatus) IntentOf(renderRef string) PinIntent {
	if s.LastSuccessful != nil && s.LastSuccessful.RenderRef == renderRef {
		return PinFreeze
	}
	return PinRollback
}

// PinStatus is what the pin of a Release does.
type PinStatus struct {
	// renderRef names the pinned render.
	RenderRef string `json:"renderRef"`

	// intent is freeze if the pinned render is the one that was last applied in full, else rollback.
	Intent PinIntent `json:"intent"`
}

// SyncPolicy is whether a new render is applied by itself.
type SyncPolicy struct {
	// mode is Auto, which applies a new render at once, or Manual, which waits for a request through releases/sync; a pin and an unpin
	// count as one. Default Auto.
	// +optional
	// +kubebuilder:default=Auto
	Mode SyncMode `json:"mode,omitempty"`
}

// SyncMode is whether a new render is applied by itself.
//
// +kubebuilder:validation:Enum=Auto;Manual
type SyncMode string

// The sync modes.
const (
	SyncAuto   SyncMode = "Auto"
	SyncManual SyncMode = "Manual"
)

// SyncRequest is the value of SyncRequestedAtAnnotation for a request at a time.
func SyncRequest(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }
