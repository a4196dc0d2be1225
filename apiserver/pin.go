package apiserver

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// pinStorage serves releases/pin.
type pinStorage struct{ releases *releases }

var (
	_ rest.Patcher                    = &pinStorage{}
	_ rest.GracefulDeleter            = &pinStorage{}
	_ rest.MayReturnFullObjectDeleter = &pinStorage{}
	_ rest.TableConvertor             = &pinStorage{}
)

// New returns what the body of a request is read into.
func (*pinStorage) New() runtime.Object { return &subresources.ReleasePin{} }

// Destroy has nothing to let go of.
func (*pinStorage) Destroy() {}

// DeleteReturnsDeletedObject says that a delete answers with the pin that it took off.
func (*pinStorage) DeleteReturnsDeletedObject() bool { return true }

// Get returns the pin of a Release.
func (s *pinStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	release, err := s.releases.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return subresources.PinOf(release), nil
}

// Update pins a Release, or takes the pin off: an update or a patch.
func (s *pinStorage) Update(ctx context.Context, name string, update rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	_, now, err := s.releases.setPin(ctx, name, options.DryRun, func(release *v1alpha1.Release) (*subresources.ReleasePin, error) {
		old := subresources.PinOf(release)
		if err := checkPreconditions(update.Preconditions(), old); err != nil {
			return nil, err
		}
		obj, err := update.UpdatedObject(ctx, old.DeepCopy()) // runs mutating admission
		if err != nil {
			return nil, err
		}
		next, ok := obj.(*subresources.ReleasePin)
		if !ok {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("body: want a ReleasePin, got %T", obj))
		}
		if err := checkPreconditions(preconditionsIn(next), old); err != nil {
			return nil, err
		}
		if err := stampAndCheck(ctx, next, release); err != nil {
			return nil, err
		}
		return next, validate(ctx, next.DeepCopy(), old) // runs validating admission
	})
	return now, false, err
}

// Delete takes the pin off a Release, and returns what it was.
func (s *pinStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	old, _, err := s.releases.setPin(ctx, name, options.DryRun, func(release *v1alpha1.Release) (*subresources.ReleasePin, error) {
		old := subresources.PinOf(release)
		if err := checkPreconditions(options.Preconditions, old); err != nil {
			return nil, err
		}
		if err := validate(ctx, old.DeepCopy()); err != nil {
			return nil, err
		}
		next := old.DeepCopy()
		next.Spec = nil
		return next, stampAndCheck(ctx, next, release)
	})
	return old, true, err
}

// stampAndCheck does what the webhooks do as well, so that a cluster without them is no less safe.
func stampAndCheck(ctx context.Context, pin *subresources.ReleasePin, release *v1alpha1.Release) error {
	user, ok := request.UserFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("pin %s/%s: the request has no user", release.Namespace, release.Name))
	}
	now := time.Now()
	pin.Stamp(release, user.GetName(), now)
	return pin.Check(release, now)
}

// preconditionsIn are what a body says of the Release that it is for.
func preconditionsIn(pin *subresources.ReleasePin) *metav1.Preconditions {
	preconditions := &metav1.Preconditions{}
	if pin.UID != "" {
		preconditions.UID = &pin.UID
	}
	if pin.ResourceVersion != "" {
		preconditions.ResourceVersion = &pin.ResourceVersion
	}
	return preconditions
}

// checkPreconditions says whether a Release is the one that a request is for, in the state that the request names.
func checkPreconditions(want *metav1.Preconditions, pin *subresources.ReleasePin) error {
	if want == nil {
		return nil
	}
	var cause error
	switch {
	case want.UID != nil && *want.UID != pin.UID:
		cause = fmt.Errorf("the Release of this name has the uid %s, the request is for %s", pin.UID, *want.UID)
	case want.ResourceVersion != nil && *want.ResourceVersion != pin.ResourceVersion:
		cause = fmt.Errorf("the Release has changed since resourceVersion %s: read its pin again, or leave resourceVersion out", *want.ResourceVersion)
	default:
		return nil
	}
	return apierrors.NewConflict(groupVersion.WithResource("releases").GroupResource(), pin.Name, cause)
}
