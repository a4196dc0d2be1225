package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"k8s.io/utils/lru"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const (
	// maxIndex is how many bytes the index of a chart repository may have. Parsed, it takes many times as much.
	maxIndex = 32 << 20

	// maxIndexes is how many charts the entries of are kept of, so that an index that did not change is not parsed again.
	maxIndexes = 200
)

// helmFetcher fetches charts for all Releases. A chart is an archive of the repository or an artifact of the registry.
type helmFetcher struct {
	archives *archiveFetcher
	oci      *ociFetcher
	indexes  *lru.Cache // helmChart.key → index: what the server sent last
}

// index is what a repository has of a chart.
type index struct {
	etag    string
	entries []chartVersion
}

// chartVersion is an entry of an index: https://helm.sh/docs/topics/chart_repository/#the-index-file
type chartVersion struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"` // the SHA-256 of the archive, in hex; some repositories have none
}

func newHelmFetcher(archives *archiveFetcher, oci *ociFetcher) *helmFetcher {
	return &helmFetcher{archives: archives, oci: oci, indexes: lru.New(maxIndexes)}
}

// fetch returns the files of a chart, in a folder of its name.
func (f *helmFetcher) fetch(ctx context.Context, namespace string, src *v1alpha1.HelmSource, maxAge time.Duration) (*Artifact, error) {
	if strings.HasPrefix(src.URL, schemeOCI+"://") {
		artifact := &v1alpha1.OCISource{URL: helmOrigin(src), Ref: helmRef(src.Version), SecretRef: src.SecretRef}
		return f.oci.fetch(ctx, namespace, artifact, maxAge)
	}
	u, err := parseHostURL(src.URL, "https://charts.example.com", schemeHTTPS, schemeHTTP)
	if err != nil {
		return nil, fmt.Errorf("fetch chart %s: %w", src.Chart, err)
	}
	c := helmChart{fetcher: f, src: src, url: u}
	if c.credentials, err = f.archives.objects.httpCredentials(ctx, namespace, u, src.SecretRef); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", c.origin(), err)
	}
	artifact, err := f.archives.broker.artifact(ctx, c, maxAge)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", c.origin(), err)
	}
	return artifact, nil
}

// helmOrigin is the Artifact.Origin of a chart.
func helmOrigin(src *v1alpha1.HelmSource) string {
	return strings.TrimSuffix(src.URL, "/") + "/" + src.Chart
}

// helmRef is the reference of a version in a registry, where tags have _ for +.
func helmRef(version string) v1alpha1.OCIRef {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil {
		return v1alpha1.OCIRef{Tag: strings.ReplaceAll(version, "+", "_")}
	}
	return v1alpha1.OCIRef{Semver: cmp.Or(version, "*")}
}

// helmChart is a request with everything that its answer depends on.
type helmChart struct {
	fetcher     *helmFetcher
	src         *v1alpha1.HelmSource
	url         *url.URL // of the repository
	credentials credentials
}

// key implements remote.
func (c helmChart) key() string {
	return fmt.Sprintf("helm %q %q %q %s", c.src.URL, c.src.Chart, c.src.Version, c.credentials.fingerprint)
}

// origin implements remote.
func (c helmChart) origin() string { return helmOrigin(c.src) }

// resolve implements remote.
func (c helmChart) resolve(ctx context.Context) (resolved, error) {
	entries, err := c.entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("index of the repository: %w", err)
	}
	version, err := c.choose(entries)
	if err != nil {
		return nil, err
	}
	found, err := c.archive(version)
	if err != nil {
		return nil, fmt.Errorf("version %s: %w", version.Version, err)
	}
	content, err := found.resolve(ctx)
	if err != nil {
		return nil, fmt.Errorf("version %s: %w", version.Version, err)
	}
	return helmContent{content, version.Version}, nil
}

// entries are the versions that the repository has of the chart. What did not change is not downloaded again.
func (c helmChart) entries(ctx context.Context) ([]chartVersion, error) {
	var last index
	if known, ok := c.fetcher.indexes.Get(c.key()); ok {
		last = known.(index)
	}
	downloader := c.fetcher.archives.downloader
	sent, err := downloader.get(ctx, download{url: c.url.JoinPath("index.yaml"), credentials: c.credentials, what: "index.yaml", etag: last.etag})
	switch {
	case err != nil:
		return nil, err
	case sent == nil:
		return last.entries, nil
	}
	defer sent.close()
	next := index{etag: sent.etag}
	err = downloader.broker.unpack(ctx, func() error {
		next.entries, err = entriesOf(sent, c.src.Chart)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.fetcher.indexes.Add(c.key(), next)
	return next.entries, nil
}

// entriesOf reads the entries of a chart in an index.
func entriesOf(sent *received, chart string) ([]chartVersion, error) {
	if sent.size > maxIndex {
		return nil, fmt.Errorf("it has %d bytes, and %d MiB are possible", sent.size, maxIndex>>20)
	}
	text := make([]byte, sent.size)
	if _, err := sent.file.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var all struct {
		Entries map[string][]chartVersion `json:"entries"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, errors.New("it is not the index of a chart repository")
	}
	return all.Entries[chart], nil
}

// choose picks the highest version in the range.
func (c helmChart) choose(entries []chartVersion) (chartVersion, error) {
	if len(entries) == 0 {
		return chartVersion{}, fmt.Errorf("the repository has no chart %s", c.src.Chart)
	}
	byVersion, versions := map[string]chartVersion{}, []string{}
	for _, entry := range entries {
		byVersion[entry.Version] = entry
		versions = append(versions, entry.Version)
	}
	if exact, ok := byVersion[c.src.Version]; ok {
		return exact, nil
	}
	version, err := highestVersion(versions, cmp.Or(c.src.Version, "*"))
	return byVersion[version], err
}

// archive is the archive of a version. One on another host gets no credentials.
func (c helmChart) archive(version chartVersion) (archive, error) {
	if len(version.URLs) == 0 {
		return archive{}, errors.New("the index has no url of it")
	}
	u, err := c.url.JoinPath("/").Parse(version.URLs[0])
	switch {
	case err != nil:
		return archive{}, errors.New("the index has a malformed url of it")
	case u.Scheme != schemeHTTPS && u.Scheme != schemeHTTP:
		return archive{}, fmt.Errorf("the index has a url of it that starts with %.20q: want https:// or http://", u.Scheme)
	case u.Scheme == schemeHTTP && c.url.Scheme == schemeHTTPS:
		return archive{}, errors.New("the index is at https://, and has an http:// url of it")
	}
	found := archive{fetcher: c.fetcher.archives, raw: u.Redacted(), url: u}
	if u.Host == c.url.Host && u.Scheme == c.url.Scheme {
		found.credentials = c.credentials
	}
	if digest := sha256Prefix + strings.TrimPrefix(version.Digest, sha256Prefix); version.Digest != "" {
		if !sha256Digest.MatchString(digest) {
			return archive{}, errors.New("the index has a malformed digest of it")
		}
		found.digest = digest
	}
	return found, nil
}

// helmContent is the archive of a version of a chart.
type helmContent struct {
	resolved
	version string
}

// revision implements resolved.
func (c helmContent) revision() string { return c.version + "@" + c.resolved.revision() }

// download implements resolved.
func (c helmContent) download(ctx context.Context, dir *os.Root) error {
	if err := c.resolved.download(ctx, dir); err != nil {
		return fmt.Errorf("version %s: %w", c.version, err)
	}
	return nil
}
