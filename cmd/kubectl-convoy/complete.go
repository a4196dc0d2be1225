package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// completionTimeout is how long somebody who presses Tab waits.
const completionTimeout = 3 * time.Second

// kubectlScript is what kubectl runs to complete the arguments of this plugin.
//
//go:embed kubectl_complete-convoy
var kubectlScript string

// completions write the script of each shell.
var completions = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"zsh":        (*cobra.Command).GenZshCompletion,
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	"kubectl": func(_ *cobra.Command, w io.Writer) error {
		_, err := io.WriteString(w, kubectlScript)
		return err
	},
}

func newCompletion() *cobra.Command {
	shells := slices.Sorted(maps.Keys(completions))
	return &cobra.Command{
		Use:   "completion (" + strings.Join(shells, "|") + ")",
		Short: "Print a completion script",
		Long: `Print a completion script.

That for kubectl completes "kubectl convoy": put it into a file named kubectl_complete-convoy on your PATH and make it executable. kubectl
itself must be completed in your shell; see kubectl completion --help. The others complete "kubectl-convoy", run without kubectl.`,
		Example: `  kubectl convoy completion kubectl > ~/bin/kubectl_complete-convoy && chmod +x ~/bin/kubectl_complete-convoy
  source <(kubectl-convoy completion bash)`,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || completions[args[0]] == nil {
				return usageError(cmd, "%s needs one of %s", cmd.CommandPath(), strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return completions[args[0]](cmd.Root(), cmd.OutOrStdout())
		},
	}
}

// completeGlobalFlags completes the flags that every command has.
func (c *cli) completeGlobalFlags(root *cobra.Command) {
	mustComplete(root.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return c.namesOf(cmd.Context(), schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, false, typed)
	}))
	fromKubeconfig := func(names func() ([]string, error)) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			found, err := names()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return startingWith(typed, found), cobra.ShellCompDirectiveNoFileComp
		}
	}
	mustComplete(root.RegisterFlagCompletionFunc("context", fromKubeconfig(func() ([]string, error) {
		config, err := c.config.ToRawKubeConfigLoader().RawConfig()
		return slices.Sorted(maps.Keys(config.Contexts)), err
	})))
	mustComplete(root.RegisterFlagCompletionFunc("cluster", fromKubeconfig(func() ([]string, error) {
		config, err := c.config.ToRawKubeConfigLoader().RawConfig()
		return slices.Sorted(maps.Keys(config.Clusters)), err
	})))
	mustComplete(root.RegisterFlagCompletionFunc("user", fromKubeconfig(func() ([]string, error) {
		config, err := c.config.ToRawKubeConfigLoader().RawConfig()
		return slices.Sorted(maps.Keys(config.AuthInfos)), err
	})))
}

// completeRelease completes the name of a Release, the one argument of a command.
func (c *cli) completeRelease(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.namesOf(cmd.Context(), releaseResource, true, typed)
}

// completeRef completes a render that the Release named before knows, with what it was made from: those of its history, and where that
// cannot be read, those of its status.
func (c *cli) completeRef(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	k, err := c.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	var refs []string
	if _, history, err := k.history(ctx, args[0], pageSize); err == nil {
		for _, entry := range history.Items {
			refs = append(refs, cobra.CompletionWithDesc(inTheFormOf(typed, entry.RenderRef), joinNonEmpty(" ", marks(entry), entry.Summary)))
		}
	} else {
		_, release, err := k.release(ctx, args[0])
		if err != nil {
			cobra.CompErrorln(err.Error())
			return nil, cobra.ShellCompDirectiveError
		}
		for _, ref := range statusRefs(release.Status) {
			refs = append(refs, inTheFormOf(typed, ref))
		}
	}
	return startingWith(typed, refs), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// inTheFormOf is a ref without sha256: if the user has begun to type its digits.
func inTheFormOf(typed, ref string) string {
	if hexDigits.MatchString(typed) {
		return strings.TrimPrefix(ref, refScheme)
	}
	return ref
}

// namesOf lists names that begin with what was typed.
func (c *cli) namesOf(ctx context.Context, resource schema.GroupVersionResource, namespaced bool, typed string) ([]string, cobra.ShellCompDirective) {
	k, err := c.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	namespace := ""
	if namespaced {
		namespace = k.namespace
	}
	list, err := k.requests.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return startingWith(typed, names), cobra.ShellCompDirectiveNoFileComp
}

func startingWith(prefix string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// mustComplete stops a program whose flags are wired wrongly.
func mustComplete(err error) {
	if err != nil {
		panic(fmt.Sprintf("set up completion: %v", err))
	}
}
