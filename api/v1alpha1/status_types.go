package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReleaseStatus is what convoy last saw of a Release.
type ReleaseStatus struct {
	// observedGeneration is the generation of the Release that the last pass worked on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, Rendered, Applied and Healthy, and, only while they are true, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// render is the first 12 hex digits of lastSuccessful.renderRef, for the table that kubectl prints.
	// +optional
	Render string `json:"render,omitempty"`

	// lastAttempted is the render that convoy last began to apply.
	// +optional
	LastAttempted *RenderRecord `json:"lastAttempted,omitempty"`

	// lastSuccessful is the render that was last applied in full: all waves, and the prune.
	// +optional
	LastSuccessful *RenderRecord `json:"lastSuccessful,omitempty"`

	// lastHealthy is the render whose objects were last all healthy after a full apply.
	// +optional
	LastHealthy *RenderRecord `json:"lastHealthy,omitempty"`

	// lastHandledSyncAt is the value of the annotation convoy.dev/sync-requested-at that was last acted on.
	// +optional
	LastHandledSyncAt string `json:"lastHandledSyncAt,omitempty"`

	// lastHandledSyncRef names the render that it was for. With syncPolicy.mode Manual a new render waits for a request of its own.
	// +optional
	LastHandledSyncRef string `json:"lastHandledSyncRef,omitempty"`

	// pin is what the pin does. Absent without one.
	// +optional
	Pin *PinStatus `json:"pin,omitempty"`

	// rollback is set while failurePolicy holds the Release on the render that was last healthy.
	// +optional
	Rollback *RollbackStatus `json:"rollback,omitempty"`

	// sync is the pass in progress: what convoy waits for now, and since when. Absent when nothing is awaited.
	// +optional
	Sync *SyncStatus `json:"sync,omitempty"`

	// resolvedRetentionPolicy is what the retention policy comes to.
	// +optional
	ResolvedRetentionPolicy *ResolvedRetentionPolicy `json:"resolvedRetentionPolicy,omitempty"`
}

// RenderRecord says which render something happened to, and when.
type RenderRecord struct {
	// renderRef names the render: sha256: and 64 hex digits.
	// +required
	RenderRef string `json:"renderRef"`

	// revision is the revision of the source that the render was last made from.
	// +optional
	Revision string `json:"revision,omitempty"`

	// time is when it happened to this render first, since another render was here.
	// +required
	Time metav1.Time `json:"time"`
}

// RollbackStatus is a rollback by failurePolicy.
type RollbackStatus struct {
	// from names the render that failed.
	// +required
	From string `json:"from"`

	// to names the render that is applied in its place: the one that was last healthy.
	// +required
	To string `json:"to"`

	// time is when the rollback was decided.
	// +required
	Time metav1.Time `json:"time"`

	// reason is why: what the condition said of the render that failed.
	// +required
	Reason string `json:"reason"`
}

// SyncStatus is a pass in progress. Deadlines are counted from startedAt, so they survive a restart of the controller.
type SyncStatus struct {
	// renderRef names the render that is applied. Empty while the Release is being deleted.
	// +optional
	RenderRef string `json:"renderRef,omitempty"`

	// startedAt is when the wait that goes on now began.
	// +required
	StartedAt metav1.Time `json:"startedAt"`

	// wave is the wave that convoy waits for.
	// +optional
	Wave int32 `json:"wave"`

	// hook is the hook that convoy waits for, as Kind.group namespace/name.
	// +optional
	Hook string `json:"hook,omitempty"`

	// phase is what convoy waits for.
	// +required
	Phase SyncPhase `json:"phase"`
}

// SyncPhase is what a pass in progress waits for.
//
// +kubebuilder:validation:Enum=PreSync;Wave;Prune;PostSync;Health;PreDelete;PostDelete
type SyncPhase string

// The phases of a pass in progress.
const (
	// SyncPhasePreSync: a hook that runs before the first wave is not complete yet.
	SyncPhasePreSync SyncPhase = "PreSync"

	// SyncPhaseWave: the objects of a wave are not healthy yet, and something is still to be done after them.
	SyncPhaseWave SyncPhase = "Wave"

	// SyncPhasePrune: objects of a wave that left the render are not gone yet.
	SyncPhasePrune SyncPhase = "Prune"

	// SyncPhasePostSync: a hook that runs after the prune is not complete yet.
	SyncPhasePostSync SyncPhase = "PostSync"

	// SyncPhaseHealth: everything is applied, and not everything is healthy.
	SyncPhaseHealth SyncPhase = "Health"

	// SyncPhasePreDelete: the Release is being deleted, and a hook that runs before that of its objects is not complete yet.
	SyncPhasePreDelete SyncPhase = "PreDelete"

	// SyncPhasePostDelete: the objects of the Release are gone, and a hook that runs after that is not complete yet.
	SyncPhasePostDelete SyncPhase = "PostDelete"
)

// ResolvedRetentionPolicy is what the retention policy comes to.
type ResolvedRetentionPolicy struct {
	// keepHistory is the number of history entries that convoy keeps; 0 or a negative number keeps all.
	KeepHistory int32 `json:"keepHistory"`

	// historyCount is the number of entries in the store now; 0 without a render store.
	HistoryCount int32 `json:"historyCount"`
}
