package main

import "github.com/spf13/cobra"

// renderFlag is the flag --render of a command that shows something of a render.
type renderFlag struct {
	typed string
	ref   refArgument // what was typed, once it is checked; empty without the flag
}

func (f *renderFlag) addTo(cmd *cobra.Command, c *cli, usage string) {
	cmd.Flags().StringVar(&f.typed, "render", "", usage)
	mustComplete(cmd.RegisterFlagCompletionFunc("render", c.completeRef))
}

// check reads what was typed.
func (f *renderFlag) check(cmd *cobra.Command) (err error) {
	if !cmd.Flags().Changed("render") {
		return nil
	}
	if f.ref, err = parseRefArgument(f.typed); err != nil {
		return usageError(cmd, "flag --render: %w", err)
	}
	return nil
}
