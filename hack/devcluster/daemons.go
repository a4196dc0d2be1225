package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/convoy-dev/convoy/internal/controlplane"
)

// daemons are the processes of the cluster: etcd, then the API server, then, at once, all that stands on it.
func (c *cluster) daemons() (etcd, apiServer daemon, rest []daemon, err error) {
	daemons := []daemon{c.etcd(), c.kubeAPIServer(), c.kubeControllerManager(), c.kubeScheduler(), c.kwok()}
	for i := range daemons {
		if daemons[i].path, err = controlplane.Binary(daemons[i].path); err != nil {
			return daemon{}, daemon{}, nil, err
		}
	}
	return daemons[0], daemons[1], append(daemons[2:], c.controllerManager(), c.observer(), c.subresources()), nil
}

func (c *cluster) etcd() daemon {
	url := "http://" + address(c.ports.EtcdClient)
	return daemon{path: "etcd", ready: answers(url + "/health"), args: []string{
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + url, "--advertise-client-urls=" + url,
		"--listen-peer-urls=http://" + address(c.ports.EtcdPeer),
		"--unsafe-no-fsync", // the machine may lose this cluster
	}}
}

func (c *cluster) kubeAPIServer() daemon {
	pki := func(name string) string { return c.path("pki", name) }
	args := []string{
		"--etcd-servers=http://" + address(c.ports.EtcdClient),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.APIServer),
		"--endpoint-reconciler-type=none", // its address is loopback, which Endpoints do not take
		"--service-cluster-ip-range=10.0.0.0/16",
		"--authorization-mode=RBAC", "--allow-privileged=true",
		"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
		"--client-ca-file=" + pki("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki("service-account.key"),
		"--service-account-signing-key-file=" + pki("service-account.key"),
	}
	aggregation := controlplane.AggregationFlags(pki("front-proxy-ca.crt"), frontProxyClient, pki(frontProxyClient+".crt"), pki(frontProxyClient+".key"))
	for _, name := range slices.Sorted(maps.Keys(aggregation)) {
		args = append(args, "--"+name+"="+aggregation[name])
	}
	return daemon{path: "kube-apiserver", ready: answers(c.apiServer() + "/readyz"), args: args}
}

func (c *cluster) kubeControllerManager() daemon {
	args := controlplane.ControllerManagerArgs(c.path("kubeconfig"), c.path("pki", "service-account.key"), c.path("pki", "ca.crt"))
	return daemon{path: "kube-controller-manager", ready: c.serviceAccountsReady, args: args}
}

func (c *cluster) kubeScheduler() daemon {
	return daemon{path: "kube-scheduler", ready: runs, args: []string{
		"--kubeconfig=" + c.path("kubeconfig"), "--leader-elect=false",
		"--secure-port=0", // no port, so that clusters run side by side
	}}
}

func (c *cluster) kwok() daemon {
	return daemon{path: "kwok", ready: c.nodesReady, args: []string{
		"--kubeconfig=" + c.path("kubeconfig"), "--config=" + c.path("bin", "kwok-stages.yaml"),
		"--manage-all-nodes", "--node-lease-duration-seconds=40", "--cidr=10.1.0.0/16",
	}}
}

// controllerManager reconciles Releases, and serves the webhooks of their pins.
func (c *cluster) controllerManager() daemon {
	return daemon{
		path:  c.path("bin", "convoy-controller-manager"),
		ready: answers("http://" + address(c.ports.Probes) + "/readyz"),
		args: []string{
			"--kubeconfig=" + c.kubeconfigOf(controllerManagerAccount),
			"--webhook-cert-dir=" + c.path("pki", "webhook"), fmt.Sprintf("--webhook-port=%d", c.ports.Webhooks),
			"--render-store-url=" + c.renderStoreURL(),
			"--source-cache-dir=" + c.path("cache", "source"),
			"--allow-file-urls", "--leader-elect=false",
			"--metrics-bind-address=" + address(c.ports.Metrics),
			"--health-probe-bind-address=" + address(c.ports.Probes),
		},
	}
}

// subresources serves the subresources of Releases, behind the API server.
func (c *cluster) subresources() daemon {
	return daemon{path: c.path("bin", "convoy-apiserver"), ready: c.subresourcesReady, args: []string{
		"--kubeconfig=" + c.kubeconfigOf(apiServerAccount),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.Subresources),
		"--tls-cert-file=" + c.path("pki", apiServerAccount+"-tls.crt"), "--tls-private-key-file=" + c.path("pki", apiServerAccount+"-tls.key"),
		"--observer-url=https://" + address(c.ports.Observer), "--observer-ca-file=" + c.path("pki", "observer-ca.crt"),
		"--observer-client-cert-file=" + c.path("pki", observerClient+".crt"), "--observer-client-key-file=" + c.path("pki", observerClient+".key"),
	}}
}

// observer answers convoy-apiserver.
func (c *cluster) observer() daemon {
	return daemon{path: c.path("bin", "convoy-observer"), ready: answers("http://" + address(c.ports.ObserverMetrics) + "/readyz"), args: []string{
		"--kubeconfig=" + c.kubeconfigOf(observerAccount),
		"--render-store-url=" + c.renderStoreURL(),
		"--source-cache-dir=" + c.path("cache", "observer"), "--allow-file-urls",
		"--bind-address=" + address(c.ports.Observer), "--metrics-bind-address=" + address(c.ports.ObserverMetrics),
		"--tls-cert-file=" + c.path("pki", observerAccount+"-tls.crt"), "--tls-private-key-file=" + c.path("pki", observerAccount+"-tls.key"),
		"--client-ca-file=" + c.path("pki", "observer-ca.crt"),
	}}
}

// renderStoreURL is the render store that the controller manager and the observer share.
func (c *cluster) renderStoreURL() string {
	return "file://" + c.path("store") + "?create_dir=true&no_tmp_dir=true"
}

// gitServer serves the repositories of the demo.
func (c *cluster) gitServer() daemon {
	return daemon{path: c.path("bin", "gitserver"), ready: listens(address(c.ports.Git)), args: []string{
		"-root=" + c.path("demo", "git"), "-address=" + address(c.ports.Git),
	}}
}
