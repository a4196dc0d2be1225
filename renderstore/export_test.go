package renderstore

import "gocloud.dev/blob"

// NewCloudBucket lets a test open a driver that no URL can name.
func NewCloudBucket(driver *blob.Bucket) Bucket { return newCloudBucket(driver) }
