package observer_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/internal/gitserver"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/observer"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
	"github.com/convoy-dev/convoy/source"
)

// world is a namespace with a Git repository, a render store, a controller whose passes the spec starts by hand, and the observer, which
// reads the same store and repository.
type world struct {
	namespace  string
	repository *gitserver.Repository
	url        string
	dir        string // of the store; empty if there is none
	store      *renderstore.Store
	faults     *faultstore.Faults // of what the observer reads
	events     *testenv.EventLog
	controller *controllers.ReleaseReconciler
	changes    []func(*observer.Options)
}

// newWorld makes a world with a store on disk.
func newWorld() *world {
	GinkgoHelper()
	dir := GinkgoTB().TempDir()
	w := newWorldWithStore("file://" + dir + "?no_tmp_dir=true")
	w.dir = dir
	return w
}

// newWorldWithStore makes a world with the store of a URL; empty for none.
func newWorldWithStore(url string) *world {
	GinkgoHelper()
	w := &world{namespace: env.Namespace(GinkgoTB()), events: &testenv.EventLog{}}
	var err error
	name := w.namespace + ".git"
	w.repository, err = gitserver.Init(filepath.Join(gitRoot, name))
	Expect(err).NotTo(HaveOccurred())
	w.url = git.URL(name)
	w.store, err = renderstore.Open(context.Background(), url)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.store.Close)
	read, faults, err := faultstore.Wrap(context.Background(), url)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(read.Close)
	w.faults = faults
	w.observe(func(o *observer.Options) { o.Store = read })
	w.restart()
	return w
}

// observe changes with what the observer answers, until the spec ends.
func (w *world) observe(change func(*observer.Options)) {
	w.changes = append(w.changes, change)
	watcher.Use(func(o *observer.Options) {
		o.Log = logger.WithName("observer")
		for _, change := range w.changes {
			change(o)
		}
	})
	DeferCleanup(func() { watcher.Use(func(*observer.Options) {}) })
}

// restart forgets all that the controller's process held in memory, as if it started anew.
func (w *world) restart() {
	GinkgoHelper()
	targets, err := controllers.NewTargets(env.Config)
	Expect(err).NotTo(HaveOccurred())
	fetcher, err := source.NewFetcher(source.Options{Reader: env.Client, CacheDir: GinkgoTB().TempDir()})
	Expect(err).NotTo(HaveOccurred())
	in, err := inputs.New(env.Config, env.Client)
	Expect(err).NotTo(HaveOccurred())
	w.controller = controllers.New(controllers.ReleaseReconciler{
		Client: env.Client, Fetcher: fetcher, Inputs: in, Store: w.store, Targets: targets, Memory: apply.NewMemory(clock.RealClock{}),
		Watcher: unwatched{}, Events: w.events, Clock: clock.RealClock{}, Metrics: controllers.NewMetrics(prometheus.NewRegistry()),
	})
}

// commit makes the repository hold these files, and no others.
func (w *world) commit(files map[string]string) {
	GinkgoHelper()
	dir := GinkgoTB().TempDir()
	for name, content := range files {
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
	}
	_, err := w.repository.CommitDir("change", dir)
	Expect(err).NotTo(HaveOccurred())
}

// create makes a Release that deploys what the repository holds, after the changes.
func (w *world) create(change ...func(*v1alpha1.Release)) *v1alpha1.Release {
	GinkgoHelper()
	release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: w.namespace}}
	release.Spec.Source.Git = &v1alpha1.GitSource{URL: w.url}
	for _, c := range change {
		c(release)
	}
	Expect(env.Client.Create(context.Background(), release)).To(Succeed())
	return release
}

// manual lets new renders wait for a request to sync.
func manual(release *v1alpha1.Release) { release.Spec.SyncPolicy.Mode = v1alpha1.SyncManual }

// settle runs passes until the Release waits for nothing.
func (w *world) settle() *v1alpha1.Release {
	GinkgoHelper()
	key := client.ObjectKey{Namespace: w.namespace, Name: "app"}
	release := &v1alpha1.Release{}
	Eventually(func(g Gomega) {
		before := &v1alpha1.Release{}
		g.Expect(env.Client.Get(context.Background(), key, before)).To(Succeed())
		_, err := w.controller.Reconcile(context.Background(), reconcile.Request{NamespacedName: key})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(env.Client.Get(context.Background(), key, release)).To(Succeed())
		g.Expect(release.ResourceVersion).To(Equal(before.ResourceVersion), "the status still changes")
	}).WithTimeout(time.Minute).WithPolling(10 * time.Millisecond).Should(Succeed())
	return release
}

// deploy commits files, lets convoy apply them, and returns the ref of their render.
func (w *world) deploy(files map[string]string) string {
	GinkgoHelper()
	w.commit(files)
	w.restart() // asks the source
	release := w.settle()
	Expect(meta.IsStatusConditionTrue(release.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue(), "%+v", release.Status.Conditions)
	return release.Status.LastSuccessful.RenderRef
}

// stored are the files of the store.
func (w *world) stored() []string {
	GinkgoHelper()
	var files []string
	Expect(filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			files = append(files, path)
		}
		return err
	})).To(Succeed())
	return files
}

// object reads an object; nil if it is not there.
func (w *world) object(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	err := client.IgnoreNotFound(env.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: name}, obj))
	Expect(err).NotTo(HaveOccurred())
	if obj.GetUID() == "" {
		return nil
	}
	return obj
}

// pin writes a pin of the Release, as convoy-apiserver does.
func (w *world) pin(ref string) {
	GinkgoHelper()
	a := send(env.User, http.MethodPut, "/apis/"+subresources.GroupVersion.String()+"/namespaces/"+w.namespace+"/releases/app/pin",
		`{"kind":"ReleasePin","apiVersion":"subresources.convoy.dev/v1alpha1","metadata":{"name":"app"},"spec":{"renderRef":"`+ref+`"}}`)
	Expect(a.code).To(Equal(http.StatusOK), a.message)
}

// current reads the Release.
func (w *world) current() *v1alpha1.Release {
	GinkgoHelper()
	release := &v1alpha1.Release{}
	Expect(env.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: "app"}, release)).To(Succeed())
	return release
}

// newConfigMap is a ConfigMap that belongs to nobody.
func (w *world) newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
}

// configMap is the manifest of a ConfigMap with one key.
func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  key: %q\n", name, value)
}

// unwatched starts no passes: the spec does.
type unwatched struct{}

func (unwatched) Metadata(context.Context, live.Target) (*metav1.ObjectMeta, bool) { return nil, false }

func (unwatched) Ensure(context.Context, *apply.Plan) error { return nil }
