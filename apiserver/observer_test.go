package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// answered is what a caller of releases/history got: the answer of the observer, or an error of this server.
type answered struct {
	*httptest.ResponseRecorder
	err error
}

func (a *answered) Error(err error)            { a.err = err }
func (a *answered) Object(int, runtime.Object) {}

// ask asks for the history of team/app, as a user, of an observer.
func ask(t *testing.T, o *observer, name, query string, header http.Header) *answered {
	t.Helper()
	a := &answered{ResponseRecorder: httptest.NewRecorder()}
	ctx := request.WithUser(request.WithNamespace(t.Context(), "team"), &user.DefaultInfo{Name: name})
	storage := &observed{o, "history", func() runtime.Object { return &subresources.ReleaseHistory{} }}
	handler, err := storage.Connect(ctx, "app", nil, a)
	if err != nil {
		a.err = err
		return a
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis/x/namespaces/team/releases/app/history?"+query, http.NoBody)
	r.Header = header
	handler.ServeHTTP(a, r)
	return a
}

// observerAt is an observer that answers so.
func observerAt(t *testing.T, answer http.HandlerFunc) *observer {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	return &observer{url: u, transport: server.Client().Transport}
}

func TestARequestForTheObserverHasNothingOfTheCallerButWhatIsMeantForIt(t *testing.T) {
	var got *http.Request
	o := observerAt(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", `299 - "mind"`)
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]string{"kind": "Status"})
	})
	a := ask(t, o, "ünder/the sea", "limit=2&continue=x&render=y&dryRun=All&as=admin", http.Header{
		"Accept": {"application/json"}, "Authorization": {"Bearer secret"}, "Cookie": {"a=b"}, "X-Remote-User": {"admin"},
		"Impersonate-User": {"admin"}, "X-Convoy-User": {"admin"}, "X-Forwarded-For": {"10.0.0.1"},
	})
	if a.err != nil || a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), `"kind":"Status"`) || a.Header().Get("Warning") == "" {
		t.Errorf("got %d %s %v %v", a.Code, a.Body, a.Header(), a.err)
	}
	if want := "/apis/subresources.convoy.dev/v1alpha1/namespaces/team/releases/app/history"; got.URL.Path != want {
		t.Errorf("path %s, want %s", got.URL.Path, want)
	}
	if diff := cmp.Diff(url.Values{"limit": {"2"}, "continue": {"x"}, "render": {"y"}}, got.URL.Query()); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	got.Header.Del("Accept-Encoding") // Go's own
	if diff := cmp.Diff(http.Header{"Accept": {"application/json"}, "X-Convoy-User": {"%C3%BCnder%2Fthe%20sea"}}, got.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestAnObserverThatCannotBeAskedIsNamed(t *testing.T) {
	gone := observerAt(t, nil)
	gone.url.Host = "127.0.0.1:1"
	late := observerAt(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	late.transport = lateTransport{}
	for name, tc := range map[string]struct {
		observer *observer
		code     int32
		want     string
	}{
		"there is none":     {&observer{}, http.StatusServiceUnavailable, "give convoy-apiserver the flag --observer-url"},
		"nobody listens":    {gone, http.StatusServiceUnavailable, "convoy-observer at https://127.0.0.1:1/ cannot be asked: dial tcp 127.0.0.1:1: connect: connection refused; see whether it runs"},
		"it takes too long": {late, http.StatusGatewayTimeout, "convoy-observer did not answer within 55s: try again"},
		"it is something else": {observerAt(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }),
			http.StatusServiceUnavailable, `what answers there is no observer: 502 Bad Gateway, with "text/plain"`},
		"it refuses our certificate": {observerAt(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
		}), http.StatusServiceUnavailable, "it refuses the certificate of convoy-apiserver: see its --client-name"},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, tc.observer, "alice", "", http.Header{})
			var status apierrors.APIStatus
			if !errors.As(a.err, &status) {
				t.Fatalf("got %v", a.err)
			}
			if status.Status().Code != tc.code || !strings.Contains(status.Status().Message, tc.want) {
				t.Errorf("got %d %s, want %d %s", status.Status().Code, status.Status().Message, tc.code, tc.want)
			}
		})
	}
}

// lateTransport is a network on which nothing arrives in time.
type lateTransport struct{}

func (lateTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, context.DeadlineExceeded
}

func TestTheFlagsOfTheObserverAreCheckedAtStart(t *testing.T) {
	for want, o := range map[string]ObserverOptions{
		"":                                   {},
		"flag --observer-url":                {URL: "http://observer", CAFile: "a", CertFile: "b", KeyFile: "c"},
		"flags --observer-ca-file":           {URL: "https://observer", CAFile: "a", CertFile: "b"},
		"flag --observer-url: want one such": {URL: "observer", CAFile: "a", CertFile: "b", KeyFile: "c"},
	} {
		err := o.check()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", o, err, want)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := newObserver(ObserverOptions{URL: "https://observer", CAFile: missing, CertFile: missing, KeyFile: missing}); err == nil {
		t.Error("files that are not there are no error")
	}
}
