package source

import (
	"context"
	"io/fs"
	"sync"
)

// Static is a source that is set by hand, for tests of other packages. It answers every request with the same files, whatever it
// asks for; the artifact's Origin is the one of the request. It is safe for concurrent use.
type Static struct {
	mu       sync.Mutex
	revision string
	files    fs.FS
	err      error
}

// NewStatic returns a source that has these files at this revision.
func NewStatic(revision string, files fs.FS) *Static {
	return &Static{revision: revision, files: files}
}

// Set changes the files and the revision, and ends a failure.
func (s *Static) Set(revision string, files fs.FS) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision, s.files, s.err = revision, files, nil
}

// Fail answers every request with this error, until Set; nil ends the failure too, with the files as they were.
func (s *Static) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Fetch returns the files, or the error, that were set last, or the error of the context.
func (s *Static) Fetch(ctx context.Context, req Request) (*Artifact, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	return &Artifact{Revision: s.revision, Origin: OriginOf(req.Source), FS: s.files}, nil
}
