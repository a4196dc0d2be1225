package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// recorder notes the requests that passes send. What the watches ask is not among them.
type recorder struct {
	mu       sync.Mutex
	requests []string
}

// wrap records what a client with the config sends.
func (r *recorder) wrap(original *rest.Config) *rest.Config {
	recorded := rest.CopyConfig(original)
	recorded.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			r.mu.Lock()
			r.requests = append(r.requests, req.Method+" "+req.URL.RequestURI())
			r.mu.Unlock()
			return next.RoundTrip(req)
		})
	})
	return recorded
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

// during are the requests while f runs.
func (r *recorder) during(f func()) []string {
	before := len(r.all())
	f()
	return r.all()[before:]
}

// quiet waits until no pass has sent a request for a while.
func (r *recorder) quiet() {
	GinkgoHelper()
	last, since := len(r.all()), time.Now()
	Eventually(func() time.Duration {
		if n := len(r.all()); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since)
	}).WithTimeout(time.Minute).WithPolling(20 * time.Millisecond).Should(BeNumerically(">", 1500*time.Millisecond))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// watch runs the controller of the world with the watches of a running one, over the Releases of its namespace, and records what its
// passes send.
func (w *world) watch() *recorder {
	GinkgoHelper()
	requests := &recorder{}
	recorded := requests.wrap(env.Config)
	targets, err := controllers.NewTargets(recorded)
	Expect(err).NotTo(HaveOccurred())
	own, err := client.New(recorded, client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	anyName := true
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:     testenv.Scheme(),
		Metrics:    server.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: &anyName},
	})
	Expect(err).NotTo(HaveOccurred())
	w.registry = prometheus.NewRegistry()
	in, err := inputs.New(env.Config, own)
	Expect(err).NotTo(HaveOccurred())
	w.controller = controllers.New(controllers.ReleaseReconciler{
		Client: own, Fetcher: w.source, Inputs: in, Store: w.store, Targets: targets, Memory: apply.NewMemory(w.clock),
		Events: w.events, Clock: w.clock, Metrics: controllers.NewMetrics(w.registry),
	})
	ctx, cancel := context.WithCancel(context.Background())
	Expect(w.controller.SetupWithManager(ctx, mgr, 1)).To(Succeed())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).WithTimeout(30 * time.Second).Should(Receive(Succeed()))
	})
	return requests
}

// ready waits until the running controller has brought a Release to what the source holds.
func (w *world) ready(name string) *v1alpha1.Release {
	GinkgoHelper()
	var release *v1alpha1.Release
	Eventually(func(g Gomega) {
		release = w.get(name)
		g.Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
	}).WithTimeout(2 * time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
	return release
}

var _ = Describe("The requests of a pass", func() {
	const objects = 1000

	render := func(changed string) map[string]string {
		var all strings.Builder
		for i := range objects - 2 {
			value := "same"
			if i == 7 {
				value = changed
			}
			all.WriteString(configMap(fmt.Sprintf("cm-%d", i), value) + "---\n")
		}
		return map[string]string{"maps.yaml": all.String(), "more.yaml": webService + "---\n" + secret("web")}
	}

	It("are at most 5 if nothing changed, and at most 10 if one of 1,000 objects did", func() {
		clusterOfItsOwn()
		w := newWorld()
		requests := w.watch()
		w.commit("v1", render("same"))
		w.create("app")
		w.ready("app")
		requests.quiet()

		idle := requests.during(func() { w.pass("app") })
		AddReportEntry("a pass that changes nothing", len(idle))
		Expect(len(idle)).To(BeNumerically("<=", 5), strings.Join(idle, "\n"))

		By("a change of one object in the source")
		w.commit("v2", render("other"))
		changed := requests.during(func() { w.pass("app") })
		AddReportEntry("a pass that changes one object", len(changed))
		Expect(len(changed)).To(BeNumerically("<=", 10), strings.Join(changed, "\n"))
		Expect(w.live("v1", "ConfigMap", "cm-7").Object["data"]).To(HaveKeyWithValue("key", "other"))
		requests.quiet()

		By("a change of one object by hand")
		drifted := requests.during(func() {
			merge(w.live("v1", "ConfigMap", "cm-3"), `{"data":{"key":"by hand"}}`)
			Eventually(func() any { return w.live("v1", "ConfigMap", "cm-3").Object["data"] }).
				WithTimeout(10 * time.Second).Should(HaveKeyWithValue("key", "same"))
			requests.quiet()
		})
		AddReportEntry("all passes that put one object back", len(drifted))
		Expect(len(drifted)).To(BeNumerically("<=", 20), "two passes: the one that puts back, and that of its event\n"+strings.Join(drifted, "\n"))

		By("a source that is down")
		w.source.Fail(fmt.Errorf("no route to host"))
		down := requests.during(func() { w.pass("app") })
		AddReportEntry("a pass while the source is down", len(down))
		Expect(len(down)).To(BeNumerically("<=", 5), strings.Join(down, "\n"))
	})
})

const webService = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
`

func secret(name string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData: {user: web}\n"
}
