package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/lru"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const sha256Prefix = "sha256:"

// archiveFetcher fetches tar.gz and zip archives for all Releases.
type archiveFetcher struct {
	*broker

	objects objectReader
	options Options
	limits  limits
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

func newArchiveFetcher(o Options, objects objectReader, broker *broker, limits limits) *archiveFetcher {
	return &archiveFetcher{broker: broker, objects: objects, options: o, limits: limits, etags: lru.New(maxRemembered)}
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
	artifact, err := f.artifact(ctx, a, maxAge)
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

// resolve implements remote. Without a digest, what the archive holds is known only when it is here, unless the server says that it
// is what it sent last.
func (a archive) resolve(ctx context.Context) (resolved, error) {
	if a.digest != "" {
		return &archiveContent{archive: a, digest: a.digest}, nil
	}
	known := &archiveContent{archive: a}
	etag := ""
	if value, ok := a.fetcher.etags.Get(a.key()); ok {
		last := value.(tagged)
		known.digest = last.digest
		if _, bad := a.fetcher.rejected.Get(known.contentKey()); bad {
			etag = last.etag
		} else if known.held = a.fetcher.cache.acquire(known.contentKey()); known.held != nil {
			etag = last.etag
		}
	}
	sent, err := a.get(ctx, etag)
	if err != nil || sent != nil {
		known.close()
	}
	switch {
	case err != nil:
		return nil, err
	case sent == nil:
		return known, nil
	default:
		return sent, nil
	}
}

// get downloads the archive; nil if it is still what the etag names.
func (a archive) get(ctx context.Context, etag string) (_ *archiveContent, err error) {
	begun, begin := context.WithCancelCause(ctx)
	defer begin(nil)
	late := time.AfterFunc(a.fetcher.options.ResolveTimeout, func() { begin(fmt.Errorf("no answer within %s", a.fetcher.options.ResolveTimeout)) })
	defer late.Stop()
	ctx, cancel := a.fetcher.options.downloading(begun)
	defer cancel()
	defer func() { err = explain(ctx, err, a.credentials) }()
	res, err := download{url: a.url, credentials: a.credentials, what: "archive", etag: etag}.do(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	late.Stop()
	if res.StatusCode == http.StatusNotModified {
		return nil, nil
	}
	sent := &archiveContent{archive: a}
	if err := sent.receive(res); err != nil {
		sent.close()
		return nil, err
	}
	if tag := res.Header.Get("ETag"); tag != "" {
		a.fetcher.etags.Add(a.key(), tagged{etag: tag, digest: sent.digest})
	}
	return sent, nil
}

// archiveContent is what an archive holds.
type archiveContent struct {
	archive
	digest string   // "sha256:<hex>"
	file   *os.File // the archive, if it was downloaded to find its digest out
	size   int64
	held   *lease // keeps the files in the cache until the answer has them
}

// receive stores what the server sends in a temporary file.
func (c *archiveContent) receive(res *http.Response) error {
	limits := c.fetcher.limits
	if res.ContentLength > limits.pack() {
		return limits.errArtifact()
	}
	file, err := os.CreateTemp(c.fetcher.cache.path(tmpDir), "archive-")
	if err != nil {
		return err
	}
	c.file = file
	hash := sha256.New()
	c.size, err = io.Copy(io.MultiWriter(file, hash), limits.archive(res.Body))
	c.digest = sha256Prefix + hex.EncodeToString(hash.Sum(nil))
	return err
}

// revision implements resolved.
func (c *archiveContent) revision() string { return c.digest }

// contentKey implements resolved. Only equal credentials share content: a digest proves no right to see it.
func (c *archiveContent) contentKey() string {
	return filepath.Join(scopeKey("archive", c.raw+"\n"+c.credentials.fingerprint), strings.TrimPrefix(c.digest, sha256Prefix))
}

// download implements resolved.
func (c *archiveContent) download(ctx context.Context, dir *os.Root) error {
	if c.file == nil {
		sent, err := c.get(ctx, "")
		if err != nil {
			return err
		}
		defer sent.close()
		if sent.digest != c.digest {
			return fmt.Errorf("its digest is %s, and not %s as the source says", sent.digest, c.digest)
		}
		return sent.unpack(ctx, dir)
	}
	return c.unpack(ctx, dir)
}

func (c *archiveContent) unpack(ctx context.Context, dir *os.Root) error {
	ctx, cancel := c.fetcher.options.downloading(ctx)
	defer cancel()
	if err := c.fetcher.limits.unpack(ctx, c.file, c.size, dir); err != nil {
		return fmt.Errorf("unpack archive %s: %w", c.digest, explain(ctx, err, c.credentials))
	}
	return nil
}

// close implements resolved.
func (c *archiveContent) close() {
	c.held.Close()
	if c.file != nil {
		_ = errors.Join(c.file.Close(), os.Remove(c.file.Name())) // what is left is removed at the next start
	}
}
