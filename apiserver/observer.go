package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	clientrest "k8s.io/client-go/rest"
)

const (
	// observerDeadline is how long the observer may take. It has one of its own, which is shorter.
	observerDeadline = 55 * time.Second

	// userHeader tells the observer who asks, with percent signs as in a path: names of users may be any text.
	userHeader = "X-Convoy-User"
)

// passedQuery are the query parameters that the observer gets.
var passedQuery = []string{"render", "limit", "continue"}

// ObserverOptions say where convoy-observer is, and how it knows convoy-apiserver.
type ObserverOptions struct {
	// URL of the observer, such as https://convoy-observer.convoy-system.svc. Empty: there is none.
	URL string

	// CAFile, CertFile and KeyFile are the authority of the observer's certificate, and the certificate and key to show it, in PEM. They
	// may be renewed at any time. Required with a URL.
	CAFile, CertFile, KeyFile string
}

func (o *ObserverOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.URL, "observer-url", o.URL, "The URL of convoy-observer, which serves the history, diffs and renders of Releases. "+
		"Empty: these answer 503.")
	flags.StringVar(&o.CAFile, "observer-ca-file", o.CAFile, "The authority of the certificate of convoy-observer, in PEM.")
	flags.StringVar(&o.CertFile, "observer-client-cert-file", o.CertFile, "The certificate to show convoy-observer, in PEM.")
	flags.StringVar(&o.KeyFile, "observer-client-key-file", o.KeyFile, "The key of that certificate, in PEM.")
}

func (o *ObserverOptions) check() error {
	if o.URL == "" {
		return nil
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("flag --observer-url: want one such as https://convoy-observer.convoy-system.svc")
	}
	if o.CAFile == "" || o.CertFile == "" || o.KeyFile == "" {
		return errors.New("flags --observer-ca-file, --observer-client-cert-file and --observer-client-key-file: want all three with --observer-url")
	}
	return nil
}

// observer is convoy-observer, as this server reaches it.
type observer struct {
	url       *url.URL // nil if there is none
	transport http.RoundTripper
}

func newObserver(o ObserverOptions) (*observer, error) {
	if o.URL == "" {
		return &observer{}, nil
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	transport, err := clientrest.TransportFor(&clientrest.Config{
		TLSClientConfig: clientrest.TLSClientConfig{CAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile},
	})
	if err != nil {
		return nil, fmt.Errorf("reach convoy-observer: %w", err)
	}
	return &observer{url: u.JoinPath("/"), transport: transport}, nil
}

// observed serves a subresource that the observer answers.
type observed struct {
	observer    *observer
	subresource string
	kind        func() runtime.Object
}

var (
	_ rest.Connecter       = &observed{}
	_ rest.StorageMetadata = &observed{}
)

// New returns an object of the kind that is answered.
func (s *observed) New() runtime.Object { return s.kind() }

// Destroy has nothing to let go of.
func (*observed) Destroy() {}

// ConnectMethods are the methods that are served.
func (*observed) ConnectMethods() []string { return []string{http.MethodGet} }

// NewConnectOptions leaves the query to the observer.
func (*observed) NewConnectOptions() (options runtime.Object, hasPath bool, path string) {
	return nil, false, ""
}

// ProducesMIMETypes is for the OpenAPI document.
func (*observed) ProducesMIMETypes(string) []string { return []string{runtime.ContentTypeJSON} }

// ProducesObject is for the OpenAPI document.
func (s *observed) ProducesObject(string) any { return s.kind() }

// Connect passes a request on.
func (s *observed) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	if s.observer.url == nil {
		return nil, apierrors.NewServiceUnavailable("convoy-apiserver has no observer, which serves the history, diffs and renders: " +
			"run convoy-observer, and give convoy-apiserver the flag --observer-url")
	}
	user, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewInternalError(errors.New("the request has no user"))
	}
	target := s.observer.url.JoinPath("apis", groupVersion.Group, groupVersion.Version,
		"namespaces", url.PathEscape(request.NamespaceValue(ctx)), "releases", url.PathEscape(name), s.subresource)
	proxy := &httputil.ReverseProxy{
		Transport:      s.observer.transport,
		Rewrite:        func(r *httputil.ProxyRequest) { rewrite(r, target, user.GetName()) },
		ModifyResponse: checkResponse,
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, err error) { responder.Error(s.observer.failure(err)) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), observerDeadline)
		defer cancel()
		proxy.ServeHTTP(w, r.WithContext(ctx))
	}), nil
}

// rewrite makes the request for the observer, with nothing of the caller but what is meant for it.
func rewrite(r *httputil.ProxyRequest, target *url.URL, user string) {
	query, header := url.Values{}, http.Header{}
	for _, name := range passedQuery {
		if values, ok := r.In.URL.Query()[name]; ok {
			query[name] = values
		}
	}
	for name, values := range r.In.Header {
		if strings.HasPrefix(name, "Accept") {
			header[name] = values
		}
	}
	header.Set(userHeader, url.PathEscape(user))
	to := *target
	to.RawQuery = query.Encode()
	r.Out.URL, r.Out.Host, r.Out.Header = &to, target.Host, header
}

// checkResponse rejects an answer that is none of an observer to a user: it comes from something in between, or is about this server.
func checkResponse(response *http.Response) error {
	contentType, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	switch {
	case contentType != runtime.ContentTypeJSON:
		return fmt.Errorf("what answers there is no observer: %s, with %q", response.Status, contentType)
	case response.StatusCode == http.StatusForbidden:
		return errors.New("it refuses the certificate of convoy-apiserver: see its --client-name")
	}
	return nil
}

// failure says that there is no answer, and what to do.
func (o *observer) failure(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return apierrors.NewTimeoutError(fmt.Sprintf("convoy-observer did not answer within %s: try again, and see its log", observerDeadline), 0)
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("convoy-observer at %s cannot be asked: %v; see whether it runs, and its log", o.url, err))
}
