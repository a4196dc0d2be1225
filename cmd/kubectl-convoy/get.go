package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// getOptions are the flags of get.
type getOptions struct {
	*cli
	output *output
}

func newGet(c *cli) *cobra.Command {
	o := &getOptions{cli: c}
	cmd := &cobra.Command{
		Use:     "get NAME",
		Aliases: []string{"describe"},
		Short:   "Tell what a Release runs, how it is doing, and who pinned it",
		Long: `Tell what a Release runs and since when, whether it is healthy, who pinned it, when, why and until when, what convoy waits for now, and
what failed last, with the next move.

-o wide prints the line of "list"; -o json and -o yaml print the Release.`,
		Example: `  kubectl convoy release get podinfo
  kubectl convoy release get podinfo -o yaml`,
		Args:              oneName,
		ValidArgsFunction: c.completeRelease,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.output = newOutput(cmd, wideFormat)
	return cmd
}

func (o *getOptions) run(cmd *cobra.Command, name string) error {
	if err := o.output.check(cmd); err != nil {
		return err
	}
	k, err := o.connect()
	if err != nil {
		return err
	}
	object, release, err := k.release(cmd.Context(), name)
	if err != nil {
		return err
	}
	switch {
	case !o.output.forPeople():
		return o.print(o.output, object)
	case o.output.format == wideFormat:
		return writeTable(o.Out, []*v1alpha1.Release{release}, tableOptions{now: o.now(), wide: true, painter: painterFor(o.Out)})
	}
	_, err = io.WriteString(o.Out, describe(release, o.now(), o.target(k), painterFor(o.Out)))
	return err
}

// release reads a Release, as the server sent it and typed.
func (k *cluster) release(ctx context.Context, name string) (*unstructured.Unstructured, *v1alpha1.Release, error) {
	object, err := k.get(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	release, err := typed[v1alpha1.Release](object)
	return object, release, err
}
