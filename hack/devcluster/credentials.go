package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is how long certificates are good for: longer than anybody keeps such a cluster.
const validity = 10 * 365 * 24 * time.Hour

// The ServiceAccounts of convoy in config/. Its processes get client certificates in their names, by which the guard of the pins tells them
// apart.
const (
	namespace                = "convoy-system"
	controllerManagerAccount = "convoy-controller-manager"
	apiServerAccount         = "convoy-apiserver"
)

// makeCredentials writes the certificates and keys, if they are not all there, and the kubeconfigs.
func (c *cluster) makeCredentials() error {
	if _, err := os.Stat(c.path("pki", "webhook")); os.IsNotExist(err) {
		// Whole or not at all: an interrupted run leaves nothing that looks finished.
		unfinished := c.path("pki.unfinished")
		if err := errors.Join(os.RemoveAll(unfinished), os.RemoveAll(c.path("pki"))); err != nil {
			return err
		}
		if err := writePKI(unfinished); err != nil {
			return fmt.Errorf("make certificates: %w", err)
		}
		if err := os.Rename(unfinished, c.path("pki")); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return errors.Join(
		c.writeKubeconfig("admin", c.path("kubeconfig")),
		c.writeKubeconfig(controllerManagerAccount, c.kubeconfigOf(controllerManagerAccount)),
		c.writeKubeconfig(apiServerAccount, c.kubeconfigOf(apiServerAccount)),
	)
}

// kubeconfigOf is the kubeconfig of a ServiceAccount of convoy.
func (c *cluster) kubeconfigOf(account string) string { return c.path("run", account+".kubeconfig") }

// writePKI writes two certificate authorities, the certificates that they sign, and the key that signs the tokens of ServiceAccounts.
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
	server := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if err := clusterCA.sign(dir, "apiserver", server); err != nil {
		return err
	}
	if err := clusterCA.sign(dir, "admin", clientCert("admin", "system:masters")); err != nil {
		return err
	}
	if err := signConvoy(clusterCA, dir); err != nil {
		return err
	}
	if err := frontProxyCA.sign(dir, "front-proxy-client", clientCert("front-proxy-client")); err != nil {
		return err
	}
	_, _, err = keyutil.LoadOrGenerateKeyFile(filepath.Join(dir, "service-account.key"))
	return err
}

// signConvoy signs the certificates of convoy: those that its processes show to the API server, and those of what they serve.
func signConvoy(ca *authority, dir string) error {
	for _, account := range []string{controllerManagerAccount, apiServerAccount} {
		user := clientCert("system:serviceaccount:"+namespace+":"+account, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
		if err := ca.sign(dir, account, user); err != nil {
			return err
		}
	}
	serving := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	service := &x509.Certificate{ // the name that the API server asks for, wherever the service leads
		Subject: pkix.Name{CommonName: apiServerAccount}, ExtKeyUsage: serving, DNSNames: []string{apiServerAccount + "." + namespace + ".svc"},
	}
	if err := ca.sign(dir, apiServerAccount+"-tls", service); err != nil {
		return err
	}
	webhook := &x509.Certificate{
		Subject: pkix.Name{CommonName: "convoy-webhook"}, ExtKeyUsage: serving, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	return ca.sign(filepath.Join(dir, "webhook"), "tls", webhook)
}

// clientCert is the certificate of a user who is in groups.
func clientCert(name string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newAuthority makes an authority and writes its certificate. Its key stays in memory: nothing more is to be signed.
func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, err
	}
	return &authority{cert: ca, key: key}, cert.WriteCert(filepath.Join(dir, name+".crt"), encodeCert(ca.Raw))
}

// sign signs a certificate with a new key and writes both.
func (a *authority) sign(dir, name string, template *x509.Certificate) error {
	keyPEM, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return fmt.Errorf("key of %s: %T cannot sign", name, parsed)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return err
	}
	template.NotBefore = a.cert.NotBefore
	template.NotAfter = time.Now().Add(validity)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	if err := cert.WriteCert(filepath.Join(dir, name+".crt"), encodeCert(der)); err != nil {
		return err
	}
	return keyutil.WriteKey(filepath.Join(dir, name+".key"), keyPEM)
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// writeKubeconfig writes the kubeconfig of the user of a certificate, with the port of today.
func (c *cluster) writeKubeconfig(user, file string) error {
	pki := map[string][]byte{}
	for _, name := range []string{"ca.crt", user + ".crt", user + ".key"} {
		content, err := os.ReadFile(c.path("pki", name))
		if err != nil {
			return err
		}
		pki[name] = content
	}
	const name = "convoy-dev"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.apiServer(), CertificateAuthorityData: pki["ca.crt"]}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: pki[user+".crt"], ClientKeyData: pki[user+".key"]}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}

// apiServer is the URL of the API server.
func (c *cluster) apiServer() string { return "https://" + address(c.ports.APIServer) }
