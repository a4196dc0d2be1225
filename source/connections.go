package source

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	connectTimeout      = 15 * time.Second
	tlsHandshakeTimeout = 15 * time.Second
	maxRedirects        = 10
)

// connections are the connections of one fetch, so that nobody else's credentials or CA are ever used on them. Only the host of the
// URL sees the credentials: the client certificate, and the header Authorization once a redirect has led elsewhere.
type connections struct {
	host       string
	own, other *http.Transport
}

// newConnections prepares connections to the host of a URL and to where it redirects.
func newConnections(u *url.URL, c credentials) *connections {
	own, other := newTransport(c), newTransport(c)
	own.TLSClientConfig.Certificates = c.certificates
	return &connections{host: hostOf(u), own: own, other: other}
}

func newTransport(c credentials) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: tlsHandshakeTimeout,
		ForceAttemptHTTP2:   true,
	}
}

// hostOf is scheme, host and port, as they decide who sees credentials.
func hostOf(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{schemeHTTPS: "443", schemeHTTP: "80"}[u.Scheme])
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// RoundTrip implements http.RoundTripper.
func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	if hostOf(req.URL) == c.host {
		return c.own.RoundTrip(req)
	}
	if redirected := req.Response != nil; redirected {
		req = req.Clone(req.Context())
		req.Header.Del("Authorization") // the client of the library keeps it for subdomains
	}
	return c.other.RoundTrip(req)
}

// client is an HTTP client over them. They are not kept for another request.
func (c *connections) client() *http.Client {
	c.own.DisableKeepAlives, c.other.DisableKeepAlives = true, true
	return &http.Client{Transport: c, CheckRedirect: followSafely}
}

// close ends the connections that wait for another request.
func (c *connections) close() {
	c.own.CloseIdleConnections()
	c.other.CloseIdleConnections()
}

// followSafely lets an HTTP client follow redirects, but not from https to http.
func followSafely(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("too many redirects: more than %d", maxRedirects)
	case via[0].URL.Scheme == schemeHTTPS && req.URL.Scheme != schemeHTTPS:
		return errors.New("the server redirects from https:// to another scheme, which is refused")
	}
	return nil
}

// refusal is the error of a response that is not 200 OK, without what the server wrote, since that is a page for people at best.
func (c credentials) refusal(res *http.Response, what string) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	rejected := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	elsewhere := hostOf(res.Request.URL) != hostOf(firstOf(res.Request).URL) ||
		c.authorization() != "" && res.Request.Header.Get("Authorization") == ""
	if rejected && elsewhere && !c.none() {
		return fmt.Errorf("%s: the url redirects to %s, which is not sent the credentials of %s", answers(res.StatusCode), res.Request.URL.Host, c.secret)
	}
	return busy(res, c.refused(res.StatusCode, what))
}

// refused is the error of a status.
func (c credentials) refused(code int, what string) error {
	switch rejected := code == http.StatusUnauthorized || code == http.StatusForbidden; {
	case rejected && c.none():
		return fmt.Errorf("%s: it wants credentials, and secretRef names none", answers(code))
	case rejected:
		return fmt.Errorf("%s: it does not accept the credentials of %s", answers(code), c.secret)
	case code == http.StatusNotFound:
		return fmt.Errorf("%s: there is no such %s, or these credentials must not see it", answers(code), what)
	default:
		return errors.New(answers(code))
	}
}

func answers(code int) string {
	return fmt.Sprintf("the server answers %d %s", code, http.StatusText(code))
}

// firstOf is the request that was sent before all redirects.
func firstOf(req *http.Request) *http.Request {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return req
}

// busy adds to the error of a response when the server wants to be asked again, if it says so.
func busy(res *http.Response, err error) error {
	value := res.Header.Get("Retry-After")
	after := time.Duration(0)
	if seconds, parse := strconv.Atoi(value); parse == nil {
		after = time.Duration(min(max(seconds, 0), int(maxFailureMemory/time.Second))) * time.Second
	} else if at, parse := http.ParseTime(value); parse == nil {
		after = time.Until(at)
	}
	if after <= 0 {
		return err
	}
	return busyError{fmt.Errorf("%w; it is asked again when it allows it, at the latest after %s", err, maxFailureMemory), after}
}
