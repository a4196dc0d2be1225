package renderstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// cloudBucket is a Bucket over a gocloud driver. It makes one meaning of what the drivers say: gocloud's own NotFound is also what
// gs:// says about 403, what s3:// says about a redirect, and what azblob:// says when the name server does not answer.
type cloudBucket struct {
	driver *blob.Bucket

	// probe fails if the bucket cannot be reached, with errNoBucket if it does not exist.
	probe func(context.Context) error
}

// newCloudBucket is a bucket whose driver answers errors with errors.
func newCloudBucket(driver *blob.Bucket) *cloudBucket {
	return &cloudBucket{driver: driver, probe: func(ctx context.Context) error {
		_, _, err := driver.ListPage(ctx, blob.FirstPageToken, 1, nil)
		return bucketError(err)
	}}
}

func (b *cloudBucket) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	r, err := b.driver.NewReader(ctx, key, nil)
	if err != nil {
		return nil, b.missing(ctx, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("read %d of %d bytes: %w", len(data), r.Size(), plain(err))
	}
	return data, nil
}

func (b *cloudBucket) Size(ctx context.Context, key string) (int64, error) {
	attributes, err := b.driver.Attributes(ctx, key)
	if err != nil {
		return 0, b.missing(ctx, err)
	}
	return attributes.Size, nil
}

func (b *cloudBucket) Create(ctx context.Context, key string, data []byte) error {
	err := b.write(ctx, key, data, true)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition || isConflict(err) {
		return fmt.Errorf("%w: %w", ErrExists, plain(err))
	}
	return err
}

func (b *cloudBucket) Replace(ctx context.Context, key string, data []byte) error {
	return b.write(ctx, key, data, false)
}

// write also sends checksums, by which a service can refuse what was damaged on the way.
func (b *cloudBucket) write(ctx context.Context, key string, data []byte, ifNotExist bool) error {
	return b.driver.WriteAll(ctx, key, data, &blob.WriterOptions{ContentType: contentType, IfNotExist: ifNotExist})
}

func (b *cloudBucket) List(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	objects := b.driver.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := objects.Next(ctx)
		if err == io.EOF { //nolint:errorlint // the end itself: an error that wraps io.EOF is a connection that broke
			return keys, nil
		}
		if err != nil {
			return nil, bucketError(err)
		}
		keys = append(keys, object.Key)
	}
}

func (b *cloudBucket) Delete(ctx context.Context, key string) error {
	if err := b.driver.Delete(ctx, key); err != nil {
		return b.missing(ctx, err)
	}
	return nil
}

func (b *cloudBucket) Close() error { return b.driver.Close() }

// missing says what is missing after an error about an object: the object, the whole bucket, or neither.
func (b *cloudBucket) missing(ctx context.Context, err error) error {
	if !isNotFound(err) {
		return err
	}
	if err := b.probe(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotFound, plain(err))
}

// bucketError says whether an error about a bucket means that there is none.
func bucketError(err error) error {
	if isNotFound(err) {
		return fmt.Errorf("%w: %w", errNoBucket, plain(err))
	}
	return err
}

// isNotFound says whether the object store has answered that something does not exist.
func isNotFound(err error) bool {
	if gcerrors.Code(err) != gcerrors.NotFound {
		return false
	}
	if status, answered := httpStatus(err); answered {
		return status == http.StatusNotFound
	}
	var noAnswer *url.Error
	return !errors.As(err, &noAnswer)
}

// isConflict says whether S3 refused a conditional write because another one of the same key was under way.
func isConflict(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ConditionalRequestConflict"
}
