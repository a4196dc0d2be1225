package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const widget = "apiVersion: shop.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 1}\n"

// define installs the definition of Widgets, until the test ends.
func (w *team) define() *apiextensionsv1.CustomResourceDefinition {
	w.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.must(yaml.Unmarshal([]byte(widgets), crd))
	w.must(w.env.Client.Create(w.Context(), crd))
	w.Cleanup(func() { w.undefine(crd) })
	return crd
}

// undefine deletes the definition of Widgets and waits until it is gone.
func (w *team) undefine(crd *apiextensionsv1.CustomResourceDefinition) {
	w.Helper()
	ctx := context.Background()
	w.must(client.IgnoreNotFound(w.env.Client.Delete(ctx, crd)))
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := w.env.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	w.must(err)
}

// deleteWidget deletes the Widget, and waits until there is another one.
func (w *team) deleteWidget() {
	w.Helper()
	obj := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal([]byte(widget), obj))
	obj.SetNamespace(w.namespace)
	w.must(w.env.Client.Get(w.Context(), client.ObjectKeyFromObject(obj), obj))
	deleted := obj.GetUID()
	w.must(w.env.Client.Delete(w.Context(), obj))
	w.eventually("the Widget to be back", func() error {
		err := w.env.Client.Get(w.Context(), client.ObjectKeyFromObject(obj), obj)
		if err == nil && obj.GetUID() == deleted {
			err = errors.New("it is still there")
		}
		return err
	})
}

func TestTheWatchOfAKindEndsWithItsDefinitionAndComesBackWithIt(t *testing.T) {
	w := newTeam(t)
	var mu sync.Mutex
	watched := time.Now() // when a watch of all Widgets was last asked for
	proxy := startProxy(t, func(req *http.Request) verdict {
		if strings.HasSuffix(req.URL.Path, "/apis/shop.example.com/v1/widgets") {
			mu.Lock()
			defer mu.Unlock()
			watched = time.Now()
		}
		return verdict{}
	})
	p := startManager(t, proxy.Kubeconfig)
	crd := w.define()
	w.setSource(map[string]string{"widget.yaml": widget})
	w.create("app", fromSource, hourly)
	w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	w.deleteWidget() // so the kind is watched

	w.undefine(crd)
	w.awaitCondition("app", v1alpha1.ConditionApplied, "False DryRunFailed")
	w.eventually("the watch to end", func() error {
		mu.Lock()
		defer mu.Unlock()
		// A watch that fails is tried again within a second at first.
		if since := time.Since(watched); since < 5*time.Second {
			return fmt.Errorf("it was asked for %s ago", since)
		}
		return nil
	})

	w.define()
	w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	w.deleteWidget()
	p.wantNoErrors()
}
