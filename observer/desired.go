package observer

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/source"
)

// shareFor is how old a revision may be that another request has just asked the source for. Somebody who has pushed a moment ago sees it.
const shareFor = 3 * time.Second

// desired is the render that a diff compares with the live objects.
type desired struct {
	render  render.Render // the zero value if the Release is being deleted: it wants no objects
	origin  subresources.DiffOrigin
	summary string // empty if it is to be looked up in the history
}

// desired finds the render: the one that the request names, else the pinned one, if the store has it or the source renders the same, else
// what the source renders now.
func (s *Server) desired(ctx context.Context, req request) (desired, error) {
	named, err := refOf(req)
	switch {
	case err != nil:
		return desired{}, err
	case !named.IsZero():
		stored, err := req.archive.Get(ctx, named)
		if err != nil {
			return desired{}, s.storeFailure(err)
		}
		return desired{render: stored, origin: subresources.DiffFromStore}, nil
	case !req.release.DeletionTimestamp.IsZero():
		req.warn("the Release is being deleted: the diff shows what becomes of its objects")
		return desired{}, nil
	case req.release.Pin != nil:
		return s.pinned(ctx, req)
	}
	if req.release.Status.Rollback != nil {
		req.warn("failurePolicy holds the Release on its last healthy render, since what it tried to apply failed: the diff shows what a sync would apply")
	}
	return s.fromSource(ctx, req)
}

// pinned is the pinned render. The source is asked only if the store does not have it.
func (s *Server) pinned(ctx context.Context, req request) (desired, error) {
	ref, err := render.ParseRef(req.release.Pin.RenderRef)
	if err != nil {
		return desired{}, failure(metav1.StatusReasonInvalid, "the pin of the Release names no render: %w", err)
	}
	stored, err := req.archive.Get(ctx, ref)
	if err == nil {
		return desired{render: stored, origin: subresources.DiffFromPin}, nil
	}
	if !errors.Is(err, renderstore.ErrNotFound) && !errors.Is(err, renderstore.ErrDisabled) {
		return desired{}, s.storeFailure(err)
	}
	current, sourceErr := s.fromSource(ctx, req)
	switch {
	case sourceErr != nil:
		return desired{}, sourceErr
	case current.render.Ref() == ref:
		current.origin = subresources.DiffFromPin
	default:
		req.warn("the Release is pinned to render " + ref.Short() + ", which cannot be had, so nothing would be applied: " + err.Error() +
			"; the diff shows what the source renders now")
	}
	return current, nil
}

// fromSource is what the source renders now. It is not kept anywhere.
func (s *Server) fromSource(ctx context.Context, req request) (desired, error) {
	spec := req.release.Spec
	artifact, err := s.Fetcher.Fetch(ctx, source.Request{Namespace: req.release.Namespace, Source: spec.Source, MaxAge: shareFor})
	if err != nil {
		return desired{}, failure(metav1.StatusReasonServiceUnavailable, "the source cannot be fetched: %w", err)
	}
	defer artifact.Close()
	in, err := s.Inputs.Read(ctx, req.release, artifact.FS)
	if err != nil {
		return desired{}, failure(metav1.StatusReasonServiceUnavailable, "what the spec names cannot be read: %w", err)
	}
	rendered, err := render.FromSpec(ctx, artifact.FS, spec, in)
	if err != nil {
		return desired{}, failure(metav1.StatusReasonInvalid, "%s does not render: %w", artifact.Summary(), err)
	}
	return desired{render: rendered, origin: subresources.DiffFromSource, summary: artifact.Summary()}, nil
}
