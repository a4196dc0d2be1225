package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	godigest "github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	orasremote "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const (
	// maxTags is how many tags of a repository are looked at.
	maxTags = 100_000

	// maxManifest is how many bytes a manifest, or a page of tags, may have.
	maxManifest = 4 << 20
)

// ociRegistry is a repository of a registry, over connections of its own.
type ociRegistry struct {
	repository  *orasremote.Repository
	connections *connections
	credentials credentials
}

// newRegistry prepares a conversation; it connects with the first request. A registry may send to another host for a token, which gets
// the credentials: that is how the protocol works. A redirect gets none.
func newRegistry(name string, c credentials) (*ociRegistry, error) {
	repository, err := orasremote.NewRepository(name)
	if err != nil {
		return nil, err
	}
	host := repository.Reference.Host()
	talk := &ociRegistry{
		repository: repository, credentials: c, connections: newConnections(&url.URL{Scheme: schemeHTTPS, Host: host}, c),
	}
	repository.MaxMetadataBytes = maxManifest
	repository.Client = &auth.Client{
		Client: &http.Client{Transport: notBusy{talk.connections}, CheckRedirect: followSafely},
		Credential: auth.StaticCredential(host, auth.Credential{
			Username: c.username, Password: c.password, RefreshToken: c.refreshToken, AccessToken: c.bearerToken,
		}),
		Cache: auth.NewCache(),
	}
	return talk, nil
}

// notBusy makes an error of the answer of a server that is busy.
type notBusy struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t notBusy) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(req)
	if err == nil && (res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable) {
		_ = res.Body.Close()
		return nil, credentials{}.refusal(res, "")
	}
	return res, err
}

// close ends the connections.
func (r *ociRegistry) close() { r.connections.close() }

// resolve finds the tag and the digest that a reference names now.
func (r *ociRegistry) resolve(ctx context.Context, ref v1alpha1.OCIRef) (tag, digest string, err error) {
	tag = cmp.Or(ref.Tag, "latest")
	if ref.Semver != "" {
		tags, err := r.tags(ctx)
		if err != nil {
			return "", "", err
		}
		if tag, err = highestVersion(tags, ref.Semver); err != nil {
			return "", "", err
		}
	}
	found, err := r.repository.Resolve(ctx, tag)
	if err != nil {
		return "", "", r.explain(err, fmt.Sprintf("tag %q", tag))
	}
	if !sha256Digest.MatchString(found.Digest.String()) {
		return "", "", fmt.Errorf("tag %q has the digest %.100s, and convoy checks sha256 alone", tag, found.Digest)
	}
	return tag, found.Digest.String(), nil
}

// tags lists the tags, page by page.
func (r *ociRegistry) tags(ctx context.Context) ([]string, error) {
	var all []string
	err := r.repository.Tags(ctx, "", func(page []string) error {
		if all = append(all, page...); len(all) > maxTags {
			return fmt.Errorf("it has more than %d tags: set ref.tag or ref.digest", maxTags)
		}
		return nil
	})
	return all, r.explain(err, "repository")
}

// layer finds the layer with the files in the manifest that has this digest.
func (r *ociRegistry) layer(ctx context.Context, sum string) (ocispec.Descriptor, error) {
	found, body, err := r.repository.Manifests().FetchReference(ctx, sum)
	if err != nil {
		return ocispec.Descriptor{}, r.explain(err, "digest")
	}
	defer func() { _ = body.Close() }()
	if found.Size > maxManifest {
		return ocispec.Descriptor{}, rejectf("its manifest has %d bytes, and %d are possible", found.Size, maxManifest)
	}
	found.Digest = godigest.Digest(sum) // not what the server says it is
	raw, err := content.ReadAll(body, found)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("manifest: %w", err)
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return ocispec.Descriptor{}, rejectf("its manifest is malformed: %v", err)
	}
	if found.MediaType == ocispec.MediaTypeImageIndex || strings.HasSuffix(found.MediaType, ".manifest.list.v2+json") {
		return ocispec.Descriptor{}, rejectf("it is an index of several manifests: name one of them by its digest")
	}
	return layerOf(manifest)
}

// layerOf picks the layer with the files: the one that Flux marks, or else the first tar.gz archive.
func layerOf(manifest ocispec.Manifest) (ocispec.Descriptor, error) {
	isFlux := func(l ocispec.Descriptor) bool { return l.MediaType == "application/vnd.cncf.flux.content.v1.tar+gzip" }
	isArchive := func(l ocispec.Descriptor) bool {
		return strings.HasSuffix(l.MediaType, "tar+gzip") || strings.HasSuffix(l.MediaType, "tar.gzip")
	}
	i := slices.IndexFunc(manifest.Layers, isFlux)
	if i < 0 {
		i = slices.IndexFunc(manifest.Layers, isArchive)
	}
	if i < 0 {
		return ocispec.Descriptor{}, rejectf("none of its %d layers is a tar.gz archive", len(manifest.Layers))
	}
	layer := manifest.Layers[i]
	if layer.Digest.Validate() != nil || layer.Size < 0 {
		return ocispec.Descriptor{}, rejectf("its manifest names a layer without a digest or size")
	}
	return layer, nil
}

// explain says what an error of the registry means here, without what it wrote.
func (r *ociRegistry) explain(err error, what string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errdef.ErrNotFound) {
		return r.credentials.refused(http.StatusNotFound, what)
	}
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return r.credentials.refused(http.StatusUnauthorized, what)
	}
	response, ok := errors.AsType[*errcode.ErrorResponse](err)
	if !ok {
		return err
	}
	err = r.credentials.refused(response.StatusCode, what)
	if hostOf(response.URL) != r.connections.host {
		err = fmt.Errorf("%w (this is the answer of %s)", err, response.URL.Host)
	}
	return err
}
