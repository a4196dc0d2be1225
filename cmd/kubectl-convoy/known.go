package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// shownRefs is how many renders a message lists.
const shownRefs = 10

// knownRenders are the renders that a Release knows: those that its status names, and if need be those in its history.
type knownRenders struct {
	refs   []string // each once
	gone   []string // those of them that the render store does not have any more
	hidden error    // why the history cannot be read; nil if it was, or was not needed
}

// newest lists the first of them, for a message.
func (known knownRenders) newest(from string) string {
	shown, older := known.refs, ""
	if more := len(known.refs) - shownRefs; more > 0 {
		shown, older = known.refs[:shownRefs], fmt.Sprintf("and %d older ones", more)
	}
	if len(shown) == 0 {
		return from + " none"
	}
	return joinNonEmpty("\n  ", append([]string{from + " these:"}, append(slices.Clone(shown), older)...)...)
}

// statusRefs are the renders that the status of a Release names, each once. The render store has them, if there is one.
func statusRefs(status v1alpha1.ReleaseStatus) []string {
	var refs []string
	for _, record := range []*v1alpha1.RenderRecord{status.LastSuccessful, status.LastHealthy, status.LastAttempted} {
		if record != nil && !slices.Contains(refs, record.RenderRef) {
			refs = append(refs, record.RenderRef)
		}
	}
	return refs
}

// known reads what a Release knows: its history only if the status does not name what was typed, since that needs convoy-observer and the
// render store. Who may not see the Release may see its history, and the other way round.
func (k *cluster) known(ctx context.Context, name string, typed refArgument) (knownRenders, error) {
	var known knownRenders
	_, release, unseen := k.release(ctx, name)
	switch {
	case unseen == nil:
		known.refs = statusRefs(release.Status)
	case !apierrors.IsForbidden(unseen):
		return known, unseen
	}
	if len(typed.among(known.refs)) > 0 {
		return known, nil
	}
	_, history, err := k.history(ctx, name, 0)
	if err != nil {
		known.hidden = errors.Join(unseen, err)
		return known, nil
	}
	for _, entry := range history.Items {
		if !slices.Contains(known.refs, entry.RenderRef) {
			known.refs = append(known.refs, entry.RenderRef)
		}
		if entry.Size == nil {
			known.gone = append(known.gone, entry.RenderRef)
		}
	}
	return known, nil
}

// meant finds the render that was typed, of which the server says what there is to say; empty if none was typed.
func (k *cluster) meant(ctx context.Context, name string, typed refArgument) (string, error) {
	if typed == "" || typed.full() {
		return prefixed(refScheme, string(typed)), nil
	}
	known, err := k.known(ctx, name, typed)
	if err != nil {
		return "", err
	}
	ref, _, err := typed.resolve(name, known)
	return ref, err
}
