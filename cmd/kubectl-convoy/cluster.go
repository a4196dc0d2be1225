package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// The deadlines of one request where --request-timeout sets none.
const (
	requestTimeout = 30 * time.Second

	// observeTimeout is that of what convoy-observer answers, which may have to fetch a source and to render it first. It is a little
	// more than kube-apiserver waits, so that the server is the one that says what took so long.
	observeTimeout = 70 * time.Second
)

// releaseResource is the custom resource, served by kube-apiserver.
var releaseResource = v1alpha1.GroupVersion.WithResource("releases")

// cluster is the cluster that the flags and the kubeconfig name. Objects are kept as the server sent them, so that what is printed as
// JSON or YAML is all there, whatever the version of the server.
type cluster struct {
	requests  dynamic.Interface // each has a deadline
	watches   dynamic.Interface // theirs is that of the context
	observed  rest.Interface    // what convoy-observer answers
	reviews   authorizationv1.SelfSubjectAccessReviewInterface
	namespace string
}

// connect reads the kubeconfig and the flags. It sends nothing.
func (c *cli) connect() (*cluster, error) {
	config, err := c.clientConfig()
	if err != nil {
		return nil, err
	}
	namespace, err := c.namespace()
	if err != nil {
		return nil, err
	}
	k := &cluster{namespace: namespace}
	if err := k.setUp(config); err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	return k, nil
}

// clientConfig is how the cluster is reached. Its timeout is that of the flags, or none.
func (c *cli) clientConfig() (*rest.Config, error) {
	config, err := c.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // a command sends few requests
	config.UserAgent = "kubectl-convoy/" + currentVersion().Version
	config.WarningHandler = rest.NewWarningWriter(newProgress(c.ErrOut), rest.WarningWriterOptions{
		Deduplicate: true, Color: printers.AllowsColorOutput(c.ErrOut),
	})
	return config, nil
}

// namespace is that of the flags, or else of the kubeconfig.
func (c *cli) namespace() (string, error) {
	namespace, _, err := c.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace: %w", err)
	}
	return namespace, nil
}

// setUp makes the clients.
func (k *cluster) setUp(config *rest.Config) (err error) {
	within := func(timeout time.Duration) *rest.Config {
		limited := rest.CopyConfig(config)
		limited.Timeout = cmp.Or(config.Timeout, timeout)
		return limited
	}
	endless := rest.CopyConfig(config)
	endless.Timeout = 0
	if k.requests, err = dynamic.NewForConfig(within(requestTimeout)); err != nil {
		return err
	}
	if k.watches, err = dynamic.NewForConfig(endless); err != nil {
		return err
	}
	if k.observed, err = rest.UnversionedRESTClientFor(dynamic.ConfigFor(within(observeTimeout))); err != nil {
		return err
	}
	access, err := authorizationv1.NewForConfig(within(requestTimeout))
	if err != nil {
		return err
	}
	k.reviews = access.SelfSubjectAccessReviews()
	return nil
}

// list reads the Releases of a namespace; an empty one stands for all.
func (k *cluster) list(ctx context.Context, namespace string) (*unstructured.UnstructuredList, error) {
	list, err := k.requests.Resource(releaseResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, k.explain(ctx, request{verb: "list", namespace: namespace}, err)
	}
	return list, nil
}

// get reads a Release.
func (k *cluster) get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	object, err := k.requests.Resource(releaseResource).Namespace(k.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, k.explain(ctx, request{verb: "get", namespace: k.namespace, name: name}, err)
	}
	return object, nil
}

// typed reads what an object says into a type.
func typed[T any](object *unstructured.Unstructured) (*T, error) {
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return into, nil
}

// target are the flags that lead another command to the same place.
func (c *cli) target(k *cluster) string {
	return joinNonEmpty(" ", "-n "+k.namespace, prefixed("--context ", *c.config.Context))
}
