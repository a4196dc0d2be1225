package webhooks

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// stamper writes into a pin who sets it, when, and on which render if it does not say.
type stamper struct{ live client.Reader }

// Default stamps a pin, or an unpin.
func (s *stamper) Default(ctx context.Context, pin *subresources.ReleasePin) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	release, err := releaseOf(ctx, s.live, request)
	if err != nil {
		return err
	}
	pin.Stamp(release, request.UserInfo.Username, time.Now())
	return nil
}
