package controllers_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

// steps notes what a pass does to targets and to the store, in order.
type steps struct {
	mu    sync.Mutex
	steps []string
}

func (s *steps) note(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) == 0 || s.steps[len(s.steps)-1] != step {
		s.steps = append(s.steps, step)
	}
}

// roundTripper notes the requests for ConfigMaps.
func (s *steps) roundTripper(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if strings.Contains(req.URL.Path, "/configmaps") && req.Method != http.MethodGet {
			if req.URL.Query().Get("dryRun") == "All" {
				s.note("dry run")
			} else {
				s.note("write a target")
			}
		}
		return next.RoundTrip(req)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// history are the refs of the history, newest first.
func (w *world) history(name string) []string {
	GinkgoHelper()
	entries, err := w.archive(name).History(context.Background())
	Expect(err).NotTo(HaveOccurred())
	var refs []string
	for _, e := range entries {
		refs = append(refs, e.Ref.String())
	}
	return refs
}

// has says whether the store has a render.
func (w *world) has(name, ref string) bool {
	GinkgoHelper()
	parsed, err := render.ParseRef(ref)
	Expect(err).NotTo(HaveOccurred())
	_, err = w.archive(name).Get(context.Background(), parsed)
	if err != nil {
		Expect(err).To(MatchError(renderstore.ErrNotFound))
	}
	return err == nil
}

// value reads the key of a ConfigMap; empty if it is not there.
func (w *world) value(name string) string {
	GinkgoHelper()
	return w.configMap(name).Data["key"]
}

// configMap reads a ConfigMap; an empty one if it is not there.
func (w *world) configMap(name string) *corev1.ConfigMap {
	GinkgoHelper()
	cm := &corev1.ConfigMap{}
	err := env.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: name}, cm)
	Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	return cm
}

// filesIn are the files below a folder.
func filesIn(dir string) []string {
	GinkgoHelper()
	var files []string
	Expect(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})).To(Succeed())
	return files
}

// deploy commits one ConfigMap "a" of a value and settles.
func (w *world) deploy(name, value string) *v1alpha1.Release {
	GinkgoHelper()
	w.commit(value, map[string]string{"a.yaml": configMap("a", value)})
	return w.settle(name)
}

var _ = Describe("When convoy writes to the store", func() {
	It("keeps the order: dry run, blob, first write to a target, history entry, collection", func() {
		w := newWorld()
		order := &steps{}
		config := rest.CopyConfig(env.Config)
		config.Wrap(order.roundTripper)
		targets, err := controllers.NewTargets(config)
		Expect(err).NotTo(HaveOccurred())
		w.controller.Targets = targets
		w.faults.OnCall(func(op, key string) {
			switch {
			case op == renderstore.OpWrite && strings.Contains(key, "/blobs/"):
				order.note("blob")
			case op == renderstore.OpWrite && strings.Contains(key, "/history/"):
				order.note("history entry")
			case op == renderstore.OpDelete:
				order.note("collection")
			}
		})
		w.create("app", func(r *v1alpha1.Release) { r.Spec.RetentionPolicy.KeepHistory = new(int32(1)) })
		w.deploy("app", "one")
		order.steps = nil
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.deploy("app", "two")
		Expect(order.steps).To(HaveExactElements("dry run", "blob", "write a target", "history entry", "collection"))
	})

	It("changes nothing on the server before the blob exists", func() {
		w := newWorld()
		before := len(env.Requests(GinkgoTB()))
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Key: "/blobs/"})
		w.create("app")
		w.commit("v1", map[string]string{"a.yaml": configMap("a", "one"), "b.yaml": configMap("b", "one")})
		w.pass("app")
		dryRuns := 0
		for _, request := range env.Requests(GinkgoTB())[before:] {
			if request.ObjectRef == nil || request.ObjectRef.Resource != "configmaps" || request.ObjectRef.Namespace != w.namespace {
				continue
			}
			Expect(testenv.IsWrite(request)).To(BeFalse(), "%s %s", request.Verb, request.RequestURI)
			if testenv.IsDryRun(request) {
				dryRuns++
			}
		}
		Expect(dryRuns).To(Equal(2))
	})

	It("stores no render that fails the dry run", func() {
		dir := GinkgoT().TempDir()
		w := newWorldWithStore("file://" + dir)
		w.create("app")
		w.commit("v1", map[string]string{
			"a.yaml": configMap("a", "one"),
			"b.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 99999}]}\n",
		})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("Service "+w.namespace+"/b"), ContainSubstring("spec.ports[0].port")))
		Expect(w.value("a")).To(BeEmpty())
		Expect(release.Status.LastAttempted).To(BeNil())
		Expect(filesIn(dir)).To(BeEmpty())
	})

	It("applies nothing if the blob cannot be written, says DeployFailed, retries, and goes on when the store is back", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", map[string]string{"a.yaml": configMap("a", "one")})
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Key: "/blobs/"})
		result := w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DeployFailed"))
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False DeployFailed"))
		Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Second)))
		Expect(w.value("a")).To(BeEmpty())
		w.faults.Clear()
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.value("a")).To(Equal("one"))
	})

	It("keeps the apply successful if the history entry cannot be written, and says so in an event", func() {
		w := newWorld()
		w.create("app")
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Key: "/history/"})
		release := w.deploy("app", "one")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(release.Status.LastSuccessful).NotTo(BeNil())
		Expect(w.events.All()).To(ContainElement(HavePrefix("Warning HistoryFailed")))
		Expect(w.history("app")).To(BeEmpty())
		w.faults.Clear()
		w.pass("app")
		Expect(w.history("app")).To(HaveLen(1), "a later pass makes up for it")
	})

	It("adds an entry only once for a render, with the time of the first apply", func() {
		w := newWorld()
		w.create("app")
		first := w.clock.Now()
		w.deploy("app", "one")
		w.clock.SetTime(first.Add(time.Hour))
		w.deploy("app", "two")
		w.clock.SetTime(first.Add(2 * time.Hour))
		release := w.deploy("app", "one")
		entries, err := w.archive("app").History(context.Background())
		Expect(err).NotTo(HaveOccurred())
		Expect(entries).To(HaveLen(2))
		Expect(entries[1].Ref.String()).To(Equal(release.Status.LastSuccessful.RenderRef))
		Expect(entries[1].SyncedAt).To(BeTemporally("==", first))
		summary, err := w.archive("app").Summary(context.Background(), entries[1])
		Expect(err).NotTo(HaveOccurred())
		Expect(summary).To(Equal("https://git.example.com/team/app.git@one"))
	})

	It("adds a new entry for a render whose entry was collected", func() {
		w := newWorld()
		w.create("app", func(r *v1alpha1.Release) { r.Spec.RetentionPolicy.KeepHistory = new(int32(1)) })
		one := w.deploy("app", "one").Status.LastSuccessful.RenderRef
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		two := w.deploy("app", "two").Status.LastSuccessful.RenderRef
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.deploy("app", "three")
		Expect(w.history("app")).NotTo(ContainElements(one, two))
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.deploy("app", "one")
		Expect(w.history("app")).To(HaveExactElements(one))
		entries, err := w.archive("app").History(context.Background())
		Expect(err).NotTo(HaveOccurred())
		Expect(entries[0].SyncedAt).To(BeTemporally("==", w.clock.Now()))
	})

	It("stores nothing of a suspended Release", func() {
		dir := GinkgoT().TempDir()
		w := newWorldWithStore("file://" + dir)
		w.create("app", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		release := w.deploy("app", "one")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown Suspended"))
		Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("True Succeeded"))
		Expect(filesIn(dir)).To(BeEmpty())
		Expect(w.value("a")).To(BeEmpty())
	})

	It("touches nobody else's keys", func() {
		w, other := newWorld(), newWorld()
		other.store, other.faults = w.store, w.faults
		other.restart()
		long := strings.Repeat("x", 253)
		for _, name := range []string{"app", "app-2", long} {
			w.create(name)
			w.commit("v1", map[string]string{"a.yaml": configMap("cm-"+name[:3]+fmt.Sprint(len(name)), "one")})
			Expect(condition(w.settle(name), v1alpha1.ConditionReady)).To(Equal("True Succeeded"), name)
		}
		other.create("app")
		other.deploy("app", "one")
		Expect(env.Client.Delete(context.Background(), w.get("app"))).To(Succeed())
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.history("app")).To(BeEmpty())
		Expect(w.history("app-2")).To(HaveLen(1))
		Expect(w.history(long)).To(HaveLen(1))
		Expect(other.history("app")).To(HaveLen(1))
	})
})
