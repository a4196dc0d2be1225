package observer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// userHeader has the name of the user for whom convoy-apiserver asks, with percent signs as in a path. It is for the log.
const userHeader = "X-Convoy-User"

// warningCode is that of a warning that a client shows.
const warningCode = 299

// onlyClient keeps everybody out whose certificate is for another name. That the client CA signed it, TLS has seen to.
func (s *Server) onlyClient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := ""
		if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
			name = r.TLS.VerifiedChains[0][0].Subject.CommonName
		}
		if name != s.ClientName {
			s.Log.Info("Refused a client", "certificate", name, "want", s.ClientName, "path", r.URL.Path)
			write(w, nil, failure(metav1.StatusReasonForbidden, "the observer answers %s alone, not %q: ask kube-apiserver", s.ClientName, name))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve answers requests of one kind, within a deadline, and notes them.
func (s *Server) serve(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		ctx, cancel := context.WithTimeout(r.Context(), requestDeadline)
		defer cancel()
		object, err := s.answer(ctx, e, w.Header(), r)
		if err != nil && ctx.Err() != nil {
			err = failure(metav1.StatusReasonTimeout, "the answer was not there within %s, try again: %w", requestDeadline, err)
		}
		code := write(w, object, err)
		took := time.Since(started)
		s.Metrics.request(e.name, code, took)
		s.note(r, code, took, err)
	})
}

// note logs a request. Errors never hold credentials or values of Secrets.
func (s *Server) note(r *http.Request, code int, took time.Duration, err error) {
	user, unescapeErr := url.PathUnescape(r.Header.Get(userHeader))
	if unescapeErr != nil {
		user = r.Header.Get(userHeader)
	}
	values := []any{"user", user, "path", r.URL.Path, "code", code, "took", took.String()}
	if err != nil {
		values = append(values, "error", err.Error())
	}
	s.Log.Info("Answered a request", values...)
}

// answer finds what a request is about, and the answer.
func (s *Server) answer(ctx context.Context, e endpoint, header http.Header, r *http.Request) (object runtime.Object, err error) {
	defer func() {
		if p := recover(); p != nil { // whatever it says may quote an object
			s.Log.Error(fmt.Errorf("panic of type %T", p), "A request was not answered", "path", r.URL.Path, "stack", string(debug.Stack()))
			err = failure(metav1.StatusReasonInternalError, "the observer has met a defect of its own: see its log")
		}
	}()
	if e.answer == nil {
		return nil, failure(metav1.StatusReasonNotFound, "the observer serves no %s %s", r.Method, r.URL.Path)
	}
	if !e.slots.take() {
		return nil, failure(metav1.StatusReasonTooManyRequests, "the observer works on %d such requests already: try again in a moment", cap(e.slots))
	}
	defer e.slots.giveBack()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, failure(metav1.StatusReasonInvalid, "the query of the URL: %w", err)
	}
	release, err := s.release(ctx, r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	warn := func(text string) {
		if value, err := utilnet.NewWarningHeader(warningCode, "-", text); err == nil {
			header.Add("Warning", value)
		}
	}
	return e.answer(ctx, request{release, s.Store.Archive(release.Namespace, release.Name), query, warn})
}

// release reads the Release.
func (s *Server) release(ctx context.Context, namespace, name string) (*v1alpha1.Release, error) {
	release := &v1alpha1.Release{}
	if err := s.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, release); err != nil {
		return nil, clusterFailure("read the Release", err)
	}
	return release, nil
}

// write writes an answer, or an error, and returns its code.
func write(w http.ResponseWriter, object any, err error) int {
	code := http.StatusOK
	if err != nil {
		status := statusOf(err)
		code, object = int(status.Code), status
		if details := status.Details; details != nil && details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(details.RetryAfterSeconds)))
		}
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // a client that is gone needs no answer
	return code
}
