package observer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
	"github.com/convoy-dev/convoy/source"
)

// slowFetcher takes as long as it is let.
type slowFetcher struct{}

func (slowFetcher) Fetch(ctx context.Context, _ source.Request) (*source.Artifact, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// answer is what a server answers convoy-apiserver.
func answer(t *testing.T, o Options, what string) *httptest.ResponseRecorder {
	t.Helper()
	release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
	o.Reader = fake.NewClientBuilder().WithScheme(testenv.Scheme()).WithObjects([]client.Object{release}...).Build()
	o.Metrics, o.ClientName, o.Log = NewMetrics(prometheus.NewRegistry()), "convoy-apiserver", logr.Discard()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, pathPrefix+"/namespaces/team/releases/app/"+what, http.NoBody)
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: "convoy-apiserver"}}}}}
	w := httptest.NewRecorder()
	New(o).Handler().ServeHTTP(w, r)
	return w
}

// The specs are too short to wait for deadlines, so here the clock is the test's.
func TestARequestEndsAtItsDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		what string
		code int
		want string
		took time.Duration
	}{
		"a store that hangs":  {"history", http.StatusServiceUnavailable, "the render store cannot be read", renderstore.OperationTimeout},
		"a source that hangs": {"diff", http.StatusGatewayTimeout, "the answer was not there within 50s, try again", requestDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, faults, err := faultstore.Wrap(t.Context(), "mem://")
				if err != nil {
					t.Fatal(err)
				}
				faults.Inject(faultstore.Fault{Effect: faultstore.Hang})
				started := time.Now()
				got := answer(t, Options{Store: store, Fetcher: slowFetcher{}}, tc.what)
				if got.Code != tc.code || !strings.Contains(got.Body.String(), tc.want) {
					t.Errorf("got %d %s, want %d %s", got.Code, got.Body, tc.code, tc.want)
				}
				if took := time.Since(started); took < tc.took || took > tc.took+2*time.Second {
					t.Errorf("it took %s, want %s", took, tc.took)
				}
			})
		})
	}
}

func TestWhatIsNotServedIsNotFound(t *testing.T) {
	store, err := renderstore.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"pin", "history/x", ""} {
		if got := answer(t, Options{Store: store}, what); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), `"kind":"Status"`) {
			t.Errorf("%s: got %d %s", what, got.Code, got.Body)
		}
	}
}
