package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/convoy-dev/convoy/source"
)

// options are the flags of the command.
type options struct {
	renderStoreURL          string
	concurrent              int
	defaultServiceAccount   string
	leaderElect             bool
	leaderElectionNamespace string
	metricsAddress          string
	probeAddress            string
	webhookPort             int
	webhookCertDir          string
	sources                 source.Flags
	zap                     zap.Options
}

func parseFlags(name string, args []string) (options, error) {
	o := options{sources: source.NewFlags()}
	flags := flag.NewFlagSet(filepath.Base(name), flag.ContinueOnError)
	config.RegisterFlags(flags)
	o.zap.BindFlags(flags)
	flags.StringVar(&o.renderStoreURL, "render-store-url", "",
		"The render store, as a gocloud blob URL: mem://, file://, s3://, gs:// or azblob://. Empty: no render store.")
	flags.IntVar(&o.concurrent, "concurrent", 4, "How many Releases are worked on at once.")
	flags.StringVar(&o.defaultServiceAccount, "default-service-account", "",
		"The ServiceAccount to impersonate for Releases that name none, in the namespace of each. Empty: convoy's own rights.")
	flags.BoolVar(&o.leaderElect, "leader-elect", true, "Let only one replica at a time work.")
	flags.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "",
		"The namespace of the lease. Empty: the namespace of the pod.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "Where Prometheus metrics are served; 0 serves none.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Where /healthz and /readyz are served; 0 serves none.")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "The port of the webhooks for releases/pin; 0 serves none.")
	flags.StringVar(&o.webhookCertDir, "webhook-cert-dir", "",
		"The folder with the certificate of the webhooks, tls.crt and tls.key, which may be renewed at any time. Empty: no webhooks.")
	o.sources.AddTo(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintln(flags.Output(), err)
		return o, err
	}
	return o, nil
}

func (o options) check(rest []string) error {
	wrong := o.sources.Check()
	switch {
	case wrong != nil:
		return wrong
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q: this command takes only flags", rest[0])
	case o.concurrent < 1:
		return errors.New("flag --concurrent: want a number of at least 1")
	case o.webhookPort < 0 || o.webhookPort > 65535:
		return errors.New("flag --webhook-port: want a port, or 0 for no webhooks")
	case o.leaderElect && o.leaderElectionNamespace == "" && !inPod():
		return errors.New("flag --leader-election-namespace: want a namespace, since this is no pod that has one; or set --leader-elect=false")
	}
	return nil
}

// inPod says whether the process has the namespace of a pod.
func inPod() bool {
	_, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return err == nil
}
