package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/pki"
)

// The processes of convoy get client certificates in the names of its ServiceAccounts, by which the guard of the pins tells them apart.
const (
	controllerManagerAccount = "convoy-controller-manager"
	apiServerAccount         = "convoy-apiserver"
	observerAccount          = "convoy-observer"

	frontProxyClient = "front-proxy-client"
	observerClient   = "observer-client"
)

// makeCredentials writes the certificates and keys, if they are not all there, and the kubeconfigs.
func (c *cluster) makeCredentials() error {
	_, err := os.Stat(c.path("pki", observerClient+".key"))
	if os.IsNotExist(err) {
		err = c.makePKI()
	}
	if err != nil {
		return err
	}
	return errors.Join(
		c.writeKubeconfig("admin", c.path("kubeconfig")),
		c.writeKubeconfig(controllerManagerAccount, c.kubeconfigOf(controllerManagerAccount)),
		c.writeKubeconfig(apiServerAccount, c.kubeconfigOf(apiServerAccount)),
		c.writeKubeconfig(observerAccount, c.kubeconfigOf(observerAccount)),
	)
}

// makePKI makes the certificates anew, whole or not at all: an interrupted run leaves nothing that looks finished.
func (c *cluster) makePKI() error {
	if running, err := c.running(); err != nil || len(running) > 0 {
		return errors.Join(err, errors.New("the cluster runs with certificates of an earlier version of convoy: run make dev-reset, then make dev-up"))
	}
	unfinished := c.path("pki.unfinished")
	if err := errors.Join(os.RemoveAll(unfinished), os.RemoveAll(c.path("pki"))); err != nil {
		return err
	}
	if err := writePKI(unfinished); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	return os.Rename(unfinished, c.path("pki"))
}

// kubeconfigOf is the kubeconfig of a ServiceAccount of convoy.
func (c *cluster) kubeconfigOf(account string) string { return c.path("run", account+".kubeconfig") }

// writePKI writes two certificate authorities, the certificates that they sign, and the key that signs the tokens of ServiceAccounts. The
// keys of the authorities stay in memory: nothing more is to be signed.
func writePKI(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	clusterCA, err := newAuthority(dir, "ca")
	if err != nil {
		return err
	}
	// The authority of the aggregation layer is its own: whoever the other one knows may not speak for others.
	frontProxyCA, err := newAuthority(dir, "front-proxy-ca")
	if err != nil {
		return err
	}
	// So is that of the observer: it answers one client, and no user of the cluster.
	observerCA, err := newAuthority(dir, "observer-ca")
	if err != nil {
		return err
	}
	serviceAccounts := []string{"system:serviceaccounts", "system:serviceaccounts:convoy-system"}
	for _, c := range []struct {
		authority *pki.Authority
		name      string
		template  *x509.Certificate
	}{
		{clusterCA, "apiserver", pki.Server("kubernetes", "kubernetes.default", "kubernetes.default.svc")},
		{clusterCA, "admin", pki.Client("admin", "system:masters")},
		{clusterCA, controllerManagerAccount, pki.Client(manifests.ControllerManagerUser, serviceAccounts...)},
		{clusterCA, apiServerAccount, pki.Client(manifests.APIServerUser, serviceAccounts...)},
		{clusterCA, apiServerAccount + "-tls", pki.Server(manifests.APIServerName)},
		{clusterCA, observerAccount, pki.Client(manifests.ObserverUser, serviceAccounts...)},
		{observerCA, observerAccount + "-tls", pki.Server(observerAccount)},
		{observerCA, observerClient, pki.Client(manifests.ObserverClientName)},
		{clusterCA, "webhook/tls", pki.Server("convoy-webhook")},
		{frontProxyCA, frontProxyClient, pki.Client(frontProxyClient)},
	} {
		pair, err := c.authority.Sign(c.template)
		if err != nil {
			return err
		}
		if err := pair.Write(dir, c.name); err != nil {
			return err
		}
	}
	_, _, err = keyutil.LoadOrGenerateKeyFile(filepath.Join(dir, "service-account.key"))
	return err
}

// newAuthority makes an authority and writes its certificate.
func newAuthority(dir, name string) (*pki.Authority, error) {
	authority, err := pki.NewAuthority(name)
	if err != nil {
		return nil, err
	}
	return authority, cert.WriteCert(filepath.Join(dir, name+".crt"), authority.Cert())
}

// writeKubeconfig writes the kubeconfig of the user of a certificate, with the port of today.
func (c *cluster) writeKubeconfig(user, file string) error {
	content := map[string][]byte{}
	for _, name := range []string{"ca.crt", user + ".crt", user + ".key"} {
		var err error
		if content[name], err = os.ReadFile(c.path("pki", name)); err != nil {
			return err
		}
	}
	const name = "convoy-dev"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.apiServer(), CertificateAuthorityData: content["ca.crt"]}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: content[user+".crt"], ClientKeyData: content[user+".key"]}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}

// apiServer is the URL of the API server.
func (c *cluster) apiServer() string { return "https://" + address(c.ports.APIServer) }
