package controllers

import (
	"context"
)

// choose selects the render that this pass applies: for a Release that is being deleted the empty one, else what the source renders.
func (r *ReleaseReconciler) choose(ctx context.Context, p pass) (Selection, *Failure) {
	if p.deleting() {
		return Selection{Origin: FromDeletion}, nil
	}
	artifact, failure := r.fetch(ctx, p)
	if failure != nil {
		return Selection{}, failure
	}
	defer artifact.Close()
	rendered, failure := r.render(ctx, p, artifact)
	if failure != nil {
		return Selection{}, failure
	}
	p.seen.Rendered = &RenderedFact{Ref: rendered.Ref(), Objects: rendered.Len(), Summary: artifact.Summary()}
	return Selection{Render: rendered, Origin: FromSource, Revision: artifact.Revision, Summary: artifact.Summary()}, nil
}
