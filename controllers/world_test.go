package controllers_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
	"github.com/convoy-dev/convoy/source"
)

// world is a namespace of the API server with a controller whose passes the spec starts by hand. Source, store and clock are the
// spec's to change and to break.
type world struct {
	namespace string
	source    *source.Static
	store     *renderstore.Store
	faults    *faultstore.Faults
	clock     *clocktesting.FakePassiveClock
	events    *testenv.EventLog
	registry  *prometheus.Registry // of the metrics

	controller *controllers.ReleaseReconciler
}

// newWorld makes a world with a store in memory.
func newWorld() *world { return newWorldWithStore("mem://") }

// newWorldWithStore makes a world with the render store of a URL; empty for none.
func newWorldWithStore(url string) *world {
	GinkgoHelper()
	w := &world{
		namespace: env.Namespace(GinkgoTB()),
		source:    source.NewStatic("v0", fstest.MapFS{}),
		clock:     clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second)),
		events:    &testenv.EventLog{},
	}
	var err error
	w.store, w.faults, err = faultstore.Wrap(context.Background(), url)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.store.Close)
	w.restart()
	return w
}

// restart forgets all that the controller's process held in memory.
func (w *world) restart() {
	GinkgoHelper()
	targets, err := controllers.NewTargets(env.Config)
	Expect(err).NotTo(HaveOccurred())
	w.registry = prometheus.NewRegistry()
	in, err := inputs.New(env.Config, env.Client)
	Expect(err).NotTo(HaveOccurred())
	w.controller = controllers.New(controllers.ReleaseReconciler{
		Client: env.Client, Fetcher: w.source, Inputs: in, Store: w.store, Targets: targets, Memory: apply.NewMemory(w.clock),
		Watcher: unwatched{}, Events: w.events, Clock: w.clock, Metrics: controllers.NewMetrics(w.registry),
	})
}

// commit makes the source hold these files.
func (w *world) commit(revision string, files map[string]string) {
	w.source.Set(revision, filesOf(files))
}

func filesOf(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

// create makes a Release that deploys what the source holds, after the changes.
func (w *world) create(name string, change ...func(*v1alpha1.Release)) *v1alpha1.Release {
	GinkgoHelper()
	release := &v1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace},
		Spec: v1alpha1.ReleaseSpec{
			Source: v1alpha1.Source{Git: &v1alpha1.GitSource{URL: "https://git.example.com/team/app.git"}},
			// Defaults are filled in by the API server.
		},
	}
	for _, c := range change {
		c(release)
	}
	Expect(env.Client.Create(context.Background(), release)).To(Succeed())
	return release
}

// deployed makes Release app of these manifests, and waits until all is well.
func (w *world) deployed(files map[string]string) *world {
	GinkgoHelper()
	w.create("app")
	w.commit("v1", files)
	release := w.settle("app")
	Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
	return w
}

// commitLater lets a second go by, so that rollouts are told apart, and commits.
func (w *world) commitLater(revision string, files map[string]string) {
	w.pause(time.Second)
	w.commit(revision, files)
}

// pass runs one pass over a Release.
func (w *world) pass(name string) reconcile.Result {
	GinkgoHelper()
	result, err := w.controller.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: name}})
	Expect(err).NotTo(HaveOccurred())
	return result
}

// settle runs passes until the Release waits for nothing: a pass that changed nothing in its status and is not in progress. It
// stands in for the watches, which start these passes in a running controller.
func (w *world) settle(name string) *v1alpha1.Release {
	GinkgoHelper()
	var release *v1alpha1.Release
	Eventually(func(g Gomega) {
		before := w.find(name)
		w.pass(name)
		release = w.find(name)
		if before == nil || release == nil {
			return
		}
		g.Expect(release.ResourceVersion).To(Equal(before.ResourceVersion), "the status still changes")
		waitsForCluster := release.Status.Sync != nil && release.Status.Sync.Phase != v1alpha1.SyncPhaseHealth
		g.Expect(waitsForCluster && meta.IsStatusConditionTrue(release.Status.Conditions, v1alpha1.ConditionReconciling)).To(BeFalse(), "still in progress: "+message(release, v1alpha1.ConditionApplied))
	}).WithTimeout(2 * time.Minute).WithPolling(10 * time.Millisecond).Should(Succeed())
	return release
}

// get reads a Release.
func (w *world) get(name string) *v1alpha1.Release {
	GinkgoHelper()
	release := w.find(name)
	Expect(release).NotTo(BeNil(), "Release %s is gone", name)
	return release
}

// find reads a Release; nil if it is gone.
func (w *world) find(name string) *v1alpha1.Release {
	GinkgoHelper()
	release := &v1alpha1.Release{}
	err := env.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: name}, release)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return release
}

// edit changes a Release as a user would.
func (w *world) edit(name string, change func(*v1alpha1.Release)) {
	GinkgoHelper()
	release := w.get(name)
	base := release.DeepCopy()
	change(release)
	Expect(env.Client.Patch(context.Background(), release, client.MergeFrom(base))).To(Succeed())
}

// archive is the part of the store that belongs to a Release.
func (w *world) archive(name string) *renderstore.Archive { return w.store.Archive(w.namespace, name) }

// condition reads "status reason" of a condition of a Release; empty if it has none.
func condition(release *v1alpha1.Release, name string) string {
	c := meta.FindStatusCondition(release.Status.Conditions, name)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

// message reads the message of a condition of a Release.
func message(release *v1alpha1.Release, name string) string {
	c := meta.FindStatusCondition(release.Status.Conditions, name)
	if c == nil {
		return ""
	}
	return c.Message
}

// configMap is the manifest of a ConfigMap with one key.
func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  key: %q\n", name, value)
}

// unwatched starts no passes: the spec does.
type unwatched struct{}

func (unwatched) Metadata(context.Context, live.Target) (*metav1.ObjectMeta, bool) { return nil, false }

func (unwatched) Ensure(context.Context, *apply.Plan) error { return nil }
