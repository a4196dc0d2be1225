package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// pipe is a conversation over the standard input and output of a git-upload-pack, wherever it runs.
type pipe struct {
	limits limits
	stdin  io.Writer
	stdout io.Reader
	stderr *head
	wait   func() error // for the end of the program, which has no more output
	abort  func() error // makes all of the above end at once
}

// AdvertisedReferencesContext implements conversation.
func (p *pipe) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.abort() })
	defer stop()
	adv := packp.NewAdvRefs()
	err := adv.Decode(p.limits.listing(p.stdout))
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && adv.IsEmpty():
		return nil, transport.ErrEmptyRemoteRepository
	case errors.Is(err, packp.ErrEmptyInput):
		_ = p.wait() // its status says less than what it wrote
		return nil, fmt.Errorf("the server ends the session: %s", p.stderr)
	case err != nil:
		return nil, err
	}
	transport.FilterUnsupportedCapabilities(adv.Capabilities)
	return adv, nil
}

// UploadPack implements conversation.
func (p *pipe) UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	context.AfterFunc(ctx, func() { _ = p.abort() }) // not stopped: the response is read after the return
	var request bytes.Buffer
	if err := req.UploadRequest.Encode(&request); err != nil {
		return nil, err
	}
	if err := pktline.NewEncoder(&request).EncodeString("done\n"); err != nil {
		return nil, err
	}
	if _, err := p.stdin.Write(request.Bytes()); err != nil {
		return nil, err
	}
	res := packp.NewUploadPackResponse(req)
	return res, res.Decode(io.NopCloser(p.limits.response(p.stdout)))
}

// Close implements conversation.
func (p *pipe) Close() error { return p.abort() }

// head keeps the start of what is written to it.
type head struct {
	buf bytes.Buffer
	max int
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.buf.Write(p[:min(max(h.max-h.buf.Len(), 0), len(p))])
	return len(p), nil
}

// String is what was kept.
func (h *head) String() string { return h.buf.String() }
