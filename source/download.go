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
	"time"
)

const sha256Prefix = "sha256:"

// download is a request for an archive.
type download struct {
	url         *url.URL
	credentials credentials
	what        string // what the URL is of, for messages
	etag        string // of the content that need not be sent again
}

// received is an archive in a temporary file.
type received struct {
	file   *os.File
	size   int64
	digest string // "sha256:<hex>"
	etag   string // empty if the server has none
}

// close deletes the file. It may be called on nil.
func (r *received) close() {
	if r != nil {
		_ = errors.Join(r.file.Close(), os.Remove(r.file.Name())) // what is left is removed at the next start
	}
}

// downloader downloads archives and unpacks them, within its limits and deadlines.
type downloader struct {
	broker  *broker
	options Options
	limits  limits
	tmp     string // a folder for temporary files
}

// get downloads an archive; nil if it is still what the etag names.
func (d downloader) get(ctx context.Context, what download) (_ *received, err error) {
	ctx, begin := context.WithCancelCause(ctx)
	defer begin(nil)
	late := time.AfterFunc(d.options.ResolveTimeout, func() { begin(fmt.Errorf("no answer within %s", d.options.ResolveTimeout)) })
	defer late.Stop()
	ctx, cancel := d.options.downloading(ctx)
	defer cancel()
	defer func() { err = explain(ctx, err, what.credentials) }()
	res, err := what.do(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	late.Stop()
	if res.StatusCode == http.StatusNotModified {
		return nil, nil
	}
	if res.ContentLength > d.limits.pack() {
		return nil, d.limits.errArtifact()
	}
	sent, err := d.receive(res.Body)
	if err != nil {
		return nil, err
	}
	sent.etag = res.Header.Get("ETag")
	return sent, nil
}

// do sends the request. The response has the status 200, or 304 if there is an etag.
func (what download) do(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, what.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // or the transport would unpack what is gzip itself
	if what.credentials.authorization() != "" {
		req.Header.Set("Authorization", what.credentials.authorization())
	}
	if what.etag != "" {
		req.Header.Set("If-None-Match", what.etag)
	}
	client := newConnections(what.url, what.credentials).client()
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusNotModified && what.etag != "" {
		return res, nil
	}
	if err := what.credentials.refusal(res, what.what); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return res, nil
}

// receive stores an archive in a temporary file.
func (d downloader) receive(content io.Reader) (*received, error) {
	file, err := os.CreateTemp(d.tmp, "archive-")
	if err != nil {
		return nil, err
	}
	sent, hash := &received{file: file}, sha256.New()
	if sent.size, err = io.Copy(io.MultiWriter(file, hash), d.limits.archive(content)); err != nil {
		sent.close()
		return nil, err
	}
	sent.digest = sha256Prefix + hex.EncodeToString(hash.Sum(nil))
	return sent, nil
}

// unpack writes the files of an archive into an empty folder.
func (d downloader) unpack(ctx context.Context, sent *received, dir *os.Root) error {
	ctx, cancel := d.options.downloading(ctx)
	defer cancel()
	err := d.broker.unpack(ctx, func() error { return d.limits.unpack(ctx, sent.file, sent.size, dir) })
	if err != nil {
		return fmt.Errorf("unpack archive %s: %w", sent.digest, explain(ctx, err, credentials{}))
	}
	return nil
}

// unpackExactly downloads the archive with this digest, and writes its files into an empty folder.
func (d downloader) unpackExactly(ctx context.Context, what download, digest string, dir *os.Root) error {
	sent, err := d.get(ctx, what)
	if err != nil {
		return err
	}
	defer sent.close()
	if sent.digest != digest {
		return fmt.Errorf("the digest of what the server sends is %s, and not %s as the source says", sent.digest, digest)
	}
	return d.unpack(ctx, sent, dir)
}
