package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convoyopenapi "github.com/convoy-dev/convoy/apiserver/openapi"
)

// Options are what the server is started with.
type Options struct {
	// Recommended are the options of an aggregated API server, without etcd: how it serves, whom it asks who a caller is and what the
	// caller may do, and its admission.
	Recommended *genericoptions.RecommendedOptions

	// Observer is who answers what this server passes on.
	Observer ObserverOptions
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	recommended := genericoptions.NewRecommendedOptions("", nil)
	recommended.Etcd = nil
	// Fairness needs rights on its configuration; a limit of requests in flight is enough for a server that stores nothing.
	recommended.Features.EnablePriorityAndFairness = false
	return &Options{Recommended: recommended}
}

// AddFlags adds the flags of the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Recommended.AddFlags(flags)
	o.Observer.addFlags(flags)
	// A certificate that the server makes for itself is none that an APIService could name an authority for.
	flags.Lookup("cert-dir").Hidden = true
	flags.Lookup("kubeconfig").Usage = "The kubeconfig file of the cluster, where the server does not run in it. " +
		"It also stands in for --authentication-kubeconfig and --authorization-kubeconfig."
}

// complete sets what follows from other options.
func (o *Options) complete() {
	kubeconfig := o.Recommended.CoreAPI.CoreAPIKubeconfigPath
	authentication, authorization := o.Recommended.Authentication, o.Recommended.Authorization
	authentication.RemoteKubeConfigFile = cmp.Or(authentication.RemoteKubeConfigFile, kubeconfig)
	authorization.RemoteKubeConfigFile = cmp.Or(authorization.RemoteKubeConfigFile, kubeconfig)
}

// check says what is wrong with the options.
func (o *Options) check() error {
	errs := append(o.Recommended.Validate(), o.Observer.check())
	if pair := o.Recommended.SecureServing.ServerCert.CertKey; pair.CertFile == "" || pair.KeyFile == "" {
		errs = append(errs, errors.New("flags --tls-cert-file and --tls-private-key-file: want the certificate of the server, "+
			"which the caBundle of its APIService verifies"))
	}
	return utilerrors.NewAggregate(errs)
}

// Run serves until the context ends. It fails if an option is wrong, or the cluster cannot be reached.
func (o *Options) Run(ctx context.Context) error {
	o.complete()
	if err := o.check(); err != nil {
		return err
	}
	server, err := o.newServer()
	if err != nil {
		return err
	}
	return server.PrepareRun().RunWithContext(ctx)
}

// newServer makes the server, with everything that it serves.
func (o *Options) newServer() (*genericapiserver.GenericAPIServer, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	server, err := config.Complete().New("convoy-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("set up the server: %w", err)
	}
	writer, err := newClient(config.ClientConfig)
	if err != nil {
		return nil, fmt.Errorf("reach the Releases: %w", err)
	}
	observer, err := newObserver(o.Observer)
	if err != nil {
		return nil, err
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(groupVersion.Group, scheme, parameterCodec, codecs)
	group.VersionedResourcesStorageMap[groupVersion.Version] = resources(&releases{client: writer}, observer)
	if err := server.InstallAPIGroup(&group); err != nil {
		return nil, fmt.Errorf("serve %s: %w", groupVersion, err)
	}
	return server, nil
}

// config is the configuration of the generic server.
func (o *Options) config() (*genericapiserver.RecommendedConfig, error) {
	config := genericapiserver.NewRecommendedConfig(codecs)
	config.EffectiveVersion = compatibility.NewEffectiveVersionFromString(version.DefaultKubeBinaryVersion, "", "")
	namer := openapi.NewDefinitionNamer(served)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(convoyopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "convoy"
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(convoyopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "convoy"
	if err := o.Recommended.ApplyTo(config); err != nil {
		return nil, fmt.Errorf("set up the server: %w; outside of a cluster it needs --kubeconfig", err)
	}
	return config, nil
}

// newClient reads and writes Releases live, without a limit of its own: kube-apiserver has one.
func newClient(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return client.New(config, client.Options{Scheme: scheme})
}
