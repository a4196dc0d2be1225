package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/convoy-dev/convoy/observer"
	"github.com/convoy-dev/convoy/source"
)

// options are the flags of the command.
type options struct {
	renderStoreURL        string
	bindAddress           string
	certificates          observer.Certificates
	clientName            string
	metricsAddress        string
	defaultServiceAccount string
	sources               source.Flags
	zap                   zap.Options
}

func parseFlags(name string, args []string) (options, error) {
	o := options{sources: source.NewFlags()}
	flags := flag.NewFlagSet(filepath.Base(name), flag.ContinueOnError)
	config.RegisterFlags(flags)
	o.zap.BindFlags(flags)
	flags.StringVar(&o.renderStoreURL, "render-store-url", "",
		"The render store, as a gocloud blob URL, the same as that of convoy-controller-manager. Empty: no render store.")
	flags.StringVar(&o.bindAddress, "bind-address", ":8443", "Where convoy-apiserver is answered, over HTTPS.")
	flags.StringVar(&o.certificates.CertFile, "tls-cert-file", "", "The certificate of the observer, in PEM, which may be renewed at any time.")
	flags.StringVar(&o.certificates.KeyFile, "tls-private-key-file", "", "The key of that certificate, in PEM.")
	flags.StringVar(&o.certificates.ClientCAFile, "client-ca-file", "", "The certificate of the authority that signs those of clients, in PEM.")
	flags.StringVar(&o.clientName, "client-name", "convoy-apiserver", "The common name of the one client certificate that gets in.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080",
		"Where Prometheus metrics, /healthz and /readyz are served, over HTTP; 0 serves none.")
	flags.StringVar(&o.defaultServiceAccount, "default-service-account", "", "The same as that of convoy-controller-manager.")
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
	case o.certificates.CertFile == "" || o.certificates.KeyFile == "":
		return errors.New("flags --tls-cert-file and --tls-private-key-file: want the certificate of the observer")
	case o.certificates.ClientCAFile == "":
		return errors.New("flag --client-ca-file: want the authority that signs the certificate of convoy-apiserver")
	case o.clientName == "":
		return errors.New("flag --client-name: want the common name of the certificate of convoy-apiserver")
	}
	return nil
}
