package controllers

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/convoy-dev/convoy/live"
)

// requestTimeout is the deadline of one request for a target object.
const requestTimeout = time.Minute

// Targets hands out clients for the objects that Releases deploy, one for each ServiceAccount that is impersonated.
type Targets struct {
	Mapper    meta.RESTMapper
	Discovery discovery.DiscoveryInterfaceWithContext
	Takeovers *live.Takeovers

	config  *rest.Config
	mu      sync.Mutex
	clients map[types.NamespacedName]client.Client
}

// NewTargets makes clients from a config with the right to impersonate.
func NewTargets(config *rest.Config) (*Targets, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server's priority and fairness decides
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	server, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return &Targets{
		Mapper: mapper, Discovery: server, Takeovers: live.NewTakeovers(server), config: config, clients: map[types.NamespacedName]client.Client{},
	}, nil
}

// For returns a client with the rights of a ServiceAccount. Without a name it is convoy's own.
func (t *Targets) For(namespace, serviceAccount string) (client.Client, error) {
	key := types.NamespacedName{}
	config := rest.CopyConfig(t.config)
	if serviceAccount != "" {
		key = types.NamespacedName{Namespace: namespace, Name: serviceAccount}
		config.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", namespace, serviceAccount)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.clients[key]; ok {
		return c, nil
	}
	c, err := client.New(config, client.Options{Mapper: t.Mapper})
	if err != nil {
		return nil, err
	}
	t.clients[key] = c
	return c, nil
}
