package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/redact"
	"github.com/convoy-dev/convoy/render"
)

// summariesDeadline is how long a diff waits for what the history says of its renders, which is for people only.
const summariesDeadline = 5 * time.Second

// diff answers with what an apply of a render would change.
func (s *Server) diff(ctx context.Context, req request) (runtime.Object, error) {
	to, err := s.desired(ctx, req)
	if err != nil {
		return nil, err
	}
	changes, err := s.changes(ctx, req, to.render)
	if err != nil {
		return nil, err
	}
	answer := &subresources.ReleaseDiff{
		ObjectMeta: metadataOf(req.release),
		To:         subresources.DiffRender{RenderRef: to.render.Ref().String(), Summary: to.summary, Origin: to.origin},
		Changes:    changes,
	}
	if last := req.release.Status.LastSuccessful; last != nil {
		answer.From.RenderRef = last.RenderRef
	}
	s.summarize(ctx, req, &answer.From, &answer.To)
	answer.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleaseDiff"))
	return answer, nil
}

// changes predicts the changes, and shows them without values of Secrets.
func (s *Server) changes(ctx context.Context, req request, to render.Render) ([]subresources.ReleaseChange, error) {
	var objects []*unstructured.Unstructured
	if !to.IsZero() {
		var err error
		if objects, err = to.Objects(); err != nil {
			return nil, err
		}
	}
	inventory, err := s.inventory(ctx, req.release)
	if err != nil {
		return nil, err
	}
	hidden := redact.ValuesOf(objects...)
	changes, err := s.Differ.Diff(ctx, live.DiffRequest{
		Owner:     req.owner(),
		Objects:   objects,
		Inventory: inventory,
		Policy:    live.PolicyOf(req.release),
		Confined:  cmp.Or(req.release.Spec.ServiceAccountName, s.DefaultServiceAccount) != "",
	})
	if err != nil {
		return nil, failure(metav1.StatusReasonServiceUnavailable, "the diff cannot be made: %w", hidden.Err(err))
	}
	p := &printer{to: cmp.Or(to.Ref().Short(), "nothing"), left: printedBytes}
	shown := make([]subresources.ReleaseChange, 0, len(changes))
	for _, change := range changes {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		next, err := p.print(change, hidden)
		if err != nil {
			return nil, fmt.Errorf("show the change of %s: %w", change.ID, hidden.Err(err))
		}
		shown = append(shown, next)
	}
	return shown, nil
}

// inventory reads what the Release recorded as applied.
func (s *Server) inventory(ctx context.Context, release *v1alpha1.Release) (live.Inventory, error) {
	var shards v1alpha1.InventoryList
	labels := client.MatchingLabels(v1alpha1.OwnerLabels(release.Namespace, release.Name))
	if err := s.Reader.List(ctx, &shards, client.InNamespace(release.Namespace), labels); err != nil {
		return nil, clusterFailure("read the inventory of the Release", err)
	}
	return live.InventoryOf(shards.Items), nil
}

// summarize says of renders what the history says of them. The diff is right without it, so a store that does not answer is no error.
func (s *Server) summarize(ctx context.Context, req request, renders ...*subresources.DiffRender) {
	if !s.Store.Enabled() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, summariesDeadline)
	defer cancel()
	entries, err := req.archive.History(ctx)
	for _, entry := range entries {
		for _, r := range renders {
			if r.Summary == "" && r.RenderRef == entry.Ref.String() {
				var summaryErr error
				r.Summary, summaryErr = req.archive.Summary(ctx, entry)
				err = errors.Join(err, summaryErr)
			}
		}
	}
	if err != nil {
		s.Log.Info("A diff has no summaries, since the history cannot be read", "namespace", req.release.Namespace, "name", req.release.Name,
			"error", err.Error())
	}
}
