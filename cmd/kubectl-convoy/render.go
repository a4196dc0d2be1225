package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/redact"
	"github.com/convoy-dev/convoy/render"
)

const (
	// refFormat prints the renderRef and nothing else.
	refFormat = "ref"

	// renderTimeout is how long a render may take, with the fetch of the source.
	renderTimeout = 10 * time.Minute
)

// renderOptions are the flags of render.
type renderOptions struct {
	*cli
	output      *output
	files       []string
	showSecrets bool
	renderInputs
}

func newRender(c *cli) *cobra.Command {
	o := &renderOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "render -f FILE [NAME]",
		Short: "Render a Release from its files, as the controller would",
		Long: `Render a Release from its files, as the controller would, and print the objects and the renderRef. The same inputs give the same
renderRef as in the cluster.

The files hold the Release, and the ConfigMaps and Secrets that it names; other objects in them are left alone. If they hold several Releases,
NAME chooses. The source is fetched, unless --source-dir has its files.

The cluster is not asked, so this works in CI. With --from-cluster it is asked, with your rights, for the ConfigMaps and Secrets that the files
lack, and for what it serves, which templates of charts may see. Without it they see what --kube-version and --api-versions say, or else Helm's
defaults.

Values of Secrets are masked, unless --show-secrets is given. -o json prints a List, -o name the names of the objects, -o ref the renderRef.`,
		Example: `  # What would be applied after this change?
  kubectl convoy render -f release.yaml --source-dir .

  # Has the cluster applied what this commit renders?
  kubectl convoy render -f release.yaml --from-cluster -o ref`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              o.run,
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files, "filename", "f", nil, "A file of manifests in YAML or JSON, - for the standard input. May be given more than once.")
	flags.StringVar(&o.sourceDir, "source-dir", "", "The folder that has the files of the source, as its root. Default: the source is fetched.")
	flags.BoolVar(&o.fromCluster, "from-cluster", false, "Ask the cluster for what the files lack, and for what it serves.")
	flags.StringVar(&o.capabilities.KubeVersion, "kube-version", "", "The version of Kubernetes that templates of charts see. Default: Helm's.")
	flags.StringSliceVar(&o.capabilities.APIVersions, "api-versions", nil,
		"API versions that templates of charts see besides those that Helm knows, such as monitoring.coreos.com/v1.")
	flags.BoolVar(&o.showSecrets, "show-secrets", false, "Print values of Secrets.")
	o.output = newOutput(cmd, refFormat)
	mustComplete(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	mustComplete(cmd.MarkFlagDirname("source-dir"))
	return cmd
}

// check says what is wrong with the command line.
func (o *renderOptions) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return usageError(cmd, "%s takes one name, not %d: %q", cmd.CommandPath(), len(args), args)
	case len(o.files) == 0:
		return usageError(cmd, "%s needs the file of a Release: give it with -f", cmd.CommandPath())
	case o.sourceDir == "" && cmd.Flags().Changed("source-dir"):
		return usageError(cmd, "flag --source-dir: want a folder, such as . for the current one")
	case o.fromCluster && (cmd.Flags().Changed("kube-version") || cmd.Flags().Changed("api-versions")):
		return usageError(cmd, "flag --from-cluster: the cluster says what it serves: leave out --kube-version and --api-versions")
	}
	return o.output.check(cmd)
}

func (o *renderOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.check(cmd, args); err != nil {
		return err
	}
	ctx, restore := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	context.AfterFunc(ctx, restore) // a second Ctrl-C ends the process
	ctx, cancel := context.WithTimeoutCause(ctx, renderTimeout, fmt.Errorf("it did not end within %s", renderTimeout))
	defer cancel()
	files, err := o.read(ctx, o.files)
	if err != nil {
		return err
	}
	release, err := files.release(cmp.Or(append(args, "")...))
	if err != nil {
		return err
	}
	done := o.busy("Rendering " + release.Name)
	defer done()
	made, err := o.render(ctx, o.cli, release, files)
	done()
	if err != nil {
		return fmt.Errorf("render Release %s in namespace %s: %w", release.Name, release.Namespace, err)
	}
	return o.print(release, made)
}

// print prints a render, with values of Secrets only where they are asked for.
func (o *renderOptions) print(release *v1alpha1.Release, made madeRender) error {
	if o.output.format == refFormat {
		o.say("%s", made.Ref())
		return nil
	}
	o.output.format = cmp.Or(o.output.format, yamlFormat)
	objects, err := made.Objects()
	if err != nil {
		return err
	}
	items := make([]unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		if !o.showSecrets {
			redact.Secrets(object, nil)
		}
		items = append(items, *object)
	}
	list, caution := listOf(items), ""
	if hasSecrets(list) && !o.showSecrets {
		caution = "Values of Secrets are masked: do not apply this. --show-secrets shows them."
	}
	return o.printObjects(o.output, list, []string{
		fmt.Sprintf("render %s of Release %s in namespace %s", made.Ref(), release.Name, release.Namespace),
		"made from " + made.from,
	}, caution)
}

// madeRender is a render, and the files that it was made from, for people.
type madeRender struct {
	render.Render
	from string
}

// within does what may not look at its context, and leaves it alone once that ends.
func within[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil && errors.Is(r.err, ctx.Err()) {
			r.err = context.Cause(ctx)
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
