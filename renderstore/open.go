package renderstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
)

// openBucket opens the bucket that a URL names, and says what the URL is without credentials.
func openBucket(ctx context.Context, rawURL string) (Bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil { // which quotes the URL, credentials and all
		return nil, errors.New("open the render store: its URL cannot be read: want one such as s3://bucket?region=eu-west-1")
	}
	bucket, err := openURL(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("open the render store %s: %w", redact(u), err)
	}
	return bucket, nil
}

// openURL leaves the driver to check what it reads; what it would ignore or misread is checked here.
func openURL(ctx context.Context, u *url.URL) (Bucket, error) {
	if err := checkURL(u); err != nil {
		return nil, err
	}
	if u.Scheme == schemeFile {
		return openFile(ctx, *u)
	}
	driver, err := blob.DefaultURLMux().OpenBucketURL(ctx, u)
	if err != nil {
		return nil, openError(u, err)
	}
	return newCloudBucket(driver), nil
}

// checkURL rejects what no driver reads.
func checkURL(u *url.URL) error {
	switch {
	case !knownScheme(u.Scheme):
		return fmt.Errorf("unknown scheme %q: want one of %s", u.Scheme, knownSchemes())
	case u.User != nil:
		return errors.New("credentials before the @ are not read: give them in the way of the object store's own tools")
	case u.Query().Has("key"):
		return errors.New("key= would put everything under one key: remove it")
	case u.Scheme == schemeFile || u.Scheme == schemeMemory:
		return nil
	case u.Host == "":
		return fmt.Errorf("no bucket: want %s://bucket", u.Scheme)
	case strings.Trim(u.Path, "/") != "":
		return fmt.Errorf("the path %s is not read: to keep renders below a prefix use prefix=%s/", u.Path, strings.Trim(u.Path, "/"))
	}
	return nil
}

// openFile opens a directory. No sidecar files are written next to the renders: they would say nothing that the names do not say, and
// a reader can meet one that is half written.
func openFile(ctx context.Context, u url.URL) (Bucket, error) {
	query := u.Query()
	switch {
	case u.Path == "":
		return nil, errors.New("no directory: want file:///directory")
	case u.Host != "" && u.Host != "." && u.Host != "localhost":
		return nil, fmt.Errorf("%s would be read as a host name: want three slashes, as in file:///%s%s", u.Host, u.Host, u.Path)
	case query.Has("prefix"):
		return nil, errors.New("prefix= is not for file://: name the directory itself")
	}
	query.Set("metadata", "skip")
	u.RawQuery = query.Encode()
	driver, err := blob.DefaultURLMux().OpenBucketURL(ctx, &u)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: create the directory, or add create_dir=true to the URL", plain(err))
	}
	if err != nil {
		return nil, openError(&u, err)
	}
	dir := u.Path
	if u.Host == "." {
		dir = strings.TrimPrefix(dir, "/")
	}
	dir, err = filepath.Abs(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	return newFileBucket(driver, dir), nil
}

// openError takes the URL out of what a driver says about it, since the query may hold credentials.
func openError(u *url.URL, err error) error {
	return &plainError{text: withoutCredentials(strings.ReplaceAll(err.Error(), u.String(), redact(u))), err: err}
}

// redact is a URL without what may hold credentials: the userinfo and the query.
func redact(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path}).String()
}
