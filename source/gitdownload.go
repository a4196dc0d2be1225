package source

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// listing is a conversation that has got as far as the list of references.
type listing struct {
	conversation
	adv *packp.AdvRefs
}

// open starts a conversation and gets the list of references, with these credentials.
func (g *gitFetcher) open(ctx context.Context, repo repository) (*listing, error) {
	ctx, cancel := g.options.resolving(ctx)
	defer cancel()
	talk, err := g.dialer.dial(ctx, repo.url, repo.credentials)
	if err != nil {
		return nil, explain(ctx, err, repo.credentials)
	}
	adv, err := talk.AdvertisedReferencesContext(ctx)
	if err != nil {
		err = explain(ctx, err, repo.credentials)
		_ = talk.Close()
		return nil, err
	}
	return &listing{conversation: talk, adv: adv}, nil
}

// download takes the files of the commit from the server.
func (g *gitFetcher) download(ctx context.Context, repo repository, talk *listing, t target, dir *os.Root) error {
	ctx, cancel := g.options.downloading(ctx)
	defer cancel()
	err := g.receive(ctx, talk, requestOne(talk.adv, t.want), t.commit, dir)
	if err != nil && !t.tip && !sendsAnyCommit(talk.adv) && !isContentError(err) && ctx.Err() == nil {
		err = g.downloadHistory(ctx, repo, t, dir)
	}
	if err != nil {
		return fmt.Errorf("download commit %s: %w", t.commit, explain(ctx, err, repo.credentials))
	}
	return nil
}

// downloadHistory finds the commit of a server that sends only what a branch or tag names, as old ones do.
func (g *gitFetcher) downloadHistory(ctx context.Context, repo repository, t target, dir *os.Root) error {
	talk, err := g.open(ctx, repo)
	if err != nil {
		return err
	}
	defer func() { _ = talk.Close() }()
	err = g.receive(ctx, talk, requestAll(talk.adv), t.commit, dir)
	switch {
	case errors.Is(err, errNotSent):
		return errors.New("no branch or tag of the repository has it")
	case isContentError(err):
		return fmt.Errorf("the server does not send single commits, and of the whole history: %w", err)
	}
	return err
}

// receive takes a pack from the server and writes the files of a commit in it into dir.
func (g *gitFetcher) receive(
	ctx context.Context, talk *listing, req *packp.UploadPackRequest, commit plumbing.Hash, dir *os.Root,
) (err error) {
	res, err := talk.UploadPack(ctx, req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Close() }()
	pack, err := os.CreateTemp(g.cache.path(tmpDir), "pack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pack.Close(), os.Remove(pack.Name())) }()
	if err := g.limits.receive(packOf(req, res), pack); err != nil {
		return err
	}
	return g.unpack(ctx, func() error {
		objects, err := openPack(ctx, pack)
		if err != nil {
			return err
		}
		work := checkout{ctx: ctx, objects: objects, limits: g.limits}
		return work.run(commit, dir)
	})
}
