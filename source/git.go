package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// gitFetcher fetches Git repositories for all Releases.
type gitFetcher struct {
	*broker

	objects objectReader
	options Options
	limits  limits
	dialer  dialer
}

// repository is a request with everything that its answer depends on.
type repository struct {
	fetcher     *gitFetcher
	raw         string // the URL as the Release has it
	url         *url.URL
	ref         v1alpha1.GitRef
	credentials credentials
}

func newGitFetcher(o Options, objects objectReader, broker *broker, limits limits) *gitFetcher {
	return &gitFetcher{
		broker:  broker,
		objects: objects,
		options: o,
		limits:  limits,
		dialer:  dialer{limits: limits, tmp: broker.cache.path(tmpDir)},
	}
}

// fetch returns the files that a repository has at a reference.
func (g *gitFetcher) fetch(ctx context.Context, namespace string, src *v1alpha1.GitSource, maxAge time.Duration) (*Artifact, error) {
	u, err := parseGitURL(src.URL, g.options.AllowFileURLs)
	if err != nil {
		return nil, fmt.Errorf("fetch Git repository: %w", err)
	}
	repo := repository{fetcher: g, raw: src.URL, url: u, ref: src.Ref}
	repo.credentials, err = g.objects.gitCredentials(ctx, namespace, u, src.SecretRef)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", repo.raw, err)
	}
	artifact, err := g.artifact(ctx, repo, maxAge)
	if err != nil {
		return nil, fmt.Errorf("fetch %s at %s: %w", repo.raw, refString(repo.ref), err)
	}
	return artifact, nil
}

// key implements remote.
func (r repository) key() string {
	return fmt.Sprintf("git %q %q %s", r.raw, refString(r.ref), r.credentials.fingerprint)
}

// origin implements remote.
func (r repository) origin() string { return r.raw }

// resolve implements remote. That the server lists the reference is the proof that these credentials give access.
func (r repository) resolve(ctx context.Context) (resolved, error) {
	talk, err := r.fetcher.open(ctx, r)
	if err != nil {
		return nil, err
	}
	t, err := resolveRef(talk.adv, r.ref)
	if err != nil {
		_ = talk.Close()
		return nil, err
	}
	return commit{repository: r, talk: talk, target: t}, nil
}

// commit is a commit of a repository, in a conversation with its server.
type commit struct {
	repository
	talk   *listing
	target target
}

// revision implements resolved.
func (c commit) revision() string { return c.target.revision() }

// contentKey implements resolved. A commit that the server lists is shared by all who got it listed. Any other is shared by equal
// credentials alone, since nothing else proves that they may see it.
func (c commit) contentKey() string {
	scope := c.raw
	if !c.target.tip {
		scope += "\n" + c.credentials.fingerprint
	}
	return filepath.Join(scopeKey("git", scope), c.target.commit.String())
}

// download implements resolved.
func (c commit) download(ctx context.Context, dir *os.Root) error {
	return c.fetcher.download(ctx, c.repository, c.talk, c.target, dir)
}

// close implements resolved.
func (c commit) close() { _ = c.talk.Close() }

// scopeKey is the first element of a content key: equal for those who may share content.
func scopeKey(kind, scope string) string {
	sum := sha256.Sum256([]byte(kind + "\n" + scope))
	return hex.EncodeToString(sum[:])
}
