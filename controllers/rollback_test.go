package controllers_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

// rollsBack is a change of a Release: it rolls back what fails.
func rollsBack(r *v1alpha1.Release) { r.Spec.FailurePolicy.Action = v1alpha1.FailureActionRollback }

// beyond is later than the default timeout.
const beyond = 6 * time.Minute

// neverReady is a render that changes the ConfigMap "a", and whose Deployment never becomes ready.
var neverReady = map[string]string{"a.yaml": configMap("a", "bad"), "d.yaml": deployment("d", "1")}

// failing is a world whose Release "app" was healthy with the render good.
type failing struct {
	*world
	good string
}

// startHealthy deploys the ConfigMap "a", after the changes of the Release.
func startHealthy(change ...func(*v1alpha1.Release)) *failing {
	GinkgoHelper()
	f := &failing{world: newWorld()}
	f.create("app", change...)
	f.deploy("app", "good")
	f.good = f.get("app").Status.LastHealthy.RenderRef
	return f
}

// fail deploys what never becomes healthy, and waits until that is late.
func (f *failing) fail() *v1alpha1.Release {
	GinkgoHelper()
	f.commit("bad", neverReady)
	f.settle("app")
	Expect(f.value("a")).To(Equal("bad"))
	f.pause(beyond)
	return f.settle("app")
}

// expectRolledBack settles the Release, which runs the good render then, and says so.
func (f *failing) expectRolledBack() *v1alpha1.Release {
	GinkgoHelper()
	release := f.settle("app")
	Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False RolledBack"), message(release, v1alpha1.ConditionApplied))
	Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False RolledBack"))
	Expect(condition(release, v1alpha1.ConditionStalled)).To(Equal("True RolledBack"))
	Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("True Succeeded"))
	Expect(release.Status.Rollback.To).To(Equal(f.good))
	Expect(release.Status.LastSuccessful.RenderRef).To(Equal(f.good))
	Expect(f.value("a")).To(Equal("good"))
	return release
}

var _ = Describe("failurePolicy", func() {
	var w *failing

	It("None leaves what failed, and says so", func() {
		w = startHealthy()
		release := w.fail()
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False Degraded"))
		Expect(release.Status.Rollback).To(BeNil())
		Expect(w.value("a")).To(Equal("bad"))
	})

	It("Rollback applies what was last healthy, once the objects are late, and says why", func() {
		w = startHealthy(rollsBack)
		release := w.fail()
		w.expectRolledBack()
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(
			ContainSubstring("mend the source, or ask for a sync to try again"), ContainSubstring("Degraded: Not healthy within 5m0s"), ContainSubstring("/d")))
		Expect(w.events.All()).To(ContainElement(HavePrefix("Warning RolledBack Render ")))
		Expect(w.find("app").Status.LastAttempted.RenderRef).To(Equal(w.good))
	})

	It("Rollback prunes what the failed render brought", func() {
		w = startHealthy(rollsBack)
		w.fail()
		Expect(w.recorded("app")).To(ConsistOf(ContainSubstring("ConfigMap ")))
	})

	It("Rollback adds no history entry and collects nothing", func() {
		w = startHealthy(rollsBack, func(r *v1alpha1.Release) { r.Spec.RetentionPolicy.KeepHistory = new(int32(1)) })
		w.commit("bad", neverReady)
		w.settle("app")
		before := w.history("app")
		Expect(before).To(HaveLen(1), "the render that failed is applied in full")
		w.pause(beyond)
		w.expectRolledBack()
		Expect(w.history("app")).To(Equal(before))
		Expect(w.has("app", w.good)).To(BeTrue())
	})

	It("Rollback follows a wave that fails half way", func() {
		w = startHealthy(rollsBack)
		w.commit("bad", map[string]string{
			"j.yaml": job("migrate"), "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {convoy.dev/sync-wave: '1'}}\ndata: {key: bad}\n",
		})
		w.pass("app")
		Expect(w.value("a")).To(Equal("good"), "wave 1 waits for wave 0")
		w.end("migrate", false)
		release := w.settle("app")
		w.expectRolledBack()
		Expect(release.Status.Rollback.Reason).To(HavePrefix("DeployFailed: Wave 0 failed: Job.batch "))
		Expect(w.recorded("app")).To(ConsistOf(ContainSubstring("ConfigMap ")))
	})

	It("Rollback leaves alone what failed before anything was changed", func() {
		w = startHealthy(rollsBack)
		w.commit("bad", map[string]string{"a.yaml": configMap("a", "bad"), "s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n"})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(release.Status.Rollback).To(BeNil())
	})

	DescribeTable("Rollback stays failed and says so", func(url string, prepare func(), why string) {
		w = &failing{world: newWorldWithStore(url)}
		w.create("app", rollsBack)
		prepare()
		w.commit("bad", neverReady)
		w.settle("app")
		w.pause(beyond)
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False Degraded"))
		Expect(message(release, v1alpha1.ConditionReady)).To(ContainSubstring(why))
		Expect(release.Status.Rollback).To(BeNil())
		Expect(w.value("a")).To(Equal("bad"))
	},
		Entry("without a render store", "", func() { w.deploy("app", "good") }, "it is not rolled back, since there is no render store"),
		Entry("before anything was healthy", "mem://", func() {}, "it is not rolled back, since no render was healthy yet"),
		Entry("if what fails is what was last healthy", "mem://", func() {
			w.commit("bad", neverReady)
			w.settle("app")
			w.becomeHealthy("d")
			w.settle("app")
			setStatus(w.live("apps/v1", "Deployment", "d"), `{"observedGeneration":1,"replicas":0,"readyReplicas":0,"availableReplicas":0,"updatedReplicas":0,"conditions":[]}`)
		}, "since it is the render that was last healthy"),
	)

	It("Rollback that cannot be had stays failed, and is tried again", func() {
		w = startHealthy(rollsBack)
		w.restart() // or it would remember what it has read
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Err: errors.New("connection refused")})
		release := w.fail()
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DeployFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("The render to roll back to cannot be read"))
		w.faults.Clear()
		w.expectRolledBack()
	})

	It("Rollback whose own objects are late is not rolled back itself", func() {
		w = &failing{world: newWorld()}
		w.create("app", rollsBack)
		w.commit("good", map[string]string{"a.yaml": configMap("a", "good"), "d.yaml": deployment("d", "1")})
		w.settle("app")
		w.becomeHealthy("d")
		w.good = w.settle("app").Status.LastHealthy.RenderRef
		w.commit("bad", map[string]string{"a.yaml": configMap("a", "bad"), "d.yaml": deployment("d", "2")})
		w.settle("app")
		w.pause(beyond)
		w.settle("app")
		w.pause(beyond)
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("False Degraded"))
		Expect(release.Status.Rollback.To).To(Equal(w.good))
		Expect(w.value("a")).To(Equal("good"))
	})

	Describe("A rollback holds", func() {
		BeforeEach(func() {
			w = startHealthy(rollsBack)
			w.fail()
			w.expectRolledBack()
		})

		It("over a restart, without flapping", func() {
			w.restart()
			before := w.get("app").ResourceVersion
			w.expectRolledBack()
			Expect(w.get("app").ResourceVersion).To(Equal(before))
		})

		It("while the source is down, and keeps what runs from drifting", func() {
			w.source.Fail(errors.New("no route to host"))
			w.change("a", "by hand")
			release := w.settle("app")
			Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("False SourceFailed"))
			Expect(w.value("a")).To(Equal("good"))
			Expect(release.Status.Rollback).NotTo(BeNil())
		})

		It("until the source renders something else", func() {
			w.commit("better", map[string]string{"a.yaml": configMap("a", "better")})
			release := w.settle("app")
			Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
			Expect(release.Status.Rollback).To(BeNil())
			Expect(w.value("a")).To(Equal("better"))
		})

		It("until somebody asks for a sync, which tries again", func() {
			w.sync("app")
			release := w.settle("app")
			Expect(release.Status.Rollback).To(BeNil())
			Expect(w.value("a")).To(Equal("bad"))
			w.pause(beyond)
			w.expectRolledBack()
		})

		It("until somebody pins, and no longer after that", func() {
			w.pin("app", w.good)
			release := w.settle("app")
			Expect(release.Status.Rollback).To(BeNil())
			Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
			w.unpin("app")
			w.settle("app")
			Expect(w.value("a")).To(Equal("bad"))
		})

		It("until the policy is None", func() {
			w.edit("app", func(r *v1alpha1.Release) { r.Spec.FailurePolicy.Action = v1alpha1.FailureActionNone })
			release := w.settle("app")
			Expect(release.Status.Rollback).To(BeNil())
			Expect(w.value("a")).To(Equal("bad"))
		})

		It("and lets the Release be deleted", func() {
			Expect(env.Client.Delete(context.Background(), w.get("app"))).To(Succeed())
			Eventually(func() *v1alpha1.Release { w.pass("app"); return w.find("app") }).WithTimeout(20 * time.Second).Should(BeNil())
		})
	})

	It("never moves a Release that is pinned", func() {
		w = startHealthy(rollsBack)
		w.fail()
		failed := w.get("app").Status.Rollback.From
		w.pin("app", failed)
		w.settle("app")
		w.pause(beyond)
		release := w.settle("app")
		Expect(release.Status.Rollback).To(BeNil())
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False Degraded"))
		Expect(w.value("a")).To(Equal("bad"))
	})

	It("in Manual mode a new render waits for its request, and what was last healthy runs on", func() {
		w = startHealthy(rollsBack)
		w.edit("app", manual)
		w.commit("bad", neverReady)
		w.sync("app")
		w.settle("app")
		w.pause(beyond)
		w.expectRolledBack()
		w.commit("better", map[string]string{"a.yaml": configMap("a", "better")})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown WaitingForSync"))
		Expect(w.value("a")).To(Equal("good"))
	})
})
