package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// buildVersion is what this binary was built from.
type buildVersion struct {
	Version   string `json:"version"` // of the module, as Go knows it: (devel) for a build of a checkout
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// currentVersion reads what Go wrote into the binary.
func currentVersion() buildVersion {
	v := buildVersion{Version: "(devel)", GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	return v
}

func newVersion(c *cli) *cobra.Command {
	formats := map[string]func(any) ([]byte, error){
		"":     func(any) ([]byte, error) { return []byte(currentVersion().String()), nil },
		"json": func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") },
		"yaml": func(v any) ([]byte, error) { return yaml.Marshal(v) },
	}
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin",
		Long:  "Print the version of this plugin. The cluster is not asked.",
		Example: `  kubectl convoy version
  kubectl convoy version -o json`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			encode, ok := formats[format]
			if !ok {
				return usageError(cmd, "flag --output: there is no format %q; use json or yaml", format)
			}
			text, err := encode(currentVersion())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Out, "%s\n", text)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "How to print: json or yaml. Default: for people.")
	mustComplete(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// String is the version for people.
func (v buildVersion) String() string {
	return fmt.Sprintf("kubectl-convoy %s (%s, %s)", v.Version, v.GoVersion, v.Platform)
}
