package source

import (
	"errors"
	"fmt"
	"io"
)

const (
	// maxEntries is how many files and folders one artifact may have.
	maxEntries = 100_000

	// maxFileSize is how many bytes one file may have: what large Git hosts accept.
	maxFileSize = 100 << 20

	// maxDepth is how many folders may be in each other.
	maxDepth = 100

	// maxPathLength is one more than the bytes that the target of a symlink may have, as in the Linux kernel.
	maxPathLength = 4096

	// listingAllowance is how many bytes the folders of an artifact, or a list of references, may take beside its files.
	listingAllowance = 64 << 20
)

// limits bound what a source can make the fetcher do.
type limits struct {
	artifact int64 // bytes of all files together
	file     int64 // bytes of one file
	entries  int   // files and folders
}

// pack is how many bytes the objects of a pack may have together.
func (l limits) pack() int64 { return l.artifact + listingAllowance }

// listing lets a list of references through, as far as it is of a sane size.
func (l limits) listing(r io.Reader) io.Reader {
	return &limitedReader{reader: r, left: listingAllowance, err: rejectf("its list of references has more than %d bytes", listingAllowance)}
}

// response lets a response with a pack through, as far as its pack can be within the limits.
func (l limits) response(r io.Reader) io.Reader {
	return &limitedReader{reader: r, left: l.pack() + listingAllowance, err: l.errArtifact()}
}

// archive lets an archive through, as far as its files can be within the limits.
func (l limits) archive(r io.Reader) io.Reader {
	return &limitedReader{reader: r, left: l.pack(), err: l.errArtifact()}
}

// limitedReader fails, rather than ends, when more than left bytes come.
type limitedReader struct {
	reader io.Reader
	left   int64
	err    error
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	l.left -= int64(n)
	if l.left < 0 {
		return 0, l.err
	}
	return n, err
}

// contentError is an error of what a revision holds: the same revision gets it again, so it is not downloaded again.
type contentError struct{ error }

func rejectf(format string, args ...any) error {
	return contentError{fmt.Errorf(format, args...)}
}

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
