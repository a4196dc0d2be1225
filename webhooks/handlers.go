package webhooks

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Handlers are the webhooks by the path at which they are served, as config/webhook names it. The reader has to read Releases live: what a
// cache says of their status may be too old to decide on.
func Handlers(live client.Reader) map[string]http.Handler {
	scheme := runtime.NewScheme()
	utilruntime.Must(subresources.AddToScheme(scheme))
	return map[string]http.Handler{
		"/mutate-releases-pin":   admission.WithDefaulter(scheme, &stamper{live}),
		"/validate-releases-pin": admission.WithValidator(scheme, &validator{live}),
	}
}

// releaseOf reads the Release that an admission request is about.
func releaseOf(ctx context.Context, live client.Reader, request admission.Request) (*v1alpha1.Release, error) {
	release := &v1alpha1.Release{}
	err := live.Get(ctx, client.ObjectKey{Namespace: request.Namespace, Name: request.Name}, release)
	if err != nil && apierrors.ReasonForError(err) == "" {
		err = apierrors.NewInternalError(fmt.Errorf("read Release %s/%s: %w", request.Namespace, request.Name, err))
	}
	return release, err
}
