// Command convoy-apiserver serves subresources.convoy.dev behind kube-apiserver: the pin of a Release, and requests to sync one.
package main

import (
	"os"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json

	"github.com/convoy-dev/convoy/apiserver"
)

func main() { os.Exit(cli.Run(command())) }

func command() *cobra.Command {
	options := apiserver.NewOptions()
	logging := logsapi.NewLoggingConfiguration()
	cmd := &cobra.Command{
		Use:   "convoy-apiserver",
		Short: "Serve the pin of a Release, and requests to sync one",
		Long: "convoy-apiserver serves subresources.convoy.dev behind kube-apiserver, which an APIService tells about it.\n" +
			"Outside of a cluster it needs --kubeconfig.",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			if err := logsapi.ValidateAndApply(logging, nil); err != nil {
				return err
			}
			return options.Run(genericapiserver.SetupSignalContext())
		},
	}
	options.AddFlags(cmd.Flags())
	logsapi.AddFlags(logging, cmd.Flags())
	return cmd
}
