package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Keys of a Secret with credentials.
const (
	keyUsername    = "username"
	keyPassword    = "password"
	keyBearerToken = "bearerToken"
	keyCAFile      = "caFile"
	keyCACert      = "ca.crt"
	keyCertFile    = "certFile"
	keyTLSCert     = "tls.crt"
	keyKeyFile     = "keyFile"
	keyTLSKey      = "tls.key"
	keyDocker      = ".dockerconfigjson"
	keyIdentity    = "identity"
	keyKnownHosts  = "known_hosts"
)

const (
	tlsKeys   = "certFile and keyFile (or tls.crt and tls.key) for a client certificate; and caFile (or ca.crt) for a private CA"
	httpsKeys = "an https:// URL takes username and password, or bearerToken; " + tlsKeys
	ociKeys   = "an oci:// URL takes .dockerconfigjson, or username and password; " + tlsKeys
	sshKeys   = "an ssh:// URL takes identity, a private key; password if it has a passphrase; and known_hosts"
)

// credentials are what a Release shows to a server. The zero value is none.
type credentials struct {
	secret string // "Secret <namespace>/<name>", for messages

	// fingerprint is equal for equal credentials. It must not be shown: it would prove a guess.
	fingerprint string

	username, password string // both, for https
	bearerToken        string
	refreshToken       string            // for oci
	certificates       []tls.Certificate // at most one, for https
	roots              *x509.CertPool    // the system's and the Secret's; nil for the system's alone
	signer             ssh.Signer
	knownHosts         []byte
}

// none says that the server is asked anonymously.
func (c credentials) none() bool {
	return c.password == "" && c.bearerToken == "" && c.refreshToken == "" && len(c.certificates) == 0 && c.signer == nil
}

// authorization is the header of that name; empty if there is none.
func (c credentials) authorization() string {
	switch {
	case c.bearerToken != "":
		return "Bearer " + c.bearerToken
	case c.password != "":
		return "Basic " + c.basic()
	default:
		return ""
	}
}

func (c credentials) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(c.username + ":" + c.password))
}

// secrets are the values that must not appear in a message.
func (c credentials) secrets() []string {
	var values []string
	if c.password != "" {
		values = append(values, c.password, c.basic())
	}
	if c.bearerToken != "" {
		values = append(values, c.bearerToken)
	}
	if c.refreshToken != "" {
		values = append(values, c.refreshToken)
	}
	return values
}

// gitCredentials reads the credentials for a repository.
func (r objectReader) gitCredentials(
	ctx context.Context, namespace string, u *url.URL, ref *v1alpha1.LocalObjectReference,
) (credentials, error) {
	if ref == nil {
		if u.Scheme == schemeSSH {
			return credentials{}, errors.New("secretRef is not set: " + sshKeys)
		}
		return credentials{}, nil
	}
	if u.Scheme != schemeHTTPS && u.Scheme != schemeSSH {
		return credentials{}, fmt.Errorf("no credentials are sent over %s://: use https:// or ssh://, or take secretRef away", u.Scheme)
	}
	if u.Scheme == schemeHTTPS {
		return r.credentials(ctx, namespace, ref, (*credentials).readHTTPS)
	}
	return r.credentials(ctx, namespace, ref, (*credentials).readSSH)
}

// httpCredentials reads the credentials for a file.
func (r objectReader) httpCredentials(
	ctx context.Context, namespace string, u *url.URL, ref *v1alpha1.LocalObjectReference,
) (credentials, error) {
	if ref == nil {
		return credentials{}, nil
	}
	if u.Scheme != schemeHTTPS {
		return credentials{}, fmt.Errorf("no credentials are sent over %s://: use https://, or take secretRef away", u.Scheme)
	}
	return r.credentials(ctx, namespace, ref, (*credentials).readHTTPS)
}

// credentials reads a Secret.
func (r objectReader) credentials(
	ctx context.Context, namespace string, ref *v1alpha1.LocalObjectReference, read func(*credentials, map[string][]byte) error,
) (credentials, error) {
	var obj corev1.Secret
	if err := r.get(ctx, "Secret", namespace, ref.Name, &obj); err != nil {
		return credentials{}, err
	}
	c := credentials{secret: "Secret " + namespace + "/" + ref.Name, fingerprint: digest(obj.Data)}
	if err := read(&c, obj.Data); err != nil {
		return credentials{}, fmt.Errorf("%s: %w", c.secret, err)
	}
	return c, nil
}

// readHTTPS takes the credentials for https out of the data of a Secret.
func (c *credentials) readHTTPS(data map[string][]byte) error {
	if err := c.readTLS(data, httpsKeys); err != nil {
		return err
	}
	c.bearerToken = line(data[keyBearerToken])
	_, hasUsername := data[keyUsername]
	if c.bearerToken != "" && (hasUsername || len(data[keyPassword]) > 0) {
		return fmt.Errorf("both bearerToken and username or password are set: %s", httpsKeys)
	}
	return c.readBasic(data, httpsKeys)
}

// readBasic takes a username and a password out of the data of a Secret, which must have some key that is expected.
func (c *credentials) readBasic(data map[string][]byte, expected string) error {
	c.username, c.password = line(data[keyUsername]), line(data[keyPassword])
	_, hasUsername := data[keyUsername]
	switch {
	case hasUsername && c.password == "":
		return missing(keyPassword, expected)
	case !hasUsername && c.password != "":
		return missing(keyUsername, expected)
	case c.none() && c.roots == nil:
		return fmt.Errorf("none of the keys expected is there: %s", expected)
	}
	return nil
}

// readTLS takes a client certificate and a CA out of the data of a Secret.
func (c *credentials) readTLS(data map[string][]byte, expected string) error {
	cert, certName := either(data, keyCertFile, keyTLSCert)
	key, keyName := either(data, keyKeyFile, keyTLSKey)
	switch {
	case len(cert) > 0 && len(key) == 0:
		return missing(keyName, expected)
	case len(cert) == 0 && len(key) > 0:
		return missing(certName, expected)
	case len(cert) > 0:
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("keys %q and %q hold no certificate with its private key: %w", certName, keyName, err)
		}
		c.certificates = []tls.Certificate{pair}
	}
	ca, caName := either(data, keyCAFile, keyCACert)
	if len(ca) == 0 {
		return nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("read the system's CA certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(ca) {
		return fmt.Errorf("key %q holds no certificate in PEM form", caName)
	}
	c.roots = roots
	return nil
}

// either is the value of the first key, or else of the second if it is there, and the name of the one taken.
func either(data map[string][]byte, first, second string) ([]byte, string) {
	if len(data[first]) == 0 && len(data[second]) > 0 {
		return data[second], second
	}
	return data[first], first
}

// readSSH takes the credentials for ssh out of the data of a Secret.
func (c *credentials) readSSH(data map[string][]byte) error {
	identity, passphrase := data[keyIdentity], line(data[keyPassword])
	c.knownHosts = data[keyKnownHosts]
	switch {
	case len(identity) == 0:
		return missing(keyIdentity, sshKeys)
	case len(c.knownHosts) == 0:
		return missing(keyKnownHosts, sshKeys)
	}
	var err error
	c.signer, err = ssh.ParsePrivateKey(identity)
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted && passphrase != "" {
		c.signer, err = ssh.ParsePrivateKeyWithPassphrase(identity, []byte(passphrase))
	} else if encrypted {
		return fmt.Errorf("key %q needs a passphrase: put it into key %q", keyIdentity, keyPassword)
	}
	if err != nil {
		return fmt.Errorf("key %q holds no private key that can be read: %w", keyIdentity, err)
	}
	return nil
}

func missing(key, expected string) error {
	return fmt.Errorf("key %q is missing or empty: %s", key, expected)
}

// line is a value without the line end that files tend to have.
func line(value []byte) string { return strings.TrimRight(string(value), "\r\n") }
