package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/source"
)

// renderInputs are the flags that say where a render has its inputs from.
type renderInputs struct {
	sourceDir    string
	fromCluster  bool
	capabilities render.Capabilities
}

// render does what the controller does with a Release, up to the render. Errors are those that its conditions would show.
func (o *renderInputs) render(ctx context.Context, c *cli, release *v1alpha1.Release, files given) (made madeRender, err error) {
	objects, reader, err := o.readers(c, files)
	if err != nil {
		return made, err
	}
	tree, err := o.open(ctx, release, objects)
	if err != nil {
		return made, fmt.Errorf("the source cannot be fetched: %w", o.withNextMove(release, err))
	}
	defer func() { err = errors.Join(err, tree.close()) }()
	in, err := reader.Read(ctx, release, tree.files)
	if err != nil {
		return made, fmt.Errorf("what the spec names cannot be read: %w", o.withNextMove(release, err))
	}
	made.from = tree.name
	made.Render, err = within(ctx, func() (render.Render, error) { return render.FromSpec(ctx, tree.files, release.Spec, in) })
	if err != nil {
		return made, fmt.Errorf("%s does not render: %w", tree.name, err)
	}
	return made, nil
}

// readers read what the spec names: first from the files, and then from the cluster if that is to be asked.
func (o *renderInputs) readers(c *cli, files given) (client.Reader, *inputs.Reader, error) {
	if !o.fromCluster {
		objects := givenFirst{nowhere{}, files}
		capabilities := o.capabilities
		if capabilities.APIVersions != nil {
			capabilities.APIVersions = slices.Concat(common.DefaultVersionSet, capabilities.APIVersions)
		}
		return objects, inputs.Given(capabilities, objects), nil
	}
	config, err := c.clientConfig()
	if err != nil {
		return nil, nil, err
	}
	config.Timeout = cmp.Or(config.Timeout, requestTimeout)
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("set up a client: %w", err)
	}
	objects := givenFirst{cluster, files}
	reader, err := inputs.New(config, objects)
	if err != nil {
		return nil, nil, fmt.Errorf("set up a client: %w", err)
	}
	return objects, reader, nil
}

// withNextMove adds to an error of an object that is not there that nobody has looked for it in the cluster.
func (o *renderInputs) withNextMove(release *v1alpha1.Release, err error) error {
	if o.fromCluster || !errors.Is(err, source.ErrNoObject) {
		return err
	}
	orSourceDir := ""
	if release.Spec.Source.From != nil && o.sourceDir == "" {
		orSourceDir = ", or give the files of the source with --source-dir"
	}
	return fmt.Errorf("%w\n  The files do not have it, and the cluster is asked only with --from-cluster: add it to the files, or that flag%s",
		err, orSourceDir)
}

// sourceTree is the files of a source.
type sourceTree struct {
	files fs.FS
	name  string // of the source and its revision, or of the folder
	close func() error
}

// open gets the files of the source: from a folder, or from where the source has them.
func (o *renderInputs) open(ctx context.Context, release *v1alpha1.Release, objects client.Reader) (*sourceTree, error) {
	if o.sourceDir != "" {
		root, err := os.OpenRoot(o.sourceDir)
		if err != nil {
			return nil, fmt.Errorf("open --source-dir: %w", err)
		}
		return &sourceTree{workTree{root.FS()}, o.sourceDir, root.Close}, nil
	}
	dir, err := os.MkdirTemp("", "kubectl-convoy-")
	if err != nil {
		return nil, err
	}
	artifact, err := fetch(ctx, release, source.Options{Reader: objects, CacheDir: dir, AllowFileURLs: true})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &sourceTree{artifact.FS, artifact.Summary(), func() error {
		artifact.Close()
		return os.RemoveAll(dir)
	}}, nil
}

func fetch(ctx context.Context, release *v1alpha1.Release, options source.Options) (*source.Artifact, error) {
	fetcher, err := source.NewFetcher(options)
	if err != nil {
		return nil, err
	}
	return fetcher.Fetch(ctx, source.Request{Namespace: release.Namespace, Source: release.Spec.Source})
}
