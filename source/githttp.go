package source

import (
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// httpConversation is a conversation over connections of its own.
type httpConversation struct {
	transport.UploadPackSession
	connections *connections
}

// dialHTTP prepares a conversation over https or http; it connects with the first request. The first request may be redirected, to
// another host too, which then gets no credentials; a redirect from https to http is refused.
func (d dialer) dialHTTP(u *url.URL, c credentials) (conversation, error) {
	port, _ := strconv.Atoi(u.Port()) // 0, the default of the scheme, if there is none
	host := u.Hostname()
	if net.ParseIP(host).To4() == nil && net.ParseIP(host) != nil {
		host = "[" + host + "]"
	}
	endpoint := &transport.Endpoint{Protocol: u.Scheme, Host: host, Port: port, Path: strings.TrimRight(u.EscapedPath(), "/")}
	connections := newConnections(u, c)
	client := githttp.NewClient(&http.Client{Transport: &gitOnly{connections: connections, credentials: c, limits: d.limits}})
	session, err := client.NewUploadPackSession(endpoint, c.httpAuth())
	if err != nil {
		return nil, err
	}
	return httpConversation{UploadPackSession: session, connections: connections}, nil
}

// Close implements conversation.
func (c httpConversation) Close() error {
	defer c.connections.close()
	return c.UploadPackSession.Close()
}

// httpAuth is what is added to every request to the host of the URL.
func (c credentials) httpAuth() transport.AuthMethod {
	switch {
	case c.bearerToken != "":
		return &githttp.TokenAuth{Token: c.bearerToken}
	case c.password != "":
		return &githttp.BasicAuth{Username: c.username, Password: c.password}
	default:
		return nil
	}
}

// gitOnly lets through the answers of Git servers and redirects. Everything else becomes an error without what the server wrote,
// since that is a page for people at best.
type gitOnly struct {
	connections *connections
	credentials credentials
	limits      limits
}

// RoundTrip implements http.RoundTripper.
func (g *gitOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := g.connections.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 3 && res.Header.Get("Location") != "" {
		return res, nil
	}
	if err := g.check(req, res); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	limited := g.limits.response(res.Body)
	if req.Method == http.MethodGet {
		limited = g.limits.listing(res.Body)
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{limited, res.Body}
	return res, nil
}

func (g *gitOnly) check(req *http.Request, res *http.Response) error {
	if err := g.credentials.refusal(res, "repository"); err != nil {
		return err
	}
	contentType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // a malformed one is not Git's either
	if req.Method == http.MethodGet && contentType != "application/x-git-upload-pack-advertisement" {
		return fmt.Errorf("the server answers with %q, not with Git: is this the URL of a repository?", contentType)
	}
	return nil
}
