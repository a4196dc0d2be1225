package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// listOptions are the flags of list.
type listOptions struct {
	*cli
	output        *output
	allNamespaces bool
}

func newList(c *cli) *cobra.Command {
	o := &listOptions{cli: c}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List Releases: what runs, and what is pinned",
		Long: `List the Releases of a namespace, or of all.

READY and APPLIED are the conditions of the Release. RENDER is the render that was last applied in full, and REVISION what it was made
from. PIN is freeze where the Release is held on that render, and rollback where it is held on another one. -o wide adds who pinned it,
why and until when, and the message of Ready.`,
		Example: `  kubectl convoy release list
  kubectl convoy release list -A -o wide`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.output = newOutput(cmd, wideFormat)
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "List the Releases of all namespaces.")
	return cmd
}

func (o *listOptions) run(cmd *cobra.Command) error {
	if err := o.output.check(cmd); err != nil {
		return err
	}
	k, err := o.connect()
	if err != nil {
		return err
	}
	list, where, err := o.read(cmd.Context(), k)
	if err != nil {
		return err
	}
	if !o.output.forPeople() {
		return o.print(o.output, list)
	}
	if len(list.Items) == 0 {
		o.note("There are no Releases in %s.", where)
		return nil
	}
	releases := make([]*v1alpha1.Release, len(list.Items))
	for i := range list.Items {
		if releases[i], err = typed[v1alpha1.Release](&list.Items[i]); err != nil {
			return err
		}
	}
	return writeTable(o.Out, releases, tableOptions{
		now: o.now(), namespaces: o.allNamespaces, wide: o.output.format == wideFormat, painter: painterFor(o.Out),
	})
}

// read lists the Releases, and says where.
func (o *listOptions) read(ctx context.Context, k *cluster) (*unstructured.UnstructuredList, string, error) {
	if o.allNamespaces {
		list, err := k.list(ctx, "")
		return list, "this cluster", err
	}
	list, err := k.list(ctx, k.namespace)
	return list, fmt.Sprintf("namespace %s", k.namespace), err
}
