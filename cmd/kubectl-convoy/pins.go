package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// The subresources of a Release.
const (
	pinSubresource  = "pin"
	syncSubresource = "sync"
)

// fieldManager is whom the server takes this plugin for.
const fieldManager = "kubectl-convoy"

// conflictRetries are how often a change of a pin is tried again that met a change of something else in the Release. Its status may be
// written many times a second.
var conflictRetries = wait.Backoff{Steps: 50, Duration: 5 * time.Millisecond, Factor: 1, Jitter: 1}

// views are the Releases as convoy-apiserver shows them.
func (k *cluster) views() dynamic.ResourceInterface {
	return k.requests.Resource(subresources.GroupVersion.WithResource("releases")).Namespace(k.namespace)
}

// on is a request on a subresource.
func (k *cluster) on(verb, subresource, name string) request {
	return request{verb: verb, subresource: subresource, namespace: k.namespace, name: name}
}

// pin reads the pin of a Release.
func (k *cluster) pin(ctx context.Context, name string) (*subresources.ReleasePin, error) {
	object, err := k.views().Get(ctx, name, metav1.GetOptions{}, pinSubresource)
	if err != nil {
		return nil, k.explain(ctx, k.on("get", pinSubresource, name), err)
	}
	return typed[subresources.ReleasePin](object)
}

// setPin pins a Release, in place of the pin that was read before. An empty renderRef stands for the last applied render.
func (k *cluster) setPin(ctx context.Context, before *subresources.ReleasePin, spec subresources.ReleasePinSpec, dryRun []string,
) (*unstructured.Unstructured, error) {
	var after *unstructured.Unstructured
	err := k.changePin(ctx, before, func(resourceVersion string) error {
		body, err := json.Marshal(mergePatch(resourceVersion, spec))
		if err != nil {
			return err
		}
		options := metav1.PatchOptions{FieldManager: fieldManager, DryRun: dryRun}
		after, err = k.views().Patch(ctx, before.Name, types.MergePatchType, body, options, pinSubresource)
		return k.explained(ctx, k.on("patch", pinSubresource, before.Name), err)
	})
	return after, err
}

// mergePatch says everything of a pin, also what it does not have, so that nothing of an earlier one stays.
func mergePatch(resourceVersion string, spec subresources.ReleasePinSpec) any {
	orNull := func(value any, given bool) any {
		if !given {
			return nil
		}
		return value
	}
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"spec": map[string]any{
			"renderRef": spec.RenderRef,
			"reason":    orNull(spec.Reason, spec.Reason != ""),
			"expiresAt": orNull(spec.ExpiresAt, spec.ExpiresAt != nil),
		},
	}
}

// removePin takes the pin off that was read before.
func (k *cluster) removePin(ctx context.Context, before *subresources.ReleasePin) error {
	return k.changePin(ctx, before, func(resourceVersion string) error {
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &resourceVersion}}
		err := k.views().Delete(ctx, before.Name, options, pinSubresource)
		return k.explained(ctx, k.on("delete", pinSubresource, before.Name), err)
	})
}

// changePin changes a pin on the condition that it is still what was read before, so that of two people who pin at once the second is
// told of the first. Whatever else changes in the Release is no obstacle.
func (k *cluster) changePin(ctx context.Context, before *subresources.ReleasePin, change func(resourceVersion string) error) error {
	resourceVersion := before.ResourceVersion
	var other error
	err := retry.OnError(conflictRetries, func(err error) bool { return other == nil && apierrors.IsConflict(err) }, func() error {
		err := change(resourceVersion)
		if !apierrors.IsConflict(err) {
			return err
		}
		now, readErr := k.pin(ctx, before.Name)
		if readErr != nil {
			return readErr
		}
		if !samePin(before, now) {
			other = fmt.Errorf("the pin of Release %s in namespace %s has changed in the meantime: %s. Nothing was changed; look, and try again",
				before.Name, k.namespace, pinned(now))
			return other
		}
		resourceVersion = now.ResourceVersion
		return err
	})
	return err
}

func samePin(a, b *subresources.ReleasePin) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Status.PinnedAt, b.Status.PinnedAt) &&
		a.Status.PinnedBy == b.Status.PinnedBy && a.UID == b.UID
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
	return answer, k.explained(ctx, k.on("create", syncSubresource, name), err)
}
