package v1alpha1

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Annotations are the annotations of a Release that belong to its subresources: nothing else writes them.
func Annotations() []string {
	return []string{v1alpha1.SyncRequestedAtAnnotation, v1alpha1.UnpinnedByAnnotation}
}

// PinOf is the pin of a Release, as releases/pin serves it.
func PinOf(release *v1alpha1.Release) *ReleasePin {
	p := &ReleasePin{ObjectMeta: metadataOf(release)}
	if pin := release.Pin; pin != nil {
		p.Spec = &ReleasePinSpec{RenderRef: pin.RenderRef, Reason: pin.Reason, ExpiresAt: pin.ExpiresAt.DeepCopy()}
		p.Status = ReleasePinStatus{Intent: release.Status.IntentOf(pin.RenderRef), PinnedBy: pin.PinnedBy, PinnedAt: pin.PinnedAt.DeepCopy()}
	}
	return p
}

// Pinned writes a stamped pin, or an unpin, into a Release, and the annotations that belong to it.
func (p *ReleasePin) Pinned(release *v1alpha1.Release) {
	release.Pin = nil
	if p.Spec != nil {
		release.Pin = &v1alpha1.Pin{
			RenderRef: p.Spec.RenderRef,
			Reason:    p.Spec.Reason,
			PinnedBy:  p.Status.PinnedBy,
			PinnedAt:  *p.Status.PinnedAt,
			ExpiresAt: p.Spec.ExpiresAt.DeepCopy(),
		}
	}
	for _, name := range Annotations() {
		if value, ok := p.Annotations[name]; ok {
			metav1.SetMetaDataAnnotation(&release.ObjectMeta, name, value)
		}
	}
}

// SyncOf is what there is to say of sync requests for a Release, as releases/sync answers.
func SyncOf(release *v1alpha1.Release) *ReleaseSync {
	return &ReleaseSync{
		ObjectMeta: metadataOf(release),
		Status: ReleaseSyncStatus{
			RequestedAt:       release.Annotations[v1alpha1.SyncRequestedAtAnnotation],
			LastHandledSyncAt: release.Status.LastHandledSyncAt,
		},
	}
}

// metadataOf is what a subresource shows of the metadata of its Release.
func metadataOf(release *v1alpha1.Release) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       release.Namespace,
		Name:            release.Name,
		UID:             release.UID,
		ResourceVersion: release.ResourceVersion,
		Annotations:     maps.Clone(release.Annotations),
	}
}
