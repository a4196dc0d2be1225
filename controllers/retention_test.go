package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

// deployMany deploys renders 1 to n, an hour apart, and returns their refs, oldest first.
func (w *world) deployMany(name string, n int) []string {
	GinkgoHelper()
	var refs []string
	for i := range n {
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		refs = append(refs, w.deploy(name, fmt.Sprint(i+1)).Status.LastSuccessful.RenderRef)
	}
	return refs
}

func keep(n int32) func(*v1alpha1.Release) {
	return func(r *v1alpha1.Release) { r.Spec.RetentionPolicy.KeepHistory = &n }
}

var _ = Describe("Retention", func() {
	It("keeps 10 entries where keepHistory is not set", func() {
		w := newWorld()
		w.create("app")
		refs := w.deployMany("app", 12)
		Expect(w.history("app")).To(HaveLen(10))
		Expect(w.get("app").Status.ResolvedRetentionPolicy).To(Equal(&v1alpha1.ResolvedRetentionPolicy{KeepHistory: 10, HistoryCount: 10}))
		Expect(w.has("app", refs[0])).To(BeFalse())
		Expect(w.has("app", refs[2])).To(BeTrue())
	})

	DescribeTable("keeps all entries and all blobs for 0 and a negative value", func(n int32) {
		w := newWorld()
		w.create("app", keep(n))
		refs := w.deployMany("app", 12)
		Expect(w.history("app")).To(HaveLen(12))
		Expect(w.get("app").Status.ResolvedRetentionPolicy).To(Equal(&v1alpha1.ResolvedRetentionPolicy{KeepHistory: n, HistoryCount: 12}))
		for _, ref := range refs {
			Expect(w.has("app", ref)).To(BeTrue())
		}
	}, Entry("0", int32(0)), Entry("-1", int32(-1)))

	It("keeps the newest N entries and deletes the blobs that none names", func() {
		w := newWorld()
		w.create("app", keep(2))
		refs := w.deployMany("app", 5)
		Expect(w.history("app")).To(HaveExactElements(refs[4], refs[3]))
		for i, ref := range refs {
			Expect(w.has("app", ref)).To(Equal(i >= 3), "render %d", i+1)
		}
	})

	It("collects when keepHistory becomes smaller", func() {
		w := newWorld()
		w.create("app", keep(5))
		refs := w.deployMany("app", 5)
		w.edit("app", keep(1))
		release := w.settle("app")
		Expect(w.history("app")).To(HaveExactElements(refs[4]))
		Expect(release.Status.ResolvedRetentionPolicy).To(Equal(&v1alpha1.ResolvedRetentionPolicy{KeepHistory: 1, HistoryCount: 1}))
	})

	It("protects lastHealthy, also when its history entry is gone", func() {
		w := newWorld()
		w.create("app", keep(1))
		healthy := w.deployMany("app", 1)[0]
		pending := func(n int) map[string]string {
			return map[string]string{"a.yaml": configMap("a", "1"), "job.yaml": fmt.Sprintf(
				"apiVersion: batch/v1\nkind: Job\nmetadata: {name: job, annotations: {n: \"%d\"}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: a, image: example.com/a}]\n", n)}
		}
		for n := range 2 { // applied, never healthy
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.commit(fmt.Sprint("job-", n), pending(n))
			w.settle("app")
		}
		release := w.get("app")
		Expect(release.Status.LastHealthy.RenderRef).To(Equal(healthy))
		Expect(release.Status.LastSuccessful.RenderRef).NotTo(Equal(healthy))
		Expect(w.history("app")).To(HaveExactElements(release.Status.LastSuccessful.RenderRef))
		Expect(w.has("app", healthy)).To(BeTrue())
	})

	It("protects what a live read of the Release says, not what the pass began with", func() {
		w := newWorld()
		w.create("app", keep(1))
		refs := w.deployMany("app", 2)
		// Somebody writes the status while the next render is applied: the pass began before.
		w.faults.OnCall(func(op, _ string) {
			if op != renderstore.OpWrite {
				return
			}
			release := w.get("app")
			if release.Status.LastHealthy.RenderRef != refs[0] {
				release.Status.LastHealthy.RenderRef = refs[0]
				Expect(env.Client.Status().Update(context.Background(), release)).To(Succeed())
			}
		})
		// The blob of the first render is there again, and no entry names it.
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.commit("1", map[string]string{"a.yaml": configMap("a", "1")})
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Key: "/history/"})
		w.pass("app")
		w.faults.Clear()
		Expect(w.has("app", refs[0])).To(BeTrue())
		w.commit("3", map[string]string{"a.yaml": configMap("a", "3")})
		w.pass("app")
		Expect(w.has("app", refs[0])).To(BeTrue())
	})

	DescribeTable("deletes nothing if a listing fails or comes back short", func(prefix string, effect faultstore.Effect) {
		w := newWorld()
		w.create("app", keep(2))
		refs := w.deployMany("app", 2)
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpList, Key: prefix, Effect: effect})
		refs = append(refs, w.deployMany("app", 1)...)
		w.faults.Clear()
		for i, ref := range refs {
			Expect(w.has("app", ref)).To(BeTrue(), "render %d", i+1)
		}
	},
		Entry("the blobs fail", "/blobs/", faultstore.Fail),
		Entry("the history fails", "/history/", faultstore.Fail),
		Entry("the history is short", "/history/", faultstore.Half),
	)
})

var _ = Describe("Without a render store", func() {
	It("renders and applies as usual, and counts no history", func() {
		w := newWorldWithStore("")
		w.create("app")
		release := w.deploy("app", "one")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(release.Status.ResolvedRetentionPolicy).To(Equal(&v1alpha1.ResolvedRetentionPolicy{KeepHistory: 10}))
		Expect(w.value("a")).To(Equal("one"))
		w.deploy("app", "two")
		Expect(w.value("a")).To(Equal("two"))
		Expect(w.events.All()).NotTo(ContainElement(HavePrefix("Warning")))
	})

	It("lets a Release be deleted", func() {
		w := newWorldWithStore("")
		w.create("app")
		release := w.deploy("app", "one")
		Expect(env.Client.Delete(context.Background(), release)).To(Succeed())
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.value("a")).To(BeEmpty())
	})
})
