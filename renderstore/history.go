package renderstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convoy-dev/convoy/render"
)

// maxEntryBytes is the most that is read of a history entry.
const maxEntryBytes = 64 << 10

// Entry says that a render was applied. It comes from the key alone; Archive.Summary opens it.
type Entry struct {
	Ref      render.Ref
	SyncedAt time.Time // of the first apply, in UTC, to the nanosecond
}

// Record is what a history entry holds.
type Record struct {
	Ref      render.Ref
	SyncedAt time.Time
	Summary  string // the source URL or <kind>/<name>, then @ and the revision; credentials in a URL are not stored
}

// storedRecord is a Record as it is stored.
type storedRecord struct {
	RenderRef string    `json:"renderRef"`
	SyncedAt  time.Time `json:"syncedAt"`
	Summary   string    `json:"summary"`
}

// History returns the renders that were applied, each once, the newest first. It lists keys and opens nothing. Without an object store
// the error wraps ErrDisabled.
func (a *Archive) History(ctx context.Context) ([]Entry, error) {
	entries, err := a.entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the history of %s: %w", a.release, err)
	}
	return oncePerRender(entries), nil
}

// Count returns the number of entries of the history: 0 without an object store.
func (a *Archive) Count(ctx context.Context) (int, error) {
	entries, err := a.History(ctx)
	return len(entries), unlessDisabled(err)
}

// Summary opens an entry of the history and returns its summary. The error wraps ErrNotFound, ErrCorrupt or ErrDisabled, as that of
// Get does.
func (a *Archive) Summary(ctx context.Context, e Entry) (string, error) {
	summary, err := a.summary(ctx, e)
	if err != nil {
		return "", fmt.Errorf("read the history entry for render %s of %s: %w", short(e.Ref), a.release, err)
	}
	return summary, nil
}

func (a *Archive) summary(ctx context.Context, e Entry) (string, error) {
	data, err := a.read(ctx, a.keys.entry(e), maxEntryBytes)
	if err != nil {
		return "", err
	}
	var stored storedRecord
	if err := json.Unmarshal(data, &stored); err != nil {
		return "", fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if stored.RenderRef != e.Ref.String() {
		return "", fmt.Errorf("%w: it is about render %q", ErrCorrupt, stored.RenderRef)
	}
	return stored.Summary, nil
}

// Append adds a render to the history, unless the history has it, and says whether it did. If another process adds the same render at
// the same time, the older of the two entries stays. An entry is always the newest when it is added, also after a clock has jumped back. With true and an error the entry is there, but a second one may be left, which
// History does not show and Prune deletes. Without an object store it does nothing.
func (a *Archive) Append(ctx context.Context, r Record) (added bool, err error) {
	added, err = a.append(ctx, r)
	if err != nil {
		return added, fmt.Errorf("add render %s to the history of %s: %w", short(r.Ref), a.release, err)
	}
	return added, nil
}

func (a *Archive) append(ctx context.Context, r Record) (added bool, err error) {
	entries, err := a.entries(ctx)
	if err != nil {
		return false, unlessDisabled(err)
	}
	if len(entriesFor(r.Ref, entries)) > 0 {
		return false, nil
	}
	if len(entries) > 0 && !r.SyncedAt.After(entries[0].SyncedAt) {
		// After a clock jumped back, the render just applied would be the oldest entry: collected at once, and added again by the next pass.
		r.SyncedAt = entries[0].SyncedAt.Add(time.Nanosecond)
	}
	mine, data, err := a.encode(r)
	if err != nil {
		return false, err
	}
	if err := a.bucket.Create(ctx, a.keys.entry(mine), data); errors.Is(err, ErrExists) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return a.settle(ctx, mine)
}

// encode makes the entry of a record, and what it holds.
func (a *Archive) encode(r Record) (Entry, []byte, error) {
	e, ok := a.keys.parseEntry(a.keys.entry(Entry{Ref: r.Ref, SyncedAt: r.SyncedAt}))
	if !ok {
		return Entry{}, nil, fmt.Errorf("want a render, and a time in the years 0 to 9999, not %v", r.SyncedAt)
	}
	data, err := json.Marshal(storedRecord{RenderRef: r.Ref.String(), SyncedAt: e.SyncedAt, Summary: withoutUserinfo(r.Summary)})
	return e, data, err
}

// settle leaves only the oldest entry for a render that was just added. Whoever adds one looks again after writing; the last one to
// look sees all of them, and nobody deletes the oldest.
func (a *Archive) settle(ctx context.Context, mine Entry) (stays bool, err error) {
	entries, err := a.entries(ctx)
	if err != nil {
		return true, err
	}
	twins := entriesFor(mine.Ref, entries)
	if len(twins) == 0 {
		return true, nil // an object store that lists late
	}
	oldest, younger := twins[len(twins)-1], twins[:len(twins)-1]
	_, err = a.deleteAll(ctx, a.entryKeys(younger))
	return oldest == mine, err
}

// entries returns all entries, the newest first, among them several for one render if processes raced.
func (a *Archive) entries(ctx context.Context) ([]Entry, error) {
	if err := a.usable(); err != nil {
		return nil, err
	}
	keys, err := a.bucket.List(ctx, a.keys.history())
	if err != nil {
		return nil, err
	}
	return a.keys.parseEntries(keys), nil
}

// entryKeys are the keys of entries.
func (a *Archive) entryKeys(entries []Entry) []string {
	keys := make([]string, 0, len(entries))
	for _, e := range entries {
		keys = append(keys, a.keys.entry(e))
	}
	return keys
}

// entriesFor are the entries for one render, in the same order.
func entriesFor(ref render.Ref, entries []Entry) []Entry {
	var found []Entry
	for _, e := range entries {
		if e.Ref == ref {
			found = append(found, e)
		}
	}
	return found
}

// oncePerRender leaves the oldest entry for each render. It takes and returns the newest first.
func oncePerRender(entries []Entry) []Entry {
	seen := make(map[render.Ref]bool, len(entries))
	history := make([]Entry, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		if !seen[e.Ref] {
			seen[e.Ref] = true
			history = append(history, e)
		}
	}
	slices.Reverse(history)
	return history
}
