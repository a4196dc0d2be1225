package controllers_test

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

const unknownRef = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// pin pins a Release as the API server does it for alice.
func (w *world) pin(name, ref string, change ...func(*v1alpha1.Pin)) {
	GinkgoHelper()
	w.edit(name, func(r *v1alpha1.Release) {
		r.Pin = &v1alpha1.Pin{RenderRef: ref, Reason: "INC-1234", PinnedBy: "alice", PinnedAt: metav1.NewTime(w.clock.Now())}
		for _, c := range change {
			c(r.Pin)
		}
		w.stamp(r)
	})
}

// unpin takes a pin off as the API server does it for bob.
func (w *world) unpin(name string) {
	GinkgoHelper()
	w.edit(name, func(r *v1alpha1.Release) {
		r.Pin = nil
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1alpha1.UnpinnedByAnnotation, "bob")
		w.stamp(r)
	})
}

// sync asks for a sync as the API server does.
func (w *world) sync(name string) {
	GinkgoHelper()
	w.edit(name, w.stamp)
}

func (w *world) stamp(r *v1alpha1.Release) {
	metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
}

func manual(r *v1alpha1.Release) { r.Spec.SyncPolicy.Mode = v1alpha1.SyncManual }

// twoRenders makes a Release "app" that has applied render one and runs render two.
func twoRenders() (w *world, one, two string) {
	GinkgoHelper()
	w = newWorld()
	w.create("app")
	refs := w.deployMany("app", 2)
	return w, refs[0], refs[1]
}

var _ = Describe("A pin", func() {
	It("freezes: the source renders something new, and the pinned render stays", func() {
		w, _, two := twoRenders()
		w.pin("app", two)
		release := w.deploy("app", "3")
		Expect(w.value("a")).To(Equal("2"))
		Expect(release.Status.Pin).To(Equal(&v1alpha1.PinStatus{RenderRef: two, Intent: v1alpha1.PinFreeze}))
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.events.All()).To(ContainElement(And(HavePrefix("Normal Pinned alice pinned render"), HaveSuffix(": INC-1234"))))
	})

	It("rolls back from the store alone, says rollback until it is applied, then freeze", func() {
		w, one, _ := twoRenders()
		w.restart()
		w.source.Fail(errors.New("no route to host"))
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Times: 1})
		w.pin("app", one)
		w.pass("app")
		release := w.get("app")
		Expect(release.Status.Pin.Intent).To(Equal(v1alpha1.PinRollback))
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DeployFailed"), "a store that fails is retried")
		Expect(w.value("a")).To(Equal("2"))

		release = w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
		Expect(release.Status.Pin.Intent).To(Equal(v1alpha1.PinFreeze))
		Expect(release.Status.LastSuccessful.RenderRef).To(Equal(one))
		Expect(release.Status.LastSuccessful.Revision).To(Equal("1"))
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("False SourceFailed"))
	})

	It("goes back to the source after an unpin, and says who took it off", func() {
		w, one, two := twoRenders()
		w.pin("app", one)
		w.settle("app")
		w.unpin("app")
		release := w.settle("app")
		Expect(w.value("a")).To(Equal("2"))
		Expect(release.Status.LastSuccessful.RenderRef).To(Equal(two))
		Expect(release.Status.Pin).To(BeNil())
		Expect(w.events.All()).To(ContainElement(HavePrefix("Normal Unpinned bob took the pin of render")))
		Expect(w.history("app")).To(HaveLen(2), "the history contains each render one time")
	})

	DescribeTable("stays applied and free of drift, whatever the source does", func(obstacle func(*world), rendered string) {
		w, one, _ := twoRenders()
		w.pin("app", one)
		w.settle("app")
		obstacle(w)
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Source.Git.Path = "moved" })
		Expect(condition(w.settle("app"), v1alpha1.ConditionRendered)).To(Equal(rendered))
		w.change("a", "by hand")
		release := w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	},
		Entry("down", func(w *world) { w.source.Fail(errors.New("no route to host")) }, "False SourceFailed"),
		Entry("moved", func(*world) {}, "False RenderFailed"),
		Entry("broken", func(w *world) { w.commit("3", map[string]string{"moved/a.yaml": "a: ["}) }, "False RenderFailed"),
		Entry("something new", func(w *world) { w.commit("3", map[string]string{"moved/a.yaml": configMap("a", "3")}) }, "True Succeeded"),
	)

	DescribeTable("to a render that cannot be had applies nothing, and says Pinned without a hot loop",
		func(setUp func() (*world, string), what string) {
			w, ref := setUp()
			before := w.value("a")
			w.pin("app", ref)
			result := w.pass("app")
			release := w.get("app")
			Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False Pinned"))
			Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring(what))
			Expect(release.Status.Pin.Intent).To(Equal(v1alpha1.PinRollback))
			Expect(w.value("a")).To(Equal(before))
			Expect(result.RequeueAfter).To(BeNumerically(">=", release.Spec.Interval.Duration))
		},
		Entry("not in the store", func() (*world, string) {
			w, _, _ := twoRenders()
			return w, unknownRef
		}, "pin another one, or unpin"),
		Entry("no store", func() (*world, string) {
			w := newWorldWithStore("")
			w.create("app")
			w.deploy("app", "1")
			return w, unknownRef
		}, "there is no render store"),
		Entry("corrupt", func() (*world, string) {
			w, one, _ := twoRenders()
			w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Key: "/blobs/", Effect: faultstore.Garble})
			return w, one
		}, "pin another one, or unpin"),
	)

	It("is applied at the next reconcile once the blob is back", func() {
		w, one, _ := twoRenders()
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Key: "/blobs/", Effect: faultstore.Garble})
		w.pin("app", one)
		Expect(condition(w.settle("app"), v1alpha1.ConditionApplied)).To(Equal("False Pinned"))
		w.faults.Clear()
		w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
	})

	It("works without a store while the source renders the pinned render, and fails when the source changes", func() {
		w := newWorldWithStore("")
		w.create("app")
		ref := w.deploy("app", "1").Status.LastSuccessful.RenderRef
		w.pin("app", ref)
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		release := w.deploy("app", "2")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False Pinned"))
		Expect(w.value("a")).To(Equal("1"))
	})

	It("takes effect while a bad render hangs in a wave, without waiting for its timeout", func() {
		w, one, _ := twoRenders()
		w.commit("bad", map[string]string{
			"a.yaml":   configMap("a", "bad"),
			"job.yaml": strings.Replace(pendingJob, "WAVE", "1", 1),
			"z.yaml":   strings.Replace(configMap("z", "late"), "name: z", "name: z\n  annotations: {convoy.dev/sync-wave: \"2\"}", 1),
		})
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		w.pin("app", one)
		release := w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("True Succeeded"))
	})

	It("takes effect while the controller backs off", func() {
		w, one, _ := twoRenders()
		w.commit("bad", map[string]string{"a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 99999}]}\n"})
		for range 10 {
			w.pass("app")
		}
		w.pin("app", one)
		w.pass("app")
		Expect(w.value("a")).To(Equal("1"))
	})

	It("takes effect while the Release is suspended", func() {
		w, one, _ := twoRenders()
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		w.settle("app")
		w.pin("app", one)
		w.pass("app")
		Expect(w.value("a")).To(Equal("1"))
	})

	It("is protected from the collection, also when its history entry is gone", func() {
		w := newWorld()
		w.create("app", keep(1))
		first := w.deployMany("app", 1)[0]
		w.pin("app", first)
		w.applyOthers("app", 3)
		Expect(w.has("app", first)).To(BeTrue())
	})

	It("expires by itself, which counts as an unpin", func() {
		w, one, _ := twoRenders()
		w.edit("app", manual)
		w.pin("app", one, func(p *v1alpha1.Pin) { p.ExpiresAt = new(metav1.NewTime(w.clock.Now().Add(time.Hour))) })
		w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
		Expect(w.pass("app").RequeueAfter).To(BeNumerically("<=", time.Hour+time.Second))
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		release := w.settle("app")
		Expect(release.Pin).To(BeNil())
		Expect(w.value("a")).To(Equal("2"))
		Expect(w.events.All()).To(ContainElement(And(HavePrefix("Normal Unpinned The pin of render"), ContainSubstring("alice"), HaveSuffix("has expired"))))
	})

	It("survives a restart and edits of the spec", func() {
		w, one, _ := twoRenders()
		w.pin("app", one)
		w.settle("app")
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Timeout.Duration = time.Hour })
		w.restart()
		w.deploy("app", "3")
		Expect(w.value("a")).To(Equal("1"))
	})
})

var _ = Describe("Manual mode", func() {
	It("applies and stores nothing new without a sync request, and handles each once", func() {
		w := newWorld()
		w.create("app", manual)
		release := w.deploy("app", "1")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown WaitingForSync"))
		Expect(w.value("a")).To(BeEmpty())
		Expect(w.history("app")).To(BeEmpty())

		w.sync("app")
		release = w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
		Expect(release.Status.LastHandledSyncAt).To(Equal(release.Annotations[v1alpha1.SyncRequestedAtAnnotation]))

		release = w.deploy("app", "2")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown WaitingForSync"), "the request was handled")
		Expect(w.value("a")).To(Equal("1"))
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Timeout.Duration = time.Hour })
		w.restart()
		w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
	})

	It("keeps drift away from what was asked for", func() {
		w := newWorld()
		w.create("app", manual)
		w.sync("app")
		w.deploy("app", "1")
		w.change("a", "by hand")
		w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
	})

	It("retries what was asked for, and not what came after", func() {
		w := newWorld()
		w.create("app", manual)
		w.commit("1", map[string]string{"a.yaml": configMap("a", "1")})
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Key: "/blobs/", Times: 1})
		w.sync("app")
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("False DeployFailed"))
		w.deploy("app", "2")
		Expect(w.value("a")).To(BeEmpty())
		w.deploy("app", "1")
		Expect(w.value("a")).To(Equal("1"))
	})

	It("applies a pin, and after the unpin what the source renders", func() {
		w := newWorld()
		w.create("app", manual)
		w.sync("app")
		one := w.deploy("app", "1").Status.LastSuccessful.RenderRef
		w.sync("app")
		w.deploy("app", "2")
		w.pin("app", one)
		w.settle("app")
		Expect(w.value("a")).To(Equal("1"))
		w.deploy("app", "3")
		Expect(w.value("a")).To(Equal("1"))
		w.unpin("app")
		w.settle("app")
		Expect(w.value("a")).To(Equal("3"))
	})
})

// pendingJob is a Job that nobody completes.
const pendingJob = `apiVersion: batch/v1
kind: Job
metadata: {name: job, annotations: {convoy.dev/sync-wave: "WAVE"}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: example.com/a}]
`

// change changes a ConfigMap by hand.
func (w *world) change(name, value string) {
	GinkgoHelper()
	cm := w.configMap(name)
	cm.Data["key"] = value
	Expect(env.Client.Update(context.Background(), cm)).To(Succeed())
}

// applyOthers applies n more renders in between, each while the pin is off for it.
func (w *world) applyOthers(name string, n int) {
	GinkgoHelper()
	pinned := w.get(name).Pin.RenderRef
	for i := range n {
		w.unpin(name)
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.deploy(name, "after-"+string(rune('a'+i)))
		w.pin(name, pinned)
		w.settle(name)
	}
}
