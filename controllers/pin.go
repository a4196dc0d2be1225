package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// endPin takes a pin off that has expired, and returns it. It counts as an unpin, and so asks for a sync. Where the API server refuses, since
// by its own clock the pin has not expired, or it does not know the time of the request, the pin holds.
func (r *ReleaseReconciler) endPin(ctx context.Context, release *v1alpha1.Release, now time.Time) (*v1alpha1.Pin, error) {
	if !release.Pin.Expired(now) {
		return nil, nil
	}
	ended := release.Pin
	base := release.DeepCopy()
	release.Pin = nil
	metav1.SetMetaDataAnnotation(&release.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, v1alpha1.SyncRequest(now))
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, release, patch, client.FieldOwner(controllerName))
	if apierrors.IsForbidden(err) {
		log.FromContext(ctx).Info("The expired pin cannot be taken off, so it holds", "renderRef", ended.RenderRef, "error", err.Error())
		base.DeepCopyInto(release)
		return nil, nil
	}
	return ended, err
}

// nextPin is what the pin does, given what the status says was last applied in full.
func nextPin(pin *v1alpha1.Pin, next v1alpha1.ReleaseStatus) *v1alpha1.PinStatus {
	if pin == nil {
		return nil
	}
	return &v1alpha1.PinStatus{RenderRef: pin.RenderRef, Intent: next.IntentOf(pin.RenderRef)}
}

// announcePin makes an event of a pin that is new, or gone. The status says what was known before.
func (r *ReleaseReconciler) announcePin(p pass) {
	release, pin, known := p.release, p.release.Pin, p.release.Status.Pin
	switch {
	case p.expired != nil:
		r.event(release, corev1.EventTypeNormal, v1alpha1.EventUnpinned, "Unpin", "The pin of render %s, which %s set, has expired",
			short(p.expired.RenderRef), p.expired.PinnedBy)
	case pin != nil && (known == nil || known.RenderRef != pin.RenderRef):
		why := pin.Reason
		if why == "" {
			why = "no reason given"
		}
		r.event(release, corev1.EventTypeNormal, v1alpha1.EventPinned, "Pin", "%s pinned render %s at %s: %s",
			pin.PinnedBy, short(pin.RenderRef), pin.PinnedAt.UTC().Format(time.RFC3339), why)
	case pin == nil && known != nil:
		r.event(release, corev1.EventTypeNormal, v1alpha1.EventUnpinned, "Unpin", "%s took the pin of render %s off",
			release.Annotations[v1alpha1.UnpinnedByAnnotation], short(known.RenderRef))
	}
}
