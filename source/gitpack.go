package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	objectcache "github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

const (
	// sparePackObjects is how many objects a pack may have beside files and folders: the commit, tags, the root.
	sparePackObjects = 100

	// deltaHeadSize is at least as long as the two sizes at the start of a delta.
	deltaHeadSize = 20

	// deltaCacheSize bounds the memory for objects that others are stored as differences to.
	deltaCacheSize = 32 * objectcache.MiByte
)

// requestOne asks for one commit without its history, where the server can do that.
func requestOne(adv *packp.AdvRefs, want plumbing.Hash) *packp.UploadPackRequest {
	req := newRequest(adv, want)
	if adv.Capabilities.Supports(capability.Shallow) {
		// Setting a capability without values cannot fail.
		_ = req.Capabilities.Set(capability.Shallow)
		req.Depth = packp.DepthCommits(1)
	}
	return req
}

// requestAll asks for everything that branches and tags name.
func requestAll(adv *packp.AdvRefs) *packp.UploadPackRequest {
	var wants []plumbing.Hash
	for ref, hash := range adv.References {
		if strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/") {
			wants = append(wants, hash)
		}
	}
	plumbing.HashesSort(wants)
	return newRequest(adv, slices.Compact(wants)...)
}

func newRequest(adv *packp.AdvRefs, wants ...plumbing.Hash) *packp.UploadPackRequest {
	req := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	req.Wants = wants
	if adv.Capabilities.Supports(capability.NoProgress) {
		_ = req.Capabilities.Set(capability.NoProgress)
	}
	return req
}

// sendsAnyCommit says whether the server promises to send a commit that no branch or tag names.
func sendsAnyCommit(adv *packp.AdvRefs) bool {
	return adv.Capabilities.Supports(capability.AllowReachableSHA1InWant)
}

// packOf is the pack in a response.
func packOf(req *packp.UploadPackRequest, body io.Reader) io.Reader {
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, body)
	case req.Capabilities.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, body)
	default:
		return body
	}
}

// receive writes a pack to w as it comes, and stops as soon as it cannot be within the limits. It holds no object in memory, and
// says what sizes the objects will have, so that unpacking them afterwards is bounded.
func (l limits) receive(pack io.Reader, w io.Writer) error {
	scanner := packfile.NewScanner(io.TeeReader(l.response(pack), w))
	_, count, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("read pack: %w", err)
	}
	if int64(count) > int64(l.entries)+sparePackObjects {
		return l.errEntries()
	}
	var total int64
	for range count {
		size, err := l.receiveObject(scanner)
		if err != nil {
			return err
		}
		if total += size; total > l.pack() {
			return l.errArtifact()
		}
	}
	if _, err := scanner.Checksum(); err != nil {
		return fmt.Errorf("read pack: %w", err)
	}
	return nil
}

// receiveObject passes one object and returns the size that it has once unpacked.
func (l limits) receiveObject(scanner *packfile.Scanner) (int64, error) {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return 0, fmt.Errorf("read pack: %w", err)
	}
	if header.Length > l.file {
		return 0, l.errFile("a file", header.Length)
	}
	var start deltaHead
	n, _, err := scanner.NextObject(&start)
	if err == nil && n != header.Length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, fmt.Errorf("read pack: %w", err)
	}
	if !header.Type.IsDelta() {
		return header.Length, nil
	}
	size, err := start.resultSize()
	if err != nil {
		return 0, err
	}
	if size > l.file {
		return 0, l.errFile("a file", size)
	}
	return max(size, header.Length), nil
}

// deltaHead keeps the start of a delta, which tells the size of its result, and drops the rest.
type deltaHead struct {
	buf [deltaHeadSize]byte
	n   int
}

// Write implements io.Writer.
func (d *deltaHead) Write(p []byte) (int, error) {
	d.n += copy(d.buf[d.n:], p)
	return len(p), nil
}

func (d *deltaHead) resultSize() (int64, error) {
	_, base := binary.Uvarint(d.buf[:d.n])
	size, n := binary.Uvarint(d.buf[max(base, 0):d.n])
	if base <= 0 || n <= 0 || int64(size) < 0 {
		return 0, errors.New("read pack: malformed delta")
	}
	return int64(size), nil
}

// objects are the contents of a pack.
type objects interface {
	Get(plumbing.Hash) (plumbing.EncodedObject, error)
}

// openPack hashes all objects of a received pack, so that they can be found, and trusted, by their hash.
func openPack(ctx context.Context, pack *os.File) (objects, error) {
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	index := new(idxfile.Writer)
	parser, err := packfile.NewParser(packfile.NewScanner(contextFile{ctx, pack}), index)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	found, err := index.Index()
	if err != nil {
		return nil, err
	}
	return packfile.NewPackfileWithCache(found, nil, packFile{pack}, objectcache.NewObjectLRU(deltaCacheSize), 0), nil
}

// packFile makes a file of the os package one of go-git's.
type packFile struct{ *os.File }

// Lock implements billy.File; nobody else opens the file.
func (packFile) Lock() error { return nil }

// Unlock implements billy.File.
func (packFile) Unlock() error { return nil }

// contextFile is a file that cannot be read after the end of a context.
type contextFile struct {
	ctx context.Context
	io.ReadSeeker
}

// Read implements io.Reader.
func (f contextFile) Read(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	return f.ReadSeeker.Read(p)
}
