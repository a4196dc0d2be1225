package inputs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/convoy-dev/convoy/render"
)

// TestAnAPIThatIsDownDoesNotChangeWhatChartsSee: one aggregated API that does not answer must not fail all charts, and not look as if its kinds
// were gone.
func TestAnAPIThatIsDownDoesNotChangeWhatChartsSee(t *testing.T) {
	var down atomic.Bool
	answers := map[string]any{
		"/version": version.Info{GitVersion: "v1.33.0"},
		"/api":     metav1.APIVersions{Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "metrics.k8s.io", Versions: []metav1.GroupVersionForDiscovery{
			{GroupVersion: "metrics.k8s.io/v1beta1", Version: "v1beta1"},
		}}}},
		"/api/v1":                      metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}}},
		"/apis/metrics.k8s.io/v1beta1": metav1.APIResourceList{GroupVersion: "metrics.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "PodMetrics"}}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok || (down.Load() && strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/")) {
			http.Error(w, "the API is down", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	r, err := New(&rest.Config{Host: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	down.Store(true)
	if _, err := r.target(t.Context()); err == nil || !strings.Contains(err.Error(), "metrics.k8s.io") {
		t.Errorf("nothing is known yet, and an API is down: error %v, want one that names it", err)
	}
	down.Store(false)
	want := render.Capabilities{KubeVersion: "v1.33.0", APIVersions: []string{"metrics.k8s.io/v1beta1", "metrics.k8s.io/v1beta1/PodMetrics", "v1", "v1/Pod"}}
	for range 2 {
		got, err := r.target(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("down %t: error %v, want (-), got (+):\n%s", down.Load(), err, diff)
		}
		down.Store(true)
		r.seen = time.Now().Add(-2 * capabilitiesAge)
	}
}
