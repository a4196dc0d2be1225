package v1alpha1

import (
	"fmt"
	"maps"
	"regexp"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// maxReason is how long the reason of a pin may be, in characters, as the CRD of Releases says too.
const maxReason = 1024

var renderRef = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Stamp writes what no user may say of a pin or an unpin: who asks, when, and that a sync is requested. An empty renderRef becomes the
// render that was last applied in full; without one it stays empty, which Check rejects.
func (p *ReleasePin) Stamp(release *v1alpha1.Release, user string, now time.Time) {
	p.Annotations = maps.Clone(release.Annotations)
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, v1alpha1.SyncRequest(now))
	p.Status = ReleasePinStatus{}
	if p.Spec == nil {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.UnpinnedByAnnotation, user)
		return
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	p.Status.PinnedBy, p.Status.PinnedAt = user, &at
	if last := release.Status.LastSuccessful; p.Spec.RenderRef == "" && last != nil {
		p.Spec.RenderRef = last.RenderRef
	}
	p.Status.Intent = release.Status.IntentOf(p.Spec.RenderRef)
}

// Check says why a Release may not be pinned like this: an Invalid error that names each wrong field, or nil. An unpin is always right.
func (p *ReleasePin) Check(release *v1alpha1.Release, now time.Time) error {
	if p.Spec == nil {
		return nil
	}
	var wrong field.ErrorList
	spec := field.NewPath("spec")
	switch ref := spec.Child("renderRef"); {
	case release.Status.LastSuccessful == nil:
		wrong = append(wrong, field.Forbidden(ref, "no render of this Release was applied in full yet, so there is nothing to hold it on"))
	case !renderRef.MatchString(p.Spec.RenderRef):
		wrong = append(wrong, field.Invalid(ref, p.Spec.RenderRef, "must be sha256: and 64 lower-case hex digits, or empty for the last applied render"))
	}
	if utf8.RuneCountInString(p.Spec.Reason) > maxReason {
		wrong = append(wrong, field.TooLongMaxLength(spec.Child("reason"), p.Spec.Reason, maxReason))
	}
	if at := p.Spec.ExpiresAt; at != nil && !at.After(now) {
		wrong = append(wrong, field.Invalid(spec.Child("expiresAt"), at.UTC().Format(time.RFC3339),
			fmt.Sprintf("must be in the future: it is now %s", now.UTC().Format(time.RFC3339))))
	}
	if len(wrong) == 0 {
		return nil
	}
	return apierrors.NewInvalid(GroupVersion.WithKind("ReleasePin").GroupKind(), release.Name, wrong)
}
