package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// installConvoy installs what config/ has of convoy, but for what runs as pods there: here it runs as processes on loopback.
func (c *cluster) installConvoy(ctx context.Context, api client.Client) error {
	objects := []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}},
		// An alias of loopback; the port is the one of the APIService.
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": apiServerAccount, "namespace": namespace},
			"spec": map[string]any{"type": "ExternalName", "externalName": "localhost", "ports": []any{map[string]any{"port": int64(c.ports.Subresources)}}},
		}},
	}
	for _, dir := range []string{"rbac", "webhook", "apiserver"} {
		built, err := c.kustomize(filepath.Join(c.root, "config", dir))
		if err != nil {
			return err
		}
		objects = append(objects, built...)
	}
	ca, err := os.ReadFile(c.path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.onLoopback(object, base64.StdEncoding.EncodeToString(ca)); err != nil {
			return fmt.Errorf("adapt %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if runsAsPods(object) {
			continue
		}
		if err := apply(ctx, api, object); err != nil {
			return fmt.Errorf("install %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// kustomize builds a folder of config/.
func (c *cluster) kustomize(dir string) ([]*unstructured.Unstructured, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		encoded, err := (&unstructured.Unstructured{Object: content}).MarshalJSON()
		if err != nil {
			return nil, err
		}
		if err := object.UnmarshalJSON(encoded); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// runsAsPods says that an object is about pods, or leads to them.
func runsAsPods(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "Deployment", "PodDisruptionBudget", "ServiceAccount":
		return true
	case "Service":
		serviceType, _, err := unstructured.NestedString(object.Object, "spec", "type")
		return err != nil || serviceType != "ExternalName"
	}
	return false
}

// onLoopback makes the API servers call the processes on loopback, and trust their certificates.
func (c *cluster) onLoopback(object *unstructured.Unstructured, caBundle string) error {
	switch object.GetKind() {
	case "APIService":
		if err := unstructured.SetNestedField(object.Object, caBundle, "spec", "caBundle"); err != nil {
			return err
		}
		return unstructured.SetNestedField(object.Object, int64(c.ports.Subresources), "spec", "service", "port")
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, webhook := range webhooks {
			webhook, ok := webhook.(map[string]any)
			if !ok {
				return fmt.Errorf("webhooks: %T is no webhook", webhook)
			}
			path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
			if err != nil {
				return err
			}
			webhook["clientConfig"] = map[string]any{"url": "https://" + address(c.ports.Webhooks) + path, "caBundle": caBundle}
		}
		return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
	}
	return nil
}
