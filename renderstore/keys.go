package renderstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/convoy-dev/convoy/render"
)

// The keys of a Release. They are made and read in this file alone. The slash after the name keeps app apart from app-2.
//
//	<namespace>/<name>/
//	    blobs/<renderRef>                    the render: a JSON array of objects, write-once
//	    history/<time>-<renderRef>.json      {"renderRef", "syncedAt", "summary"}, one for each applied render
//
//	<renderRef>  sha256: and 64 hex digits
//	<time>       syncedAt in UTC, 26 characters, sorts as text
const (
	blobsDir     = "blobs/"
	historyDir   = "history/"
	entryTime    = "20060102T150405.000000000Z"
	entrySuffix  = ".json"
	entryTimeEnd = len(entryTime) + len("-")
)

// releaseKeys makes and reads the keys of one Release. Its value is the prefix that they all have.
type releaseKeys string

// newReleaseKeys rejects what cannot be the namespace or the name of a Kubernetes object, since it could reach other Releases' keys.
func newReleaseKeys(namespace, name string) (releaseKeys, error) {
	for _, part := range []string{namespace, name} {
		if problems := validation.IsDNS1123Subdomain(part); len(problems) > 0 {
			return "", fmt.Errorf("%q names no Kubernetes object: %s", part, strings.Join(problems, "; "))
		}
	}
	return releaseKeys(namespace + "/" + name + "/"), nil
}

// all is the prefix of every key of the Release.
func (k releaseKeys) all() string { return string(k) }

// blobs is the prefix of the renders.
func (k releaseKeys) blobs() string { return string(k) + blobsDir }

// history is the prefix of the history entries.
func (k releaseKeys) history() string { return string(k) + historyDir }

// blob is the key of a render.
func (k releaseKeys) blob(ref render.Ref) string { return k.blobs() + ref.String() }

// entry is the key of a history entry.
func (k releaseKeys) entry(e Entry) string {
	return k.history() + e.SyncedAt.UTC().Format(entryTime) + "-" + e.Ref.String() + entrySuffix
}

// parseBlobs reads the keys of renders. It leaves out the keys of anything else.
func (k releaseKeys) parseBlobs(keys []string) []render.Ref {
	refs := make([]render.Ref, 0, len(keys))
	for _, key := range keys {
		name, ok := strings.CutPrefix(key, k.blobs())
		if ref, err := render.ParseRef(name); ok && err == nil {
			refs = append(refs, ref)
		}
	}
	return refs
}

// parseEntries reads the keys of history entries, newest first. It leaves out the keys of anything else.
func (k releaseKeys) parseEntries(keys []string) []Entry {
	entries := make([]Entry, 0, len(keys))
	for _, key := range keys {
		if e, ok := k.parseEntry(key); ok {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, NewestFirst)
	return entries
}

// parseEntry reads the key of a history entry; false for every other key.
func (k releaseKeys) parseEntry(key string) (Entry, bool) {
	name, ok := strings.CutPrefix(key, k.history())
	if !ok || len(name) < entryTimeEnd {
		return Entry{}, false
	}
	syncedAt, err := time.Parse(entryTime+"-", name[:entryTimeEnd])
	if err != nil {
		return Entry{}, false
	}
	ref, err := render.ParseRef(strings.TrimSuffix(name[entryTimeEnd:], entrySuffix))
	if err != nil {
		return Entry{}, false
	}
	e := Entry{Ref: ref, SyncedAt: syncedAt}
	return e, k.entry(e) == key // time.Parse is more lenient than the layout
}

// NewestFirst compares entries by the order of History: by time, the newest first, and those of the same time by ref.
func NewestFirst(a, b Entry) int {
	return cmp.Or(b.SyncedAt.Compare(a.SyncedAt), cmp.Compare(a.Ref.String(), b.Ref.String()))
}
