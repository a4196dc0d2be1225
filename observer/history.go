package observer

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

const (
	defaultLimit = 50
	maxLimit     = 500

	// readsAtOnce is how many entries of a page are read at once.
	readsAtOnce = 16
)

// history answers with a page of the history, the newest first. It lists once, and opens only what is on the page.
func (s *Server) history(ctx context.Context, req request) (runtime.Object, error) {
	limit, err := limitOf(req.query.Get("limit"))
	if err != nil {
		return nil, err
	}
	after, err := parseContinue(req.query.Get("continue"))
	if err != nil {
		return nil, err
	}
	entries, err := req.archive.History(ctx)
	if err != nil {
		return nil, s.storeFailure(err)
	}
	if s.OwnStore {
		req.warn("this history says nothing: " + ownStore)
	}
	page, rest := pageOf(entries, after, limit)
	items, err := readEntries(ctx, req, page)
	if err != nil {
		return nil, s.storeFailure(err)
	}
	history := &subresources.ReleaseHistory{Items: items}
	history.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleaseHistory"))
	if rest > 0 {
		history.Continue, history.RemainingItemCount = continueAfter(page[len(page)-1]), new(int64(rest))
	}
	return history, nil
}

// pageOf is the page after an entry, which may be gone by now, and how many entries come after the page. The entries are the newest first;
// what is added meanwhile comes before them, so no entry is seen twice or missed.
func pageOf(entries []renderstore.Entry, after *renderstore.Entry, limit int) (page []renderstore.Entry, rest int) {
	start := 0
	if after != nil {
		start, _ = slices.BinarySearchFunc(entries, *after, renderstore.NewestFirst)
		if start < len(entries) && entries[start] == *after {
			start++
		}
	}
	end := min(start+limit, len(entries))
	return entries[start:end], len(entries) - end
}

// readEntries reads what the entries hold, and whether their renders are still there. An entry that was collected meanwhile is left out.
func readEntries(ctx context.Context, req request, page []renderstore.Entry) ([]subresources.ReleaseHistoryEntry, error) {
	items := make([]*subresources.ReleaseHistoryEntry, len(page))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, entry := range page {
		group.Go(func() error {
			item := entryOf(req.release, entry)
			summary, err := req.archive.Summary(ctx, entry)
			switch {
			case errors.Is(err, renderstore.ErrNotFound):
				return nil
			case err != nil && !errors.Is(err, renderstore.ErrCorrupt): // of a corrupt one its name still says what was applied when
				return err
			}
			item.Summary = summary
			size, err := req.archive.Size(ctx, entry.Ref)
			switch {
			case err == nil:
				item.Size = &size
			case !errors.Is(err, renderstore.ErrNotFound):
				return err
			}
			items[i] = item
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found := []subresources.ReleaseHistoryEntry{} // not null in JSON
	for _, item := range items {
		if item != nil {
			found = append(found, *item)
		}
	}
	return found, nil
}

// entryOf is what is known of an entry without opening it.
func entryOf(release *v1alpha1.Release, entry renderstore.Entry) *subresources.ReleaseHistoryEntry {
	ref, status := entry.Ref.String(), release.Status
	return &subresources.ReleaseHistoryEntry{
		RenderRef: ref,
		SyncedAt:  metav1.NewMicroTime(entry.SyncedAt),
		Current:   names(status.LastSuccessful, ref),
		Healthy:   names(status.LastHealthy, ref),
		Pinned:    release.Pin != nil && release.Pin.RenderRef == ref,
	}
}

func names(record *v1alpha1.RenderRecord, ref string) bool {
	return record != nil && record.RenderRef == ref
}

func limitOf(text string) (int, error) {
	if text == "" {
		return defaultLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, failure(metav1.StatusReasonInvalid, "limit %q: want a number from 1 to %d", text, maxLimit)
	}
	return limit, nil
}

// continueAfter makes the token of the page after an entry.
func continueAfter(entry renderstore.Entry) string {
	return base64.RawURLEncoding.EncodeToString([]byte(entry.SyncedAt.UTC().Format(time.RFC3339Nano) + " " + entry.Ref.String()))
}

// parseContinue reads such a token; nil for none.
func parseContinue(token string) (*renderstore.Entry, error) {
	if token == "" {
		return nil, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(token)
	at, ref, _ := strings.Cut(string(decoded), " ")
	syncedAt, timeErr := time.Parse(time.RFC3339Nano, at)
	parsed, refErr := render.ParseRef(ref)
	if errors.Join(err, timeErr, refErr) != nil {
		return nil, failure(metav1.StatusReasonInvalid, "continue %q: want the token of an earlier page, or none for the first", token)
	}
	return &renderstore.Entry{Ref: parsed, SyncedAt: syncedAt.UTC()}, nil
}
