package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// requestTimeout is how long one question about readiness may take.
const requestTimeout = 5 * time.Second

// runs is the readiness of a daemon that nothing can be asked: see checkRunning.
func runs(context.Context) error { return nil }

// listens is the readiness of a daemon that takes connections at an address.
func listens(address string) func(context.Context) error {
	dialer := &net.Dialer{Timeout: requestTimeout}
	return func(ctx context.Context) error {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

// answers is the readiness of a daemon that answers 200 at a URL.
func answers(url string) func(context.Context) error {
	// What is asked is whether somebody answers on loopback, and nothing is told, so certificates do not matter.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	asker := &http.Client{Transport: transport, Timeout: requestTimeout}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := asker.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

// serviceAccountsReady says that the controllers of kube-controller-manager work, as seen from one that every namespace needs.
func (c *cluster) serviceAccountsReady(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	return api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
}

// nodesReady says that pods can be scheduled: kwok reports the nodes ready, and the controllers have taken the taint away.
func (c *cluster) nodesReady(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	for _, name := range nodes {
		var node corev1.Node
		if err := api.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return err
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s has the taint %s", name, node.Spec.Taints[0].ToString())
		}
		if !ready(node) {
			return fmt.Errorf("node %s is not ready", name)
		}
	}
	return nil
}

// subresourcesReady says that the API server passes requests on to convoy-apiserver.
func (c *cluster) subresourcesReady(context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.path("kubeconfig"))
	if err != nil {
		return err
	}
	config.Timeout = requestTimeout
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	_, err = api.ServerResourcesForGroupVersion("subresources.convoy.dev/v1alpha1")
	return err
}

func ready(node corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
