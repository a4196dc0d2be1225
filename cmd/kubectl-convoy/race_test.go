package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// connected is the cluster as a user reaches it.
func connected(t *testing.T, user testenv.User, namespace string) *cluster {
	t.Helper()
	config := genericclioptions.NewConfigFlags(true)
	config.KubeConfig, config.Namespace = &user.Kubeconfig, &namespace
	k, err := (&cli{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), config: config}).connect()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func ofTwoWhoPinAtOnceTheSecondIsTold(t *testing.T, w *world) {
	namespace := w.release(t)
	k := connected(t, w.alice, namespace)
	read := func() *unstructured.Unstructured {
		t.Helper()
		seen, _, err := k.pin(t.Context(), "podinfo")
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	refused := func(what string, seen *unstructured.Unstructured, spec *subresources.ReleasePinSpec, want string) {
		t.Helper()
		if _, err := k.setPin(t.Context(), seen, spec, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	unpinned := read()
	expect(t, as(t.Context(), w.bob, namespace, "release pin podinfo --reason INC-1"), codeDone, []string{"a freeze"}, nil)
	changed := "has changed in the meantime: bob pinned it on render 3a5f0c9be1d2: INC-1"
	refused("a pin where alice saw none", unpinned, &subresources.ReleasePinSpec{RenderRef: refB}, changed)
	refused("an unpin where alice saw no pin", unpinned, nil, changed)
	if pin := w.now(t, namespace).Pin; pin == nil || pin.PinnedBy != "bob" || pin.RenderRef != refA {
		t.Errorf("the pin is %+v, want that of bob", pin)
	}
	pinnedByBob := read()
	expect(t, as(t.Context(), w.bob, namespace, "release unpin podinfo"), codeDone, []string{"is unpinned"}, nil)
	refused("an unpin of what is unpinned by now", pinnedByBob, nil, "in the meantime: it is not pinned")
	refused("a pin in place of what is unpinned by now", pinnedByBob, &subresources.ReleasePinSpec{}, "in the meantime: it is not pinned")
	if pin := w.now(t, namespace).Pin; pin != nil {
		t.Errorf("the pin is %+v, want none", pin)
	}
}

// aPinGetsThroughStatusWrites pins while the status is written 50 times a second.
func aPinGetsThroughStatusWrites(t *testing.T, w *world) {
	namespace := w.release(t)
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writes := 0
	writer.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "podinfo"}}
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"lastHandledSyncAt":"`+time.Now().Format(time.RFC3339Nano)+`"}}`))
			if err := w.Client.Status().Patch(ctx, r, patch); err == nil {
				writes++
			}
		}
	})
	for range 4 {
		expect(t, as(t.Context(), w.alice, namespace, "release pin podinfo -o name"), codeDone, []string{"podinfo"}, nil)
		expect(t, as(t.Context(), w.alice, namespace, "release unpin podinfo"), codeDone, []string{"is unpinned"}, nil)
	}
	cancel()
	writer.Wait()
	t.Logf("the status was written %d times", writes)
	if writes < 10 {
		t.Errorf("the status was written only %d times meanwhile", writes)
	}
}
