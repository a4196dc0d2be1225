package v1alpha1

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// PinOf is the pin of a Release, as releases/pin serves it.
func PinOf(release *v1alpha1.Release) *ReleasePin {
	p := &ReleasePin{ObjectMeta: metadataOf(release)}
	if pin := release.Pin; pin != nil {
		p.Spec = &ReleasePinSpec{RenderRef: pin.RenderRef, Reason: pin.Reason, ExpiresAt: pin.ExpiresAt.DeepCopy()}
		p.Status = ReleasePinStatus{Intent: intent(release, pin.RenderRef), PinnedBy: pin.PinnedBy, PinnedAt: pin.PinnedAt.DeepCopy()}
	}
	return p
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
