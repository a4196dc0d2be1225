package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReleaseSync is a request to sync a Release, as releases/{name}/sync takes it: convoy looks at the source now, and, with
// syncPolicy.mode Manual, applies what it renders.
//
// +kubebuilder:object:root=true
type ReleaseSync struct {
	metav1.TypeMeta `json:",inline"`

	// metadata has the name, namespace, uid, resourceVersion and annotations of the Release. A request may leave it empty.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is what the answer tells. What a request says of it is ignored.
	// +optional
	Status ReleaseSyncStatus `json:"status,omitzero"`
}

// ReleaseSyncStatus is how far a request to sync has come.
type ReleaseSyncStatus struct {
	// requestedAt is the time of this request, in RFC 3339 with nanoseconds. The request is handled once status.lastHandledSyncAt of the
	// Release has this value, or a later one.
	// +optional
	RequestedAt string `json:"requestedAt,omitempty"`

	// lastHandledSyncAt is the request that was last acted on, before this one.
	// +optional
	LastHandledSyncAt string `json:"lastHandledSyncAt,omitempty"`
}
