package renderstore

import (
	"slices"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/memblob"   // mem://
	_ "gocloud.dev/blob/s3blob"    // s3://
)

const (
	schemeFile   = "file"
	schemeMemory = "mem"
)

// knownScheme says whether one of the drivers above serves URLs of the scheme.
func knownScheme(scheme string) bool {
	return slices.Contains(blob.DefaultURLMux().BucketSchemes(), scheme)
}

// knownSchemes lists the schemes for a message: azblob://, file://, gs:// and so on.
func knownSchemes() string {
	return strings.Join(blob.DefaultURLMux().BucketSchemes(), "://, ") + "://"
}
