package observer

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/redact"
	"github.com/convoy-dev/convoy/render"
)

// render answers with the objects of a stored render, masked.
func (s *Server) render(ctx context.Context, req request) (runtime.Object, error) {
	ref, err := refOf(req)
	if err != nil {
		return nil, err
	}
	if ref.IsZero() {
		return nil, failure(metav1.StatusReasonInvalid, "render: want the ref of a stored render, as in ?render=sha256:…")
	}
	stored, err := req.archive.Get(ctx, ref)
	if err != nil {
		return nil, s.storeFailure(err)
	}
	objects, err := stored.Objects()
	if err != nil {
		return nil, err
	}
	answer := &subresources.ReleaseRender{ObjectMeta: metadataOf(req.release), RenderRef: ref.String(), Objects: []runtime.RawExtension{}}
	answer.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleaseRender"))
	for _, object := range objects {
		redact.Secrets(object, nil)
		raw, err := object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encode %s of render %s: %w", render.IDOf(object), ref, err)
		}
		answer.Objects = append(answer.Objects, runtime.RawExtension{Raw: raw})
	}
	return answer, nil
}

// refOf is the render that a request names; the zero value if it names none.
func refOf(req request) (render.Ref, error) {
	text := req.query.Get("render")
	if text == "" {
		return render.Ref{}, nil
	}
	ref, err := render.ParseRef(text)
	if err != nil {
		return render.Ref{}, failure(metav1.StatusReasonInvalid, "%w", err)
	}
	return ref, nil
}

// metadataOf is what an answer tells of the metadata of the Release.
func metadataOf(release *v1alpha1.Release) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: release.Namespace, Name: release.Name, UID: release.UID}
}
