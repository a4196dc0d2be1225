package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("A Release that renders itself and its own namespace", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
		w.commit("v1", map[string]string{
			"self.yaml": `
apiVersion: convoy.dev/v1alpha1
kind: Release
metadata: {name: app, annotations: {example.com/managed: by-itself}}
spec: {source: {git: {url: "https://git.example.com/team/app.git"}}}
`,
			"ns.yaml":   annotated(v1alpha1.PruneAnnotation, v1alpha1.PruneEnabled, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+w.namespace+"}\n"),
			"web.yaml":  deployment("web", "v1"),
			"last.yaml": inWave(1, configMap("last", "one")),
		})
		w.pass("app") // which changes the Release under its own feet, so its status is written in the next
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("Unknown Progressing"))
		w.becomeHealthy("web")
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(release.Annotations).To(HaveKeyWithValue("example.com/managed", "by-itself"))
	})

	It("is not awaited by itself", func() {
		Expect(w.value("last")).To(Equal("one"))
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	})

	It("can be deleted, and keeps the namespace that it lives in", func() {
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "last")).To(BeNil())
		Expect(find("v1", "Namespace", "", w.namespace)).To(HaveField("GetDeletionTimestamp()", BeNil()))
		Expect(w.events.All()).To(ContainElement(HavePrefix("Normal PruneSkipped Namespace " + w.namespace)))
		Expect(w.shards("app")).To(BeEmpty())
	})

	It("keeps both when they leave the render", func() {
		w.commit("v2", map[string]string{"last.yaml": configMap("last", "one")})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(release.DeletionTimestamp).To(BeNil())
		Expect(find("v1", "Namespace", "", w.namespace)).To(HaveField("GetDeletionTimestamp()", BeNil()))
		Expect(w.recorded("app")).To(ConsistOf(w.ids("last")...))
	})
})
