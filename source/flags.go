package source

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Flags are what a command that fetches sources is told about it.
type Flags struct {
	cacheDir        string
	cacheSize       resource.QuantityValue
	maxArtifactSize resource.QuantityValue
	allowFileURLs   bool
}

// NewFlags returns the defaults.
func NewFlags() Flags {
	return Flags{
		cacheDir:        filepath.Join(os.TempDir(), "convoy-sources"),
		cacheSize:       resource.QuantityValue{Quantity: *resource.NewQuantity(DefaultCacheSize, resource.BinarySI)},
		maxArtifactSize: resource.QuantityValue{Quantity: *resource.NewQuantity(DefaultMaxArtifactSize, resource.BinarySI)},
	}
}

// AddTo adds the flags to those of a command.
func (f *Flags) AddTo(flags *flag.FlagSet) {
	flags.StringVar(&f.cacheDir, "source-cache-dir", f.cacheDir,
		"The folder of the cache of fetched sources, which belongs to this process alone. It may be lost at any time.")
	flags.Var(&f.cacheSize, "source-cache-size", "How large that cache may get.")
	flags.Var(&f.maxArtifactSize, "max-artifact-size", "How large the files of one source may be.")
	flags.BoolVar(&f.allowFileURLs, "allow-file-urls", false,
		"Allow Git repositories at file:// URLs, which lie on the machine of this process. For development.")
}

// Check says which flag is wrong.
func (f *Flags) Check() error {
	switch {
	case f.maxArtifactSize.Sign() <= 0:
		return errors.New("flag --max-artifact-size: want a size above 0, such as 256Mi")
	case f.cacheSize.Cmp(f.maxArtifactSize.Quantity) < 0:
		return errors.New("flag --source-cache-size: want at least --max-artifact-size, or no source fits in")
	}
	return nil
}

// NewFetcher returns the fetcher that the flags ask for. The reader reads ConfigMaps, Secrets and the objects of Flux.
func (f *Flags) NewFetcher(reader client.Reader) (*Fetcher, error) {
	fetcher, err := NewFetcher(Options{
		Reader:          reader,
		CacheDir:        f.cacheDir,
		CacheSize:       f.cacheSize.Value(),
		MaxArtifactSize: f.maxArtifactSize.Value(),
		AllowFileURLs:   f.allowFileURLs,
	})
	if err != nil {
		return nil, fmt.Errorf("flag --source-cache-dir: %w", err)
	}
	return fetcher, nil
}
