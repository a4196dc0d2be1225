package webhooks

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// validator refuses a pin that the Release cannot be held on.
type validator struct{ live client.Reader }

// ValidateUpdate checks a pin. An unpin is always right.
func (v *validator) ValidateUpdate(ctx context.Context, _, pin *subresources.ReleasePin) (admission.Warnings, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, err
	}
	release, err := releaseOf(ctx, v.live, request)
	if err != nil {
		return nil, err
	}
	return nil, pin.Check(release, time.Now())
}

// ValidateCreate is never asked: every Release has a pin.
func (*validator) ValidateCreate(context.Context, *subresources.ReleasePin) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete lets every unpin pass.
func (*validator) ValidateDelete(context.Context, *subresources.ReleasePin) (admission.Warnings, error) {
	return nil, nil
}
