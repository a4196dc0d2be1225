package apiserver

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// syncStorage serves releases/sync.
type syncStorage struct{ releases *releases }

var _ rest.NamedCreater = &syncStorage{}

// New returns what the body of a request is read into.
func (*syncStorage) New() runtime.Object { return &subresources.ReleaseSync{} }

// Destroy has nothing to let go of.
func (*syncStorage) Destroy() {}

// Create asks for a sync of a Release. Nothing of the body counts but the name, if it has one.
func (s *syncStorage) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	body, ok := obj.(*subresources.ReleaseSync)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("body: want a ReleaseSync, got %T", obj))
	}
	if body.Name != "" && body.Name != name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("metadata.name: the body is for %s, the URL for %s", body.Name, name))
	}
	if err := validate(ctx, body.DeepCopy()); err != nil {
		return nil, err
	}
	release, err := s.releases.requestSync(ctx, name, options.DryRun, time.Now())
	if err != nil {
		return nil, err
	}
	return subresources.SyncOf(release), nil
}
