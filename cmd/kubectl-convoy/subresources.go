package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// The subresources of a Release.
const (
	pinSubresource  = "pin"
	syncSubresource = "sync"
)

// fieldManager is whom the server takes this plugin for.
const fieldManager = "kubectl-convoy"

// views are the Releases as convoy-apiserver shows them.
func (k *cluster) views() dynamic.ResourceInterface {
	return k.requests.Resource(subresources.GroupVersion.WithResource("releases")).Namespace(k.namespace)
}

// on is a request on a subresource.
func (k *cluster) on(verb, subresource, name string) request {
	return request{verb: verb, subresource: subresource, namespace: k.namespace, name: name}
}

// pin reads the pin of a Release, as the server sent it and typed.
func (k *cluster) pin(ctx context.Context, name string) (*unstructured.Unstructured, *subresources.ReleasePin, error) {
	object, err := k.views().Get(ctx, name, metav1.GetOptions{}, pinSubresource)
	if err != nil {
		return nil, nil, k.explain(ctx, k.on("get", pinSubresource, name), err)
	}
	pin, err := typed[subresources.ReleasePin](object)
	return object, pin, err
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// testsOf are the operations that fail where the pin is another one than this.
func testsOf(pin *unstructured.Unstructured) []operation {
	tests := []operation{{"test", "/metadata/uid", pin.GetUID()}, {"test", "/spec", pin.Object["spec"]}}
	if status, ok := pin.Object["status"].(map[string]any); ok && pin.Object["spec"] != nil {
		tests = append(tests, operation{"test", "/status/pinnedBy", status["pinnedBy"]}, operation{"test", "/status/pinnedAt", status["pinnedAt"]})
	}
	return tests
}

// setPin pins a Release in place of the pin that was read before, or, without spec, takes that off. An empty renderRef stands for the last
// applied render.
//
// The server does it only if the pin still is what was read, so that of two people who pin at once the second is told of the first. Whatever
// else changes in the Release is no obstacle, as its status may many times a second.
func (k *cluster) setPin(ctx context.Context, before *unstructured.Unstructured, spec *subresources.ReleasePinSpec, dryRun []string,
) (*unstructured.Unstructured, error) {
	patch := testsOf(before)
	if spec != nil {
		patch = append(patch, operation{"add", "/spec", spec})
	} else {
		patch = append(patch, operation{"remove", "/spec", nil})
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager, DryRun: dryRun}
	after, err := k.views().Patch(ctx, before.GetName(), types.JSONPatchType, body, options, pinSubresource)
	if err != nil {
		return nil, k.refused(ctx, before, err)
	}
	return after, nil
}

// refused says why a pin was not changed: since somebody else changed it, or what the server says.
func (k *cluster) refused(ctx context.Context, before *unstructured.Unstructured, err error) error {
	name := before.GetName()
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) { // so a test may have failed
		object, pin, readErr := k.pin(ctx, name)
		if readErr == nil && !equality.Semantic.DeepEqual(testsOf(object), testsOf(before)) {
			return fmt.Errorf("the pin of Release %s in namespace %s has changed in the meantime: %s. Nothing was changed; look, and try again",
				name, k.namespace, pinned(pin))
		}
	}
	return k.explain(ctx, k.on("patch", pinSubresource, name), err)
}

// pinned says what a pin is.
func pinned(pin *subresources.ReleasePin) string {
	if pin.Spec == nil {
		return "it is not pinned"
	}
	text := fmt.Sprintf("%s pinned it on render %s", pin.Status.PinnedBy, short(pin.Spec.RenderRef))
	return joinNonEmpty(": ", text, pin.Spec.Reason)
}

// sync asks for a sync of a Release.
func (k *cluster) sync(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	body := &unstructured.Unstructured{}
	body.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleaseSync"))
	body.SetName(name)
	body.SetNamespace(k.namespace)
	answer, err := k.views().Create(ctx, body, metav1.CreateOptions{FieldManager: fieldManager}, syncSubresource)
	if err != nil {
		return nil, k.explain(ctx, k.on("create", syncSubresource, name), err)
	}
	return answer, nil
}
