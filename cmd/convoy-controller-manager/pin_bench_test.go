package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apiserver/apiservertest"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/renderstore"
)

// BenchmarkPinToFirstChange measures from the moment that somebody sends a pin until the first object has changed in the cluster, through
// kube-apiserver, convoy-apiserver, both webhooks, the watch, the dry run and the render store. Each pin goes to the other of two renders.
func BenchmarkPinToFirstChange(b *testing.B) {
	env := apiservertest.StartForBenchmark(b)
	serveForBenchmark(b, env)
	scheme := testenv.Scheme()
	if err := subresources.AddToScheme(scheme); err != nil {
		b.Fatal(err)
	}
	pins, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		b.Fatal(err)
	}
	namespace := env.Namespace(b)
	refs := deployTwo(b, env, namespace)
	changes := watchConfigMap(b, env, namespace)

	const pinsEach = 50
	var took []time.Duration
	for b.Loop() {
		for n := range pinsEach {
			pin := &subresources.ReleasePin{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}, Spec: &subresources.ReleasePinSpec{RenderRef: refs[n%2]},
			}
			started := time.Now()
			if err := pins.SubResource("pin").Update(b.Context(), pin.DeepCopy(), client.WithSubResourceBody(pin)); err != nil {
				b.Fatal(err)
			}
			select {
			case <-changes:
			case <-time.After(patience):
				b.Fatal("no object changed after a pin")
			}
			took = append(took, time.Since(started))
		}
	}
	apiservertest.ReportPercentiles(b, took)
}

// serveForBenchmark runs the manager until the benchmark ends.
func serveForBenchmark(b *testing.B, env *testenv.Environment) {
	b.Helper()
	opts, err := parseFlags("manager", []string{
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--webhook-port=0", "--source-cache-dir=" + b.TempDir(),
	})
	if err != nil {
		b.Fatal(err)
	}
	store, err := renderstore.Open(b.Context(), "file://"+b.TempDir()+"?no_tmp_dir=true")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, env.Config, opts, store, controllers.NewMetrics(prometheus.NewRegistry())) }()
	b.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, store.Close()); err != nil {
			b.Error(err)
		}
	})
}

// deployTwo applies two renders of one Release, each with its ConfigMap of another value, and returns their refs.
func deployTwo(b *testing.B, env *testenv.Environment, namespace string) []string {
	b.Helper()
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "source"}}
	release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
	release.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: source.Name}
	source.Data = map[string]string{"a.yaml": configMap("a", "one", 0)}
	if err := errors.Join(env.Client.Create(b.Context(), source), env.Client.Create(b.Context(), release)); err != nil {
		b.Fatal(err)
	}
	var refs []string
	await := func() {
		err := wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			err := env.Client.Get(ctx, client.ObjectKeyFromObject(release), release)
			last := release.Status.LastHealthy
			return last != nil && !slices.Contains(refs, last.RenderRef), err
		})
		if err != nil {
			b.Fatal(err)
		}
		refs = append(refs, release.Status.LastHealthy.RenderRef)
	}
	await()
	source.Data = map[string]string{"a.yaml": configMap("a", "two", 0)}
	if err := env.Client.Update(b.Context(), source); err != nil {
		b.Fatal(err)
	}
	await()
	return refs
}

// watchConfigMap tells of each change of the deployed ConfigMap from now on.
func watchConfigMap(b *testing.B, env *testenv.Environment, namespace string) <-chan struct{} {
	b.Helper()
	watcher, err := env.Client.Watch(b.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace), client.MatchingLabels(v1alpha1.OwnerLabels(namespace, "app")))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(watcher.Stop)
	<-watcher.ResultChan() // how it is now
	changes := make(chan struct{}, 1)
	go func() {
		for range watcher.ResultChan() {
			changes <- struct{}{}
		}
	}()
	return changes
}
