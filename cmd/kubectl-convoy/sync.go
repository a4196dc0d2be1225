package main

import (
	"context"

	"github.com/spf13/cobra"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// syncOptions are the flags of sync.
type syncOptions struct {
	*cli
	waitOptions
	output *output
}

func newSync(c *cli) *cobra.Command {
	o := &syncOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "sync NAME",
		Short: "Let convoy look at the source now, and apply what it renders",
		Long: `Ask convoy to look at the source of a Release now, rather than at the next interval, and to apply what it renders. With
syncPolicy.mode Manual, a new render is applied only after this. A pinned Release stays on its pin, and a suspended one stays as it is.

` + exitCodes,
		Example: `  kubectl convoy release sync podinfo
  kubectl convoy release sync podinfo --wait`,
		Args:              oneName,
		ValidArgsFunction: c.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			if err := o.output.check(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), args[0])
		},
	}
	o.addTo(cmd, "until the request is acted on, and what it is for is applied in full")
	o.output = newOutput(cmd)
	return cmd
}

func (o *syncOptions) run(ctx context.Context, name string) error {
	k, err := o.connect()
	if err != nil {
		return err
	}
	object, err := k.sync(ctx, name)
	if err != nil {
		return err
	}
	answer, err := typed[subresources.ReleaseSync](object)
	if err != nil {
		return err
	}
	if !o.output.forPeople() {
		if err := o.print(o.output, object); err != nil {
			return err
		}
	} else {
		o.say("Release %s is asked to sync.", name)
	}
	if !o.wait {
		return nil
	}
	return o.await(ctx, k, name, syncHandled(answer.Status.RequestedAt), o.waitOptions,
		"The request stays, and convoy goes on. Look at it: "+getCommand(name, o.target(k)))
}
