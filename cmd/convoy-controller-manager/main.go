// Command convoy-controller-manager reconciles Releases: it fetches, renders, tries, stores and applies what their sources hold.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/webhooks"
)

func main() {
	opts, err := parseFlags(os.Args[0], os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // the flag set has said why
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&opts.zap)))
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		ctrl.Log.Error(err, "The controller manager stops")
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	meters := controllers.NewMetrics(metrics.Registry)
	store, err := renderstore.Open(ctx, opts.renderStoreURL, renderstore.WithObserver(meters.StoreOperation))
	if err != nil {
		return fmt.Errorf("flag --render-store-url: %w", err)
	}
	err = serve(ctx, config, opts, store, meters)
	return errors.Join(err, store.Close())
}

func serve(ctx context.Context, config *rest.Config, opts options, store *renderstore.Store, meters *controllers.Metrics) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: opts.metricsAddress},
		HealthProbeBindAddress:  opts.probeAddress,
		WebhookServer:           webhook.NewServer(webhook.Options{Port: opts.webhookPort, CertDir: opts.webhookCertDir}),
		LeaderElection:          opts.leaderElect,
		LeaderElectionID:        "controller-manager.convoy.dev",
		LeaderElectionNamespace: opts.leaderElectionNamespace,
		// A new leader need not wait for the lease of one that stopped in good order.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return err
	}
	if err := addWebhooks(mgr, opts); err != nil {
		return err
	}
	if err := addReconciler(ctx, mgr, opts, store, meters); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// addWebhooks serves the webhooks for pins. Every replica does, whoever leads.
func addWebhooks(mgr ctrl.Manager, opts options) error {
	if opts.webhookPort == 0 || opts.webhookCertDir == "" {
		mgr.GetLogger().Info("No webhooks are served: no pin gets in while config/webhook names this process")
		return nil
	}
	server := mgr.GetWebhookServer()
	for path, handler := range webhooks.Handlers(mgr.GetAPIReader()) {
		server.Register(path, handler)
	}
	return mgr.AddReadyzCheck("webhooks", server.StartedChecker())
}

func addReconciler(ctx context.Context, mgr ctrl.Manager, opts options, store *renderstore.Store, meters *controllers.Metrics) error {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1
	reader, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	targets, err := controllers.NewTargets(mgr.GetConfig())
	if err != nil {
		return err
	}
	fetcher, err := opts.sources.NewFetcher(reader)
	if err != nil {
		return err
	}
	in, err := inputs.New(mgr.GetConfig(), reader)
	if err != nil {
		return err
	}
	reconciler := controllers.New(controllers.ReleaseReconciler{
		Client:                reader,
		Fetcher:               fetcher,
		Inputs:                in,
		Store:                 store,
		Targets:               targets,
		Memory:                apply.NewMemory(clock.RealClock{}),
		Events:                mgr.GetEventRecorder("convoy"),
		Clock:                 clock.RealClock{},
		Metrics:               meters,
		DefaultServiceAccount: opts.defaultServiceAccount,
	})
	return reconciler.SetupWithManager(ctx, mgr, opts.concurrent)
}
