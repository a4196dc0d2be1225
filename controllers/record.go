package controllers

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

// record adds the render to the history, unless it is there, and collects what the retention policy lets go. The apply stays
// successful whatever happens here; what failed is made up for in a later pass.
func (r *ReleaseReconciler) record(ctx context.Context, p pass, selection Selection) {
	defer r.Metrics.step("record")()
	if r.Store.Enabled() && selection.Origin != FromRollback {
		p.seen.RecordErr = r.recordIn(ctx, p, selection)
	}
}

func (r *ReleaseReconciler) recordIn(ctx context.Context, p pass, selection Selection) error {
	entry := renderstore.Record{Ref: selection.Render.Ref(), SyncedAt: p.now, Summary: selection.Summary}
	added, err := p.archive.Append(ctx, entry)
	if err != nil {
		return fmt.Errorf("write the history entry: %w", err)
	}
	n, err := p.archive.Count(ctx)
	if err != nil {
		return fmt.Errorf("count the history: %w", err)
	}
	if keep := int(p.release.Spec.RetentionPolicy.Resolved()); keep <= 0 || (!added && n <= keep) {
		p.seen.HistoryCount = &n
		return nil
	}
	if err := r.collect(ctx, p, entry.Ref); err != nil {
		return fmt.Errorf("collect old renders: %w", err)
	}
	return nil
}

// countHistory fills in the number of entries for a pass that did not get to count them. If it cannot be known, the old one stays.
func (r *ReleaseReconciler) countHistory(ctx context.Context, p pass) {
	if p.seen.HistoryCount != nil {
		return
	}
	n, err := p.archive.Count(ctx)
	if err != nil {
		log.FromContext(ctx).V(1).Info("The history cannot be counted", "error", err.Error())
		return
	}
	p.seen.HistoryCount = &n
}

// collect deletes what the retention policy lets go. What is protected is read live, just before.
func (r *ReleaseReconciler) collect(ctx context.Context, p pass, applied render.Ref) error {
	release := &v1alpha1.Release{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(p.release), release); err != nil {
		return err
	}
	protected, err := protectedBy(release)
	if err != nil {
		return err
	}
	_, err = p.archive.Prune(ctx, renderstore.Retention{
		Keep: int(release.Spec.RetentionPolicy.Resolved()), Protected: append(protected, applied), Recorded: applied,
	})
	return err
}

// protectedBy are the renders that a Release names, which stay in the store.
func protectedBy(release *v1alpha1.Release) ([]render.Ref, error) {
	var named []string
	if release.Pin != nil {
		named = append(named, release.Pin.RenderRef)
	}
	for _, record := range []*v1alpha1.RenderRecord{release.Status.LastAttempted, release.Status.LastSuccessful, release.Status.LastHealthy} {
		if record != nil {
			named = append(named, record.RenderRef)
		}
	}
	var refs []render.Ref
	for _, name := range named {
		ref, err := render.ParseRef(name)
		if err != nil {
			return nil, fmt.Errorf("the Release names a render: %w", err)
		}
		refs = append(refs, ref)
	}
	return refs, nil
}
