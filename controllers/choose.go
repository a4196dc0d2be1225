package controllers

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/source"
)

// choose selects the render that this pass applies: for a Release that is being deleted the empty one, else the pinned one, else the one
// that failurePolicy rolled back to, else what the source renders.
func (r *ReleaseReconciler) choose(ctx context.Context, p pass) (Selection, *Failure) {
	if p.deleting() {
		return Selection{Origin: FromDeletion}, nil
	}
	current, failure := r.fromSource(ctx, p)
	switch {
	case p.release.Pin != nil:
		p.seen.SourceFailure = failure // a pin needs no source
		return r.fromPin(ctx, p, current)
	case p.rolledBack(current):
		p.seen.SourceFailure = failure
		return r.fromRollback(ctx, p)
	default:
		return current, failure
	}
}

// fromSource fetches and renders the source.
func (r *ReleaseReconciler) fromSource(ctx context.Context, p pass) (Selection, *Failure) {
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

// fromPin selects the pinned render: what the source renders now if it is the same, else what the store has.
func (r *ReleaseReconciler) fromPin(ctx context.Context, p pass, current Selection) (Selection, *Failure) {
	ref, err := render.ParseRef(p.release.Pin.RenderRef)
	if err != nil {
		return Selection{}, notApplied(v1alpha1.ReasonPinned, OnChange, "Nothing is applied, since the pin names no render: %w", err)
	}
	if current.Render.Ref() == ref {
		current.Origin = FromPin
		return current, nil
	}
	pinned, err := r.readStored(ctx, p, ref, FromPin)
	switch {
	case err == nil:
		return pinned, nil
	case errors.Is(err, renderstore.ErrDisabled):
		return Selection{}, notApplied(v1alpha1.ReasonPinned, Interval,
			"Nothing is applied, since render %s is pinned, the source renders another one, and there is no render store: unpin, or configure a store",
			ref.Short())
	case errors.Is(err, renderstore.ErrNotFound), errors.Is(err, renderstore.ErrCorrupt):
		return Selection{}, notApplied(v1alpha1.ReasonPinned, Interval,
			"Nothing is applied, since the pinned render cannot be had: %w; pin another one, or unpin", err)
	default:
		return Selection{}, notApplied(v1alpha1.ReasonDeployFailed, Backoff, "Nothing is applied, since the pinned render cannot be read: %w", err)
	}
}

// readStored reads a render from the store, once: what was read was verified.
func (r *ReleaseReconciler) readStored(ctx context.Context, p pass, ref render.Ref, origin Origin) (Selection, error) {
	if known, ok := r.kept.get(p.release.UID, ref.String()); ok {
		known.Origin, known.Revision = origin, cmp.Or(p.recordedRevision(ref), known.Revision)
		return known, nil
	}
	stored, err := p.archive.Get(ctx, ref)
	if err != nil {
		return Selection{}, err
	}
	selection := Selection{Render: stored, Origin: origin}
	selection.Revision, selection.Summary = provenance(ctx, p, ref)
	r.kept.put(p.release.UID, ref.String(), selection)
	return selection, nil
}

// provenance is what is known of where a stored render came from: its revision, and its summary in the history. Its entry may have been
// collected, and the store may not answer just now; the render itself is verified, so that keeps nobody from applying it.
func provenance(ctx context.Context, p pass, ref render.Ref) (revision, summary string) {
	revision = p.recordedRevision(ref)
	summary, err := summaryOf(ctx, p.archive, ref)
	if err != nil {
		log.FromContext(ctx).Info("The history of a stored render cannot be read", "renderRef", ref.String(), "error", err.Error())
	}
	if revision == "" { // a source that was moved since leaves its summary whole
		revision = strings.TrimPrefix(summary, source.OriginOf(p.release.Spec.Source)+"@")
	}
	return revision, cmp.Or(summary, revision)
}

// recordedRevision is the last revision that is known to have rendered as the ref; empty if the status does not say.
func (p pass) recordedRevision(ref render.Ref) string {
	status := p.release.Status
	for _, record := range []*v1alpha1.RenderRecord{status.LastAttempted, status.LastSuccessful, status.LastHealthy} {
		if record != nil && record.RenderRef == ref.String() {
			return record.Revision
		}
	}
	return ""
}

// summaryOf is the summary of a render in the history; empty if it has no entry.
func summaryOf(ctx context.Context, archive *renderstore.Archive, ref render.Ref) (string, error) {
	entries, err := archive.History(ctx)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if entry.Ref == ref {
			return archive.Summary(ctx, entry)
		}
	}
	return "", nil
}
