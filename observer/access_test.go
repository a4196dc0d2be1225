package observer_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/pki"
)

// rereads is when a renewed certificate is served at the latest: what watches it looks at least once a minute.
const rereads = 90 * time.Second

// roots are the authorities that verify the observer.
func roots() *x509.CertPool {
	GinkgoHelper()
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(watcher.Authority.Cert())).To(BeTrue())
	return pool
}

// direct asks the observer itself, with a certificate or none.
func direct(authority *pki.Authority, template *x509.Certificate) (int, string, error) {
	GinkgoHelper()
	config := &tls.Config{RootCAs: roots(), MinVersion: tls.VersionTLS12}
	if template != nil {
		pair, err := authority.Sign(template)
		Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
		Expect(err).NotTo(HaveOccurred())
		// Also one that the server does not ask for.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	url := watcher.URL + "/apis/subresources.convoy.dev/v1alpha1/namespaces/default/releases/no-such-release/history"
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Convoy-User", "admin")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(body), nil
}

var _ = Describe("The observer", func() {
	It("answers the certificate of convoy-apiserver alone", func() {
		code, body, err := direct(watcher.Authority, pki.Client(manifests.ObserverClientName))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusNotFound), body)

		By("refusing no certificate, and those of other authorities, before anything is asked")
		_, _, err = direct(nil, nil)
		Expect(err).To(MatchError(ContainSubstring("certificate required")))
		other, err := pki.NewAuthority("observer-ca")
		Expect(err).NotTo(HaveOccurred())
		_, _, err = direct(other, pki.Client(manifests.ObserverClientName))
		Expect(err).To(HaveOccurred())
		_, _, err = direct(watcher.Authority, pki.Server(manifests.ObserverClientName))
		Expect(err).To(HaveOccurred(), "the certificate of a server is none of a client")

		By("refusing another name")
		code, body, err = direct(watcher.Authority, pki.Client("convoy-apiserver.example.com"))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusForbidden))
		Expect(body).To(ContainSubstring("the observer answers convoy-apiserver alone"))
	})

	It("serves a renewed certificate without a restart", func() {
		name := func() string {
			dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots(), MinVersion: tls.VersionTLS12}}
			connection, err := dialer.DialContext(context.Background(), "tcp", strings.TrimPrefix(watcher.URL, "https://"))
			Expect(err).NotTo(HaveOccurred())
			defer connection.Close()
			return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
		}
		Expect(name()).To(Equal("convoy-observer"))
		watcher.Renew(GinkgoTB())
		Eventually(name).WithTimeout(rereads).Should(Equal("renewed"))
	})
})
