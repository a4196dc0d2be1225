package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/internal/manifests"
)

const (
	fieldOwner      = client.FieldOwner("devcluster")
	installDeadline = time.Minute
)

// nodes are the names of the machines that kwok plays.
var nodes = []string{"node-1", "node-2"}

// client reads and writes as the administrator of the cluster.
func (c *cluster) client() (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.path("kubeconfig"))
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// install applies the manifests of convoy, waits until its kinds are served, and makes the nodes.
func (c *cluster) install(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, installDeadline)
	defer cancel()
	api, err := c.client()
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	objects, err := manifests.ForProcesses(manifests.Processes{
		APIServerPort: c.ports.Subresources, APIServerCA: ca,
		WebhookPort: c.ports.Webhooks, WebhookCA: ca,
	})
	if err != nil {
		return err
	}
	for _, name := range nodes {
		objects = append(objects, node(name))
	}
	for _, object := range objects {
		if err := apply(ctx, api, object); err != nil {
			return fmt.Errorf("install %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if err := awaitServed(ctx, api, object); err != nil {
			return fmt.Errorf("wait for %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	fmt.Printf("%-26sinstalled\n", "manifests and nodes")
	return nil
}

// awaitServed waits until the kind of a CRD is served. Of other objects there is nothing to wait for.
func awaitServed(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		err := api.Get(ctx, client.ObjectKeyFromObject(object), &crd)
		return established(crd), err
	})
}

func established(crd apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// apply applies an object by server-side apply, whoever changed it before.
func apply(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
}

// node is a machine that does not exist. Kwok gives it its status.
func node(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("Node")
	object.SetName(name)
	object.SetAnnotations(map[string]string{"kwok.x-k8s.io/node": "fake"})
	object.SetLabels(map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"})
	return object
}
