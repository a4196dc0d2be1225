package apiserver

import (
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
func (o *Options) AddFlags(flags *pflag.FlagSet) { o.Recommended.AddFlags(flags) }

// Run serves until the context ends. What is wrong with the options is an error of its own.
func (o *Options) Run(ctx context.Context) error {
	if errs := o.Recommended.Validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
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
	group := genericapiserver.NewDefaultAPIGroupInfo(groupVersion.Group, scheme, parameterCodec, codecs)
	group.VersionedResourcesStorageMap[groupVersion.Version] = resources(&releases{client: writer})
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
		return nil, fmt.Errorf("set up the server: %w", err)
	}
	if config.ClientConfig == nil {
		return nil, errors.New("set up the server: there is no cluster: run in one, or set --kubeconfig, --authentication-kubeconfig and --authorization-kubeconfig")
	}
	return config, nil
}

// newClient reads and writes Releases live, without a limit of its own: kube-apiserver has one.
func newClient(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return client.New(config, client.Options{Scheme: scheme})
}
