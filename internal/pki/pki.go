package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is how long a certificate is good for, unless its template says otherwise: longer than anybody keeps such a cluster.
const validity = 10 * 365 * 24 * time.Hour

// Authority signs certificates. Its key stays in memory.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority makes an authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: ca, key: key}, nil
}

// Cert is the certificate of the authority, in PEM.
func (a *Authority) Cert() []byte { return encode(a.cert.Raw) }

// Pair is a certificate with its key, both in PEM.
type Pair struct{ Cert, Key []byte }

// Sign signs a certificate for a new key.
func (a *Authority) Sign(template *x509.Certificate) (Pair, error) {
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return Pair{}, err
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(key)
	if err != nil {
		return Pair{}, err
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return Pair{}, fmt.Errorf("key of %s: %T cannot sign", template.Subject.CommonName, parsed)
	}
	signed := *template
	if signed.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return Pair{}, err
	}
	signed.KeyUsage = x509.KeyUsageDigitalSignature
	signed.NotBefore = a.cert.NotBefore
	if signed.NotAfter.IsZero() {
		signed.NotAfter = time.Now().Add(validity)
	}
	der, err := x509.CreateCertificate(rand.Reader, &signed, a.cert, signer.Public(), a.key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: encode(der), Key: key}, nil
}

// Write writes a pair into a folder, as name.crt and name.key.
func (p Pair) Write(dir, name string) error {
	if err := cert.WriteCert(filepath.Join(dir, name+".crt"), p.Cert); err != nil {
		return err
	}
	return keyutil.WriteKey(filepath.Join(dir, name+".key"), p.Key)
}

// Client is the template for a user who is in groups.
func Client(name string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// Server is the template for a server that is reached by names, and on this machine.
func Server(names ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    append([]string{"localhost"}, names...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}
