package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("Hooks of other tools", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
	})

	It("of Argo CD run as its annotations say, and what it skips is not applied", func() {
		argo := func(events, manifest string) string { return annotated(v1alpha1.ArgoHookAnnotation, events, manifest) }
		w.commit("v1", map[string]string{
			"1.yaml": argo("PreSync", configMap("pre", "v1")), "2.yaml": argo("Skip", configMap("skip", "v1")), "3.yaml": argo("Sync", configMap("sync", "v1")),
			"4.yaml": argo("PostSync", configMap("post", "v1")), "5.yaml": argo("SyncFail", configMap("fail", "v1")),
			"6.yaml": annotated(v1alpha1.ArgoSyncWaveAnnotation, "-1", argo("PreSync", configMap("early", "v1"))),
		})
		Expect(changed(during(func() { w.settle("app") }))).To(Equal([]string{"patch early", "patch pre", "patch sync", "patch post"}))
		Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("of Helm run at the first rollout, or at later ones", func() {
		helm := func(events, manifest string) string { return annotated(v1alpha1.HelmHookAnnotation, events, manifest) }
		chart := func(version string) map[string]string {
			return map[string]string{
				"1.yaml": helm("pre-install", configMap("pre-install", version)), "2.yaml": helm("pre-upgrade", configMap("pre-upgrade", version)),
				"3.yaml": helm("post-install, post-upgrade", configMap("post", version)), "4.yaml": helm("test", configMap("test", version)),
				"5.yaml": helm("pre-delete", configMap("pre-delete", version)), "6.yaml": configMap("a", version),
			}
		}
		w.commit("v1", chart("v1"))
		Expect(changed(during(func() { w.settle("app") }))).To(Equal([]string{"patch pre-install", "patch a", "patch post"}))
		w.commitLater("v2", chart("v2"))
		Expect(changed(during(func() { w.settle("app") }))).To(Equal([]string{"patch pre-upgrade", "patch a", "delete post", "patch post"}))
		Expect(w.value("pre-install")).To(Equal("v1"), "it did not leave the render")
	})

	It("of Helm run at a rollback in the place of those of an upgrade, and those of everybody else run then too", func() {
		helm := func(events, manifest string) string { return annotated(v1alpha1.HelmHookAnnotation, events, manifest) }
		chart := func(version string) map[string]string {
			return map[string]string{
				"1.yaml": helm("pre-upgrade", configMap("up", version)), "2.yaml": helm("pre-rollback", configMap("back", version)),
				"3.yaml": hook("PostSync", configMap("always", version)), "4.yaml": configMap("a", version),
			}
		}
		w.commit("v1", chart("v1"))
		w.settle("app")
		first := w.get("app").Status.LastSuccessful.RenderRef
		w.commitLater("v2", chart("v2"))
		Expect(changed(during(func() { w.settle("app") }))).To(Equal([]string{"patch up", "patch a", "delete always", "patch always"}))
		w.pause(time.Second)
		w.pin("app", first)
		Expect(changed(during(func() { w.settle("app") }))).To(Equal([]string{"patch back", "patch a", "delete always", "patch always"}))
		w.pause(time.Second)
		w.unpin("app")
		Expect(changed(during(func() { w.settle("app") }))).To(Equal([]string{"delete up", "patch up", "patch a", "delete always", "patch always"}))
	})

	It("run one after the other, by weight, what runs something last", func() {
		annotate := func(weight, manifest string) string {
			return annotated(v1alpha1.HelmHookAnnotation, "pre-install", annotated(v1alpha1.HelmHookWeightAnnotation, weight, manifest))
		}
		w.commit("v1", map[string]string{
			"1.yaml": annotate("5", configMap("last", "v1")), "2.yaml": annotate("-5", job("first")), "3.yaml": annotate("-5", configMap("needed", "v1")),
			"4.yaml": annotate("-4", job("second")), "5.yaml": configMap("a", "v1"),
		})
		Expect(changed(during(func() { w.pass("app"); w.pass("app") }))).To(Equal([]string{"patch needed", "patch first"}))
		w.end("first", true)
		Expect(changed(during(func() { w.pass("app") }))).To(Equal([]string{"patch second"}))
		w.end("second", true)
		Expect(changed(during(func() { w.pass("app") }))).To(Equal([]string{"patch last", "patch a"}))
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})
})
