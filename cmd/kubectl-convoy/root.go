package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// newRoot is kubectl convoy with all its commands.
func newRoot(c *cli) *cobra.Command {
	root := group(&cobra.Command{
		Use:         "kubectl-convoy",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl convoy"},
		Short:       "Freeze, roll back, look at and render Releases",
		Long: `Freeze, roll back, look at and render the Releases of convoy.

` + exitCodes + ownExitCodes,
		Example: `  # What runs here?
  kubectl convoy release list

  # Hold a Release on what runs now, whatever Git or the last deploy do
  kubectl convoy release pin podinfo --reason "INC-1234"

  # Follow the source again
  kubectl convoy release unpin podinfo

  # What would be applied? Without a cluster
  kubectl convoy render -f release.yaml --source-dir .`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError(cmd, "%w", err) })
	root.CompletionOptions.DisableDefaultCmd = true
	c.config.AddFlags(root.PersistentFlags())
	c.completeGlobalFlags(root)
	root.AddCommand(newRelease(c), newRender(c), newCompletion(), newVersion(c))
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Example = "  kubectl convoy help release pin"
	}
	return root
}

func newRelease(c *cli) *cobra.Command {
	release := group(&cobra.Command{
		Use:     "release",
		Aliases: []string{"rel", "releases"},
		Short:   "Work with Releases",
		Long: `Work with Releases: see what runs, since when and why, what was applied before and what the next apply would change; hold a Release on one
render, let it go, and ask for a sync.

` + exitCodes + ownExitCodes,
		Example: `  kubectl convoy release list --all-namespaces
  kubectl convoy release get podinfo
  kubectl convoy release history podinfo
  kubectl convoy release diff podinfo --render 3a5f0c9be1d2
  kubectl convoy release pin podinfo --reason "INC-1234" --wait`,
	})
	release.AddCommand(newList(c), newGet(c), newHistory(c), newDiff(c), newShow(c), newPin(c), newUnpin(c), newSync(c))
	return release
}

// group makes a command whose only work is done by its subcommands.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return usageError(cmd, "unknown command %q for %q; did you mean %s?", args[0], cmd.CommandPath(), strings.Join(near, " or "))
		}
		return usageError(cmd, "unknown command %q for %q", args[0], cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}
