package controllers_test

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

var _ = Describe("A rollback by failurePolicy", func() {
	var w *failing

	It("follows a wave that the dry run refuses half way, when it is late", func() {
		w = startHealthy(rollsBack)
		group := w.namespace + ".example.com"
		DeferCleanup(func() { deleteDefinition(group) })
		// The definition comes with the render, so nothing can know before that the wave after it is refused.
		w.commit("bad", map[string]string{
			"a.yaml": configMap("a", "bad"), "crd.yaml": definition(group, []string{"color"}, "v1"),
			"w.yaml": inWave(1, "apiVersion: "+group+"/v1\nkind: Widget\nmetadata: {name: w}\nspec: {color: 5}\n"),
		})
		refused := func() {
			GinkgoHelper()
			Eventually(func() string { w.pass("app"); return condition(w.get("app"), v1alpha1.ConditionApplied) }).
				WithTimeout(20 * time.Second).Should(Equal("False DryRunFailed"))
			Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("color"))
			Expect(w.get("app").Status.Rollback).To(BeNil(), "it may mend by itself")
			Expect(w.value("a")).To(Equal("bad"))
		}
		refused()
		w.pause(beyond - 2*time.Minute)
		w.restart()
		refused()
		w.pause(2 * time.Minute)
		w.pass("app")
		Expect(w.get("app").Status.Rollback.Reason).To(And(HavePrefix("DryRunFailed: "), ContainSubstring("color")))
		w.expectRolledBack()
	})

	It("follows a hook that fails, and stays failed if one fails in the rollback itself", func() {
		hooks := func(value string) map[string]string {
			return map[string]string{"a.yaml": configMap("a", value), "j.yaml": hook("PostSync", job("smoke"))}
		}
		w = &failing{world: newWorld()}
		w.create("app", rollsBack)
		w.commit("good", hooks("good"))
		Expect(w.rollOut("True Succeeded")).To(Equal([]string{"patch a", "patch smoke", "end smoke"}))
		w.good = w.get("app").Status.LastHealthy.RenderRef
		w.pause(time.Second)
		w.commit("bad", hooks("bad"))
		hookFailed := func(rollback OmegaMatcher) func(Gomega, *v1alpha1.Release) {
			return func(g Gomega, release *v1alpha1.Release) {
				g.Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False HookFailed"), message(release, v1alpha1.ConditionReady))
				g.Expect(release.Status.LastAttempted.RenderRef).To(rollback)
			}
		}
		again := []string{"patch a", "delete smoke", "patch smoke", "end smoke"}
		Expect(w.rollTo(hookFailed(Not(Equal(w.good))), "smoke")).To(Equal(again), "the render that fails")
		Expect(w.rollTo(hookFailed(Equal(w.good)), "smoke")).To(Equal(again), "the rollback, whose hook fails as well")
		release := w.get("app")
		Expect(release.Status.Rollback.To).To(Equal(w.good))
		Expect(release.Status.Rollback.Reason).To(HavePrefix("HookFailed: A PostSync hook failed"))
		Expect(w.value("a")).To(Equal("good"))
		w.restart()
		w.pause(time.Hour)
		Expect(changed(during(func() { w.settle("app") }))).To(BeEmpty(), "a rollback is never rolled back")

		w.commit("better", hooks("better"))
		w.rollOut("True Succeeded")
		Expect(w.get("app").Status.Rollback).To(BeNil())
	})

	DescribeTable("leaves alone what never came to an apply", func(obstacle func(), reason string) {
		w = startHealthy(rollsBack)
		obstacle()
		w.pause(beyond)
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal(reason))
		Expect(release.Status.Rollback).To(BeNil())
		Expect(w.value("a")).To(Equal("good"))
	},
		Entry("a source that is down", func() { w.source.Fail(errors.New("no route to host")) }, "False SourceFailed"),
		Entry("files that are broken", func() { w.commit("bad", map[string]string{"a.yaml": "a: ["}) }, "False RenderFailed"),
	)

	DescribeTable("stays failed if the stored render cannot be used, and looks again", func(spoil func(), why string) {
		w = startHealthy(rollsBack)
		w.commit("bad", neverReady)
		w.settle("app")
		w.restart() // or it would remember what it has read
		spoil()
		w.pause(beyond)
		w.pass("app")
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False RolledBack"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("the one to roll back to cannot be had"), ContainSubstring(why)))
		Expect(w.value("a")).To(Equal("bad"))
		w.faults.Clear()
		w.pause(release.Spec.Interval.Duration)
		w.expectRolledBack()
	},
		Entry("gone", func() {
			w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Err: renderstore.ErrNotFound})
		}, "not in the render store"),
		Entry("corrupt", func() { w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Effect: faultstore.Garble}) }, "corrupt"),
	)

	It("comes to the same end if the controller is restarted before every pass", func() {
		w = startHealthy(rollsBack)
		step := func() *v1alpha1.Release {
			GinkgoHelper()
			w.restart()
			w.pass("app")
			return w.get("app")
		}
		w.commit("bad", neverReady)
		for range 3 {
			Expect(step().Status.Rollback).To(BeNil())
		}
		w.pause(beyond)
		Expect(step().Status.Rollback.To).To(Equal(w.good))
		for range 3 {
			step()
		}
		w.expectRolledBack()
		Expect(changed(during(func() { step() }))).To(BeEmpty())
	})

	Describe("A commit in the middle", func() {
		better := map[string]string{"a.yaml": configMap("a", "better")}
		expectBetter := func() {
			GinkgoHelper()
			release := w.settle("app")
			Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
			Expect(release.Status.Rollback).To(BeNil())
			Expect(w.value("a")).To(Equal("better"))
		}

		It("takes the place of a render that is not late yet", func() {
			w = startHealthy(rollsBack)
			w.commit("bad", neverReady)
			w.settle("app")
			w.pause(beyond - 2*time.Minute)
			w.commit("better", better)
			expectBetter()
			w.pause(beyond)
			expectBetter()
		})

		It("has a deadline of its own", func() {
			w = startHealthy(rollsBack)
			w.commit("bad", neverReady)
			w.settle("app")
			w.pause(beyond - 2*time.Minute)
			w.commit("worse", map[string]string{"a.yaml": configMap("a", "worse"), "d.yaml": deployment("d", "2")})
			w.settle("app")
			w.pause(beyond - 2*time.Minute)
			Expect(w.settle("app").Status.Rollback).To(BeNil())
			Expect(w.value("a")).To(Equal("worse"))
			w.pause(2 * time.Minute)
			w.expectRolledBack()
		})

		It("takes the place of a rollback that is not done yet", func() {
			w = &failing{world: newWorld()}
			w.create("app", rollsBack)
			w.commit("good", map[string]string{"d.yaml": deployment("d", "1"), "a.yaml": inWave(1, configMap("a", "good"))})
			w.rollOut("True Succeeded")
			w.good = w.settle("app").Status.LastHealthy.RenderRef
			w.commit("bad", map[string]string{"d.yaml": deployment("d", "2"), "a.yaml": inWave(1, configMap("a", "bad"))})
			w.pass("app")
			w.pause(beyond)
			w.pass("app")
			w.pass("app")
			release := w.get("app")
			Expect(release.Status.Rollback.To).To(Equal(w.good))
			Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("Waiting for wave 0"))
			w.commit("better", better)
			expectBetter()
		})
	})

	It("waits while the Release is suspended, and the deadline counts from when it goes on", func() {
		w = startHealthy(rollsBack)
		suspend := func(on bool) { w.edit("app", func(r *v1alpha1.Release) { r.Spec.Suspend = on }) }
		w.commit("bad", neverReady)
		w.settle("app")
		suspend(true)
		w.pause(beyond)
		Expect(w.settle("app").Status.Rollback).To(BeNil())
		Expect(w.value("a")).To(Equal("bad"))
		suspend(false)
		Expect(w.settle("app").Status.Rollback).To(BeNil())
		w.pause(beyond)
		w.expectRolledBack()
		suspend(true)
		w.change("a", "by hand")
		w.settle("app")
		Expect(w.value("a")).To(Equal("by hand"), "what runs stays as it is")
		suspend(false)
		w.expectRolledBack()
	})
})
