package source

import (
	"errors"
	"fmt"
)

const (
	// maxEntries is how many files and folders one artifact may have.
	maxEntries = 100_000

	// maxFileSize is how many bytes one file may have: what large Git hosts accept.
	maxFileSize = 100 << 20

	// maxPathLength is how many bytes the path of a file in the source may have: that of Linux.
	maxPathLength = 4096

	// listingAllowance is how many bytes the folders of an artifact, or a list of references, may take beside its files.
	listingAllowance = 64 << 20
)

// limits bound what a repository can make the fetcher do.
type limits struct {
	artifact int64 // bytes of all files together
	file     int64 // bytes of one file
	entries  int   // files and folders
}

// pack is how many bytes a pack, and the objects in it, may have.
func (l limits) pack() int64 { return l.artifact + listingAllowance }

// contentError is an error of what a commit holds: the same commit gets it again, so it is not downloaded again.
type contentError struct{ error }

func rejectf(format string, args ...any) error {
	return contentError{fmt.Errorf(format, args...)}
}

var errTooMuchSent = rejectf("the server sends more than the limit of one artifact (flag --max-artifact-size) allows")

func (l limits) errArtifact() error {
	return rejectf("its files hold more than %d bytes, the limit of one artifact (flag --max-artifact-size)", l.artifact)
}

func (l limits) errEntries() error {
	return rejectf("it has more than %d files and folders, the limit of one artifact", l.entries)
}

func (l limits) errFile(what string, size int64) error {
	return rejectf("%s holds %d bytes, and the limit of one file is %d", what, size, l.file)
}

// isContentError says whether the error is of the content, and not of the way to it.
func isContentError(err error) bool {
	_, ok := errors.AsType[contentError](err)
	return ok
}
