package observer

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/live/builtin"
)

// Differ predicts what an apply would do; see live.Differ.
type Differ interface {
	Diff(ctx context.Context, req live.DiffRequest) ([]live.Change, error)
}

// NewDiffer makes the Differ for a cluster, with the rights that the config gives it.
func NewDiffer(config *rest.Config) (*live.Differ, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server's priority and fairness decides
	config.WarningHandler = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	reader, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	server, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return live.NewDiffer(live.DifferOptions{
		Client:     reader,
		Mapper:     mapper,
		Discovery:  server,
		Normalizer: builtin.Normalizer{},
		OwnerName:  live.OwnerNameFrom(reader),
	}), nil
}
