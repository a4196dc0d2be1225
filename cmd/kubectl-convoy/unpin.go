package main

import (
	"context"

	"github.com/spf13/cobra"
)

// unpinOptions are the flags of unpin.
type unpinOptions struct {
	*cli
	waitOptions
}

func newUnpin(c *cli) *cobra.Command {
	o := &unpinOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "unpin NAME",
		Short: "Let a Release follow its source again",
		Long: `Take the pin off a Release, so that it follows its source again. It counts as a sync request: also with syncPolicy.mode Manual, what the
source renders now is applied.

` + exitCodes,
		Example: `  kubectl convoy release unpin podinfo
  kubectl convoy release unpin podinfo --wait --timeout 10m`,
		Args:              oneName,
		ValidArgsFunction: c.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), args[0])
		},
	}
	o.addTo(cmd, "until what the source renders is applied in full")
	return cmd
}

func (o *unpinOptions) run(ctx context.Context, name string) error {
	k, err := o.connect()
	if err != nil {
		return err
	}
	before, pin, err := k.pin(ctx, name)
	if err != nil {
		return err
	}
	if pin.Spec == nil {
		o.say("Release %s is not pinned.", name)
	} else {
		if _, err := k.setPin(ctx, before, nil, nil); err != nil {
			return err
		}
		o.say("Release %s is unpinned, and follows its source again. Before, %s", name, pinned(pin))
	}
	if !o.wait {
		return nil
	}
	return o.await(ctx, k, name, sourceApplied, o.waitOptions,
		"The Release is not pinned, and convoy goes on. Look at it: "+getCommand(name, o.target(k)))
}
