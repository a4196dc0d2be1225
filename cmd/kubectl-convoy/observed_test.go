package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// answers is a server that answers what a test puts in, in the shape of the API: what a cluster of one's own can hardly be brought to say.
type answers struct {
	release  *v1alpha1.Release                  // nil: the user may not see it
	history  []subresources.ReleaseHistoryEntry // the newest first
	diff     *subresources.ReleaseDiff
	render   *subresources.ReleaseRender
	warning  string
	failures map[string]error // by subresource
	gate     chan struct{}    // if there is one, subresources answer once it is closed

	mu    sync.Mutex
	asked []string // the queries for subresources
}

// start serves until the test ends, and returns the flags that lead there.
func (a *answers) start(t *testing.T) []string {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--kubeconfig", config, "--server", server.URL, "-n", "apps"}
}

// does executes a command against the server.
func (a *answers) does(t *testing.T, line string) outcome {
	t.Helper()
	return execute(t.Context(), append(strings.Fields(line), a.start(t)...)...)
}

const (
	releasePath     = "/apis/convoy.dev/v1alpha1/namespaces/apps/releases/podinfo"
	subresourcePath = "/apis/subresources.convoy.dev/v1alpha1/namespaces/apps/releases/podinfo/"
)

// ServeHTTP implements http.Handler.
func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	subresource, isSubresource := strings.CutPrefix(r.URL.Path, subresourcePath)
	switch {
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		write(w, http.StatusCreated, &authorizationv1.SelfSubjectAccessReview{})
	case r.URL.Path == releasePath && a.release == nil:
		fail(w, apierrors.NewForbidden(schema.GroupResource{Group: "convoy.dev", Resource: "releases"}, "podinfo", nil))
	case r.URL.Path == releasePath:
		write(w, http.StatusOK, a.release)
	case isSubresource:
		a.observe(w, r, subresource)
	default:
		http.NotFound(w, r)
	}
}

func (a *answers) observe(w http.ResponseWriter, r *http.Request, subresource string) {
	query := r.URL.Query()
	query.Del("timeout") // that of the client
	a.mu.Lock()
	a.asked = append(a.asked, subresource+"?"+query.Encode())
	a.mu.Unlock()
	if a.gate != nil {
		select {
		case <-a.gate:
		case <-r.Context().Done():
		}
	}
	if err := a.failures[subresource]; err != nil {
		fail(w, err)
		return
	}
	if a.warning != "" {
		w.Header().Add("Warning", fmt.Sprintf(`299 - "%s"`, a.warning))
	}
	switch subresource {
	case historySubresource:
		write(w, http.StatusOK, a.page(query.Get("limit"), query.Get("continue")))
	case diffSubresource:
		write(w, http.StatusOK, a.diff)
	case renderSubresource:
		write(w, http.StatusOK, a.render)
	}
}

// page is a page of the history, whose token is the number of entries before the next one.
func (a *answers) page(limit, from string) *subresources.ReleaseHistory {
	first, _ := strconv.Atoi(from)
	size, _ := strconv.Atoi(limit)
	end := min(first+size, len(a.history))
	history := &subresources.ReleaseHistory{Items: a.history[first:end]}
	history.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleaseHistory"))
	if left := int64(len(a.history) - end); left > 0 {
		history.Continue, history.RemainingItemCount = strconv.Itoa(end), &left
	}
	return history
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// fail answers with a Status, or, if the error has none, as something in between would.
func fail(w http.ResponseWriter, err error) {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	body := status.Status()
	body.APIVersion, body.Kind = "v1", "Status"
	write(w, int(body.Code), body)
}

// refused is an answer of convoy-observer: a Status with a message, and no details.
func refused(code int, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}}
}

// entry is an entry of a history, of some time before noon.
func entry(ref, revision string, ago time.Duration) subresources.ReleaseHistoryEntry {
	return subresources.ReleaseHistoryEntry{
		RenderRef: ref, SyncedAt: metav1.NewMicroTime(noon.Add(-ago)), Size: ptr.To(int64(12345)),
		Summary: "https://git.example.com/team/podinfo.git@main@sha1:" + revision,
	}
}

// many are entries of renders of which each begins with its number.
func many(count int) []subresources.ReleaseHistoryEntry {
	entries := make([]subresources.ReleaseHistoryEntry, count)
	for i := range entries {
		entries[i] = entry(fmt.Sprintf("sha256:%08d%s", i, strings.Repeat("e", 56)), strconv.Itoa(i), time.Duration(i)*time.Hour)
	}
	return entries
}
