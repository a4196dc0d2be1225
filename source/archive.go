package source

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/lru"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// archiveFetcher fetches tar.gz and zip archives for all Releases.
type archiveFetcher struct {
	downloader

	objects objectReader
	etags   *lru.Cache // archive.key → tagged: what the server sent last
}

// tagged is a content and the name that the server has for it.
type tagged struct{ etag, digest string }

// archive is a request with everything that its answer depends on.
type archive struct {
	fetcher     *archiveFetcher
	raw         string // the URL as the Release has it
	url         *url.URL
	digest      string // "sha256:<hex>", or empty: whatever the server has
	credentials credentials
}

func newArchiveFetcher(objects objectReader, downloader downloader) *archiveFetcher {
	return &archiveFetcher{downloader: downloader, objects: objects, etags: lru.New(maxRemembered)}
}

// fetch returns the files that an archive has now.
func (f *archiveFetcher) fetch(ctx context.Context, namespace string, src *v1alpha1.ArchiveSource, maxAge time.Duration) (*Artifact, error) {
	u, err := parseURL(src.URL, "https://example.com/team/app.tgz", schemeHTTPS, schemeHTTP)
	if err != nil {
		return nil, fmt.Errorf("fetch archive: %w", err)
	}
	a := archive{fetcher: f, raw: src.URL, url: u, digest: src.Digest}
	if a.credentials, err = f.objects.httpCredentials(ctx, namespace, u, src.SecretRef); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", a.raw, err)
	}
	artifact, err := f.broker.artifact(ctx, a, maxAge)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", a.raw, err)
	}
	return artifact, nil
}

// key implements remote.
func (a archive) key() string {
	return fmt.Sprintf("archive %q %q %s", a.raw, a.digest, a.credentials.fingerprint)
}

// origin implements remote.
func (a archive) origin() string { return a.raw }

// request is the request for the archive, unless it is still what the etag names.
func (a archive) request(etag string) download {
	return download{url: a.url, credentials: a.credentials, what: "archive", etag: etag}
}

// resolve implements remote. Without a digest, what the archive holds is known only when it is here, unless the server says that it
// is what it sent last.
func (a archive) resolve(ctx context.Context) (resolved, error) {
	if a.digest != "" {
		return archiveContent{archive: a, digest: a.digest}, nil
	}
	known, etag := a.last()
	sent, err := a.fetcher.get(ctx, a.request(etag))
	if err == nil && sent == nil {
		return known, nil
	}
	known.close()
	if err != nil {
		return nil, err
	}
	if sent.etag != "" {
		a.fetcher.etags.Add(a.key(), tagged{etag: sent.etag, digest: sent.digest})
	}
	return archiveContent{archive: a, digest: sent.digest, sent: sent}, nil
}

// last is what the server sent last, and its etag; empty if that has to be sent again.
func (a archive) last() (archiveContent, string) {
	known := archiveContent{archive: a}
	value, ok := a.fetcher.etags.Get(a.key())
	if !ok {
		return known, ""
	}
	last := value.(tagged)
	known.digest = last.digest
	if _, rejected := a.fetcher.broker.rejected.Get(known.contentKey()); rejected {
		return known, last.etag
	}
	if known.held = a.fetcher.broker.cache.acquire(known.contentKey()); known.held == nil {
		return known, ""
	}
	return known, last.etag
}

// archiveContent is what an archive holds.
type archiveContent struct {
	archive
	digest string    // "sha256:<hex>"
	sent   *received // nil if it is not here yet
	held   *lease    // keeps the files in the cache until the answer has them
}

// revision implements resolved.
func (c archiveContent) revision() string { return c.digest }

// contentKey implements resolved. Only equal credentials share content: a digest proves no right to see it.
func (c archiveContent) contentKey() string {
	return filepath.Join(scopeKey("archive", c.raw+"\n"+c.credentials.fingerprint), strings.TrimPrefix(c.digest, sha256Prefix))
}

// download implements resolved.
func (c archiveContent) download(ctx context.Context, dir *os.Root) error {
	if c.sent != nil {
		return c.fetcher.unpack(ctx, c.sent, dir)
	}
	return c.fetcher.unpackExactly(ctx, c.request(""), c.digest, dir)
}

// close implements resolved.
func (c archiveContent) close() {
	c.held.Close()
	c.sent.close()
}
