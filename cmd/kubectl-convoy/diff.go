package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	*cli
	output *output
	render renderFlag
}

func newDiff(c *cli) *cobra.Command {
	o := &diffOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what the next apply, a sync or a rollback would change",
		Long: `Show what an apply would change in the cluster, without changing anything.

Without --render it is what the next apply or sync would do: the render that the Release is pinned to, else what its source renders now. With
--render it is what a rollback to that render would do: a pin of it. What drifted is in the diff as well, since an apply puts it right.

For each object there is a line that says what would happen to it, with notes and a diff in YAML where there is one:

  create   it is not there
  update   it is there, and would be changed
  delete   it left the render, and would be deleted
  keep     it left the render, and would be left running; that is no difference
  refuse   the apply would be refused because of it, and nothing would change

It is a prediction: the server is not asked to try, so what it alone decides is not in it. Values of Secrets are masked; equal ones look equal.

` + diffExitCodes,
		Example: `  # What would the next sync change?
  kubectl convoy release diff podinfo

  # What would a rollback to this render change?
  kubectl convoy release diff podinfo --render 3a5f0c9be1d2`,
		Args:              oneName,
		ValidArgsFunction: c.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := o.run(cmd, args[0])
			if exit := new(exitError); err != nil && !errors.As(err, &exit) {
				return &exitError{codeTrouble, err}
			}
			return err
		},
	}
	o.render.addTo(cmd, c, "The render to compare with what is live: sha256:…, or at least the first 8 hex digits of one that the Release knows. "+
		"Default: the one that the next apply would apply.")
	o.output = newOutput(cmd)
	return cmd
}

func (o *diffOptions) run(cmd *cobra.Command, name string) error {
	if err := errors.Join(o.render.check(cmd), o.output.check(cmd)); err != nil {
		return err
	}
	k, err := o.connect()
	if err != nil {
		return err
	}
	done := o.busy("Comparing " + name + " with the cluster")
	defer done()
	ref, err := k.meant(cmd.Context(), name, o.render.ref)
	if err != nil {
		return err
	}
	parameters := map[string]string{}
	if ref != "" {
		parameters["render"] = ref
	}
	object, diff, err := observe[subresources.ReleaseDiff](cmd.Context(), k, diffSubresource, name, parameters)
	done()
	switch {
	case err != nil:
		return err
	case o.output.forPeople():
		err = writeDiff(o.Out, diff, painterFor(o.Out))
	default:
		err = o.print(o.output, object)
	}
	if err == nil && slices.ContainsFunc(diff.Changes, differs) {
		return errDiffers
	}
	return err
}

// differs says whether a change makes a difference.
func differs(change subresources.ReleaseChange) bool { return change.Action != subresources.ChangeKeep }
