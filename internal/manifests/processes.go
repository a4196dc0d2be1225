package manifests

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// APIServerName is the name that kube-apiserver expects in the certificate of convoy-apiserver.
const APIServerName = "convoy-apiserver.convoy-system.svc"

// ObserverClientName is the name that convoy-observer expects in the certificate that convoy-apiserver shows it.
const ObserverClientName = "convoy-apiserver"

// The ServiceAccounts of convoy, as the API server calls them.
const (
	ControllerManagerUser = "system:serviceaccount:convoy-system:convoy-controller-manager"
	APIServerUser         = "system:serviceaccount:convoy-system:convoy-apiserver"
	ObserverUser          = "system:serviceaccount:convoy-system:convoy-observer"
)

// Processes is where convoy listens on this machine.
type Processes struct {
	APIServerPort int
	APIServerCA   []byte // PEM
	WebhookPort   int
	WebhookCA     []byte // PEM
}

// podsOnly are the groups whose objects make pods and their certificates.
var podsOnly = []string{"apps", "policy", "cert-manager.io"}

// ForProcesses returns the objects of config/default as they are where convoy runs as processes of this machine: without what makes pods and
// certificates, and with the addresses of the processes. kube-apiserver must not run with --enable-aggregator-routing.
func ForProcesses(p Processes) ([]*unstructured.Unstructured, error) {
	all, err := Build("default")
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, object := range all {
		keep, err := p.localize(object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if keep {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// localize changes an object for processes, and says whether they need it at all.
func (p Processes) localize(object *unstructured.Unstructured) (bool, error) {
	switch kind := object.GetKind(); {
	case slices.Contains(podsOnly, object.GroupVersionKind().Group):
		return false, nil
	case kind == "Service":
		return object.GetName() == "convoy-apiserver", p.localizeService(object)
	case kind == "APIService":
		return true, p.localizeAPIService(object)
	case strings.HasSuffix(kind, "WebhookConfiguration"):
		return true, p.localizeWebhooks(object)
	default:
		return true, nil
	}
}

// localizeService makes a service a name for this machine.
func (p Processes) localizeService(object *unstructured.Unstructured) error {
	return unstructured.SetNestedMap(object.Object, map[string]any{
		"type": "ExternalName", "externalName": "localhost",
		"ports": []any{map[string]any{"name": "https", "port": int64(p.APIServerPort)}},
	}, "spec")
}

func (p Processes) localizeAPIService(object *unstructured.Unstructured) error {
	if err := unstructured.SetNestedField(object.Object, int64(p.APIServerPort), "spec", "service", "port"); err != nil {
		return err
	}
	return unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString(p.APIServerCA), "spec", "caBundle")
}

// localizeWebhooks names webhooks by URL, which every API server on this machine can follow.
func (p Processes) localizeWebhooks(object *unstructured.Unstructured) error {
	webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, item := range webhooks {
		webhook, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("webhooks: %T is no webhook", item)
		}
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		webhook["clientConfig"] = map[string]any{
			"url":      fmt.Sprintf("https://127.0.0.1:%d%s", p.WebhookPort, path),
			"caBundle": base64.StdEncoding.EncodeToString(p.WebhookCA),
		}
	}
	return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
}
