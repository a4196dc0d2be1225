package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"oras.land/oras-go/v2/content"
	orasremote "oras.land/oras-go/v2/registry/remote"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const schemeOCI = "oci"

// ociFetcher fetches OCI artifacts for all Releases.
type ociFetcher struct {
	downloader

	objects objectReader
}

// ociRepository is a request with everything that its answer depends on.
type ociRepository struct {
	fetcher     *ociFetcher
	raw         string // the URL as the Release has it
	name        string // <host>/<path>
	ref         v1alpha1.OCIRef
	credentials credentials
}

// fetch returns the files that an artifact has at a reference.
func (f *ociFetcher) fetch(ctx context.Context, namespace string, src *v1alpha1.OCISource, maxAge time.Duration) (*Artifact, error) {
	name, err := parseOCIURL(src.URL)
	if err != nil {
		return nil, fmt.Errorf("fetch OCI artifact: %w", err)
	}
	r := ociRepository{fetcher: f, raw: src.URL, name: name, ref: src.Ref}
	if r.credentials, err = f.objects.ociCredentials(ctx, namespace, name, src.SecretRef); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", r.raw, err)
	}
	artifact, err := f.broker.artifact(ctx, r, maxAge)
	if err != nil {
		return nil, fmt.Errorf("fetch %s at %s: %w", r.raw, ociRefString(r.ref), err)
	}
	return artifact, nil
}

// parseOCIURL is the repository that a URL names.
func parseOCIURL(raw string) (string, error) {
	u, err := parseURL(raw, "oci://registry.example.com/team/app", schemeOCI)
	if err != nil {
		return "", err
	}
	name := u.Host + "/" + strings.Trim(u.Path, "/")
	repo, err := orasremote.NewRepository(name)
	switch {
	case err != nil:
		return "", errors.New("the url names no repository of a registry: it must be like oci://registry.example.com/team/app, in lower case")
	case repo.Reference.Reference != "":
		return "", errors.New("the url must not have a tag or digest: put it into ref")
	}
	return name, nil
}

// ociRefString is a reference as messages show it.
func ociRefString(ref v1alpha1.OCIRef) string {
	switch {
	case ref.Digest != "":
		return "digest " + ref.Digest
	case ref.Semver != "":
		return "semver " + ref.Semver
	default:
		return "tag " + cmp.Or(ref.Tag, "latest")
	}
}

// key implements remote.
func (r ociRepository) key() string {
	return fmt.Sprintf("oci %q %q %s", r.raw, ociRefString(r.ref), r.credentials.fingerprint)
}

// origin implements remote.
func (r ociRepository) origin() string { return r.raw }

// resolve implements remote. That the registry resolves a tag is the proof that these credentials give access.
func (r ociRepository) resolve(ctx context.Context) (resolved, error) {
	talk, err := newRegistry(r.name, r.credentials)
	if err != nil {
		return nil, err
	}
	found := ociArtifact{ociRepository: r, talk: talk, digest: r.ref.Digest}
	if found.digest != "" {
		return found, nil
	}
	ctx, cancel := r.fetcher.options.resolving(ctx)
	defer cancel()
	if found.tag, found.digest, err = talk.resolve(ctx, r.ref); err != nil {
		talk.close()
		return nil, explain(ctx, err, r.credentials)
	}
	return found, nil
}

// ociArtifact is what a repository has under a digest.
type ociArtifact struct {
	ociRepository
	talk   *ociRegistry
	tag    string // empty if the source names a digest
	digest string // "sha256:<hex>" of the manifest
}

// revision implements resolved.
func (a ociArtifact) revision() string {
	if a.tag == "" {
		return a.digest
	}
	return a.tag + "@" + a.digest
}

// contentKey implements resolved. What a tag names is shared by all who got it named. What the source names by digest is shared by equal
// credentials alone, since nothing else proves that they may see it.
func (a ociArtifact) contentKey() string {
	scope := a.raw
	if a.tag == "" {
		scope += "\n" + a.credentials.fingerprint
	}
	return filepath.Join(scopeKey("oci", scope), strings.TrimPrefix(a.digest, sha256Prefix))
}

// download implements resolved.
func (a ociArtifact) download(ctx context.Context, dir *os.Root) error {
	ctx, cancel := a.fetcher.options.downloading(ctx)
	defer cancel()
	sent, err := a.receive(ctx)
	if err != nil {
		return fmt.Errorf("download %s: %w", a.digest, explain(ctx, err, a.credentials))
	}
	defer sent.close()
	return a.fetcher.unpack(ctx, sent, dir)
}

// receive stores the layer with the files in a temporary file.
func (a ociArtifact) receive(ctx context.Context) (*received, error) {
	layer, err := a.talk.layer(ctx, a.digest)
	if err != nil {
		return nil, err
	}
	if layer.Size > a.fetcher.limits.pack() {
		return nil, a.fetcher.limits.errArtifact()
	}
	body, err := a.talk.repository.Blobs().Fetch(ctx, layer)
	if err != nil {
		return nil, a.talk.explain(err, "layer "+layer.Digest.String())
	}
	defer func() { _ = body.Close() }()
	verified := content.NewVerifyReader(body, layer)
	sent, err := a.fetcher.receive(verified)
	if err != nil {
		return nil, err
	}
	if err := verified.Verify(); err != nil {
		sent.close()
		return nil, fmt.Errorf("layer %s: %w", layer.Digest, err)
	}
	return sent, nil
}

// close implements resolved.
func (a ociArtifact) close() { a.talk.close() }
