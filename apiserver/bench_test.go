package apiserver_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apiserver/apiservertest"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// BenchmarkPin measures a pin through kube-apiserver: authentication, authorization, both webhooks, and the write. Beside it, a patch of the
// Release itself is the floor of the same run.
func BenchmarkPin(b *testing.B) {
	env := apiservertest.StartForBenchmark(b)
	release := benchRelease(b, env)
	requests, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		b.Fatal(err)
	}
	path := func(group string, suffix string) string {
		return fmt.Sprintf("/apis/%s/namespaces/%s/releases/%s%s", group, release.Namespace, release.Name, suffix)
	}
	pins, releases := path(subresources.GroupVersion.String(), "/pin"), path(v1alpha1.GroupVersion.String(), "")
	var n int
	patch := func(path, format string) func() error {
		return func() error {
			n++
			body := fmt.Appendf(nil, format, n)
			return requests.RESTClient().Patch("application/merge-patch+json").AbsPath(path).Body(body).Do(b.Context()).Error()
		}
	}
	read := func() error { return requests.RESTClient().Get().AbsPath(pins).Do(b.Context()).Error() }
	b.Run("pin", func(b *testing.B) { measure(b, patch(pins, `{"spec":{"renderRef":"","reason":"%d"}}`)) })
	b.Run("read", func(b *testing.B) { measure(b, read) })
	b.Run("floor", func(b *testing.B) { measure(b, patch(releases, `{"metadata":{"labels":{"n":"%d"}}}`)) })
}

// measure sends 500 requests, one after the other, and reports their median and 95th percentile in milliseconds.
func measure(b *testing.B, request func() error) {
	var took []time.Duration
	for b.Loop() {
		for range 500 {
			started := time.Now()
			if err := request(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(started))
		}
	}
	apiservertest.ReportPercentiles(b, took)
}

// benchRelease is a Release that has applied a render.
func benchRelease(b *testing.B, env *testenv.Environment) *v1alpha1.Release {
	b.Helper()
	release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace(b), Name: "app"}}
	release.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}
	if err := env.Client.Create(b.Context(), release); err != nil {
		b.Fatal(err)
	}
	base := release.DeepCopy()
	release.Status.LastSuccessful = &v1alpha1.RenderRecord{RenderRef: refA, Time: metav1.Now()}
	if err := env.Client.Status().Patch(b.Context(), release, client.MergeFrom(base)); err != nil {
		b.Fatal(err)
	}
	return release
}
