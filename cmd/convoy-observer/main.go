// Command convoy-observer answers convoy-apiserver what was applied, what a render holds, and what an apply would change. It writes nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/observer"
	"github.com/convoy-dev/convoy/renderstore"
)

func main() {
	opts, err := parseFlags(os.Args[0], os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // the flag set has said why
	}
	logger := zap.New(zap.UseFlagOptions(&opts.zap))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		ctrl.Log.Error(err, "The observer stops")
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1 // the server's priority and fairness decides
	meters := observer.NewMetrics(metrics.Registry)
	store, err := renderstore.Open(ctx, opts.renderStoreURL, renderstore.WithObserver(meters.StoreOperation))
	if err != nil {
		return fmt.Errorf("flag --render-store-url: %w", err)
	}
	server, err := newServer(config, opts, store, meters)
	if err == nil {
		err = serve(ctx, opts, server)
	}
	return errors.Join(err, store.Close())
}

// newServer makes the server of all that convoy-apiserver asks.
func newServer(config *rest.Config, opts options, store *renderstore.Store, meters *observer.Metrics) (*observer.Server, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	fetcher, err := opts.sources.NewFetcher(reader)
	if err != nil {
		return nil, err
	}
	in, err := inputs.New(config, reader)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	differ, err := observer.NewDiffer(config)
	if err != nil {
		return nil, err
	}
	return observer.New(observer.Options{
		Reader:                reader,
		Store:                 store,
		OwnStore:              strings.HasPrefix(opts.renderStoreURL, "mem:"),
		Fetcher:               fetcher,
		Inputs:                in,
		Differ:                differ,
		DefaultServiceAccount: opts.defaultServiceAccount,
		ClientName:            opts.clientName,
		Metrics:               meters,
		Log:                   ctrl.Log.WithName("observer"),
	}), nil
}

// serve serves until the context ends, or one of the two servers fails.
func serve(ctx context.Context, opts options, server *observer.Server) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", opts.bindAddress)
	if err != nil {
		return fmt.Errorf("flag --bind-address: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	if opts.metricsAddress != "0" {
		plain, err := listen.Listen(ctx, "tcp", opts.metricsAddress)
		if err != nil {
			return errors.Join(fmt.Errorf("flag --metrics-bind-address: %w", err), listener.Close())
		}
		probes := manager.Server{Name: "metrics", Listener: plain, Server: observer.NewHTTPServer(probesAndMetrics())}
		group.Go(func() error { return probes.Start(ctx) })
	}
	group.Go(func() error { return observer.Listen(ctx, listener, opts.certificates, server.Handler()) })
	return group.Wait()
}

// probesAndMetrics says that the process works. It does so while it listens: what it asks may be down without a fault of its own.
func probesAndMetrics() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	}
	mux.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	return mux
}
