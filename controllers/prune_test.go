package controllers_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// configMaps are the manifests of ConfigMaps of these names.
func configMaps(names ...string) map[string]string {
	files := map[string]string{}
	for _, name := range names {
		files[name+".yaml"] = configMap(name, "one")
	}
	return files
}

// ids are ConfigMaps of these names, as inventories and messages name them.
func (w *world) ids(names ...string) []any {
	var ids []any
	for _, name := range names {
		ids = append(ids, "ConfigMap "+w.namespace+"/"+name)
	}
	return ids
}

// pvc is the manifest of a PersistentVolumeClaim.
func pvc(name string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, name)
}

var _ = Describe("Prune", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
	})

	commit := func(revision string, names ...string) { w.commit(revision, configMaps(names...)) }
	settled := func(want string) *v1alpha1.Release {
		GinkgoHelper()
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal(want), message(release, v1alpha1.ConditionApplied))
		return release
	}

	It("deletes what left the render, and records it no more", func() {
		commit("v1", "a", "b", "c")
		settled("True Succeeded")
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a", "b", "c")...))
		commit("v2", "a")
		settled("True Succeeded")
		Expect(w.value("a")).To(Equal("one"))
		Expect(w.live("v1", "ConfigMap", "b")).To(BeNil())
		Expect(w.live("v1", "ConfigMap", "c")).To(BeNil())
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		Expect(w.events.All()).To(ContainElement(ContainSubstring("0 created, 0 configured, 2 deleted")))
	})

	It("records no more what somebody else deleted", func() {
		commit("v1", "a", "b")
		settled("True Succeeded")
		remove(w.live("v1", "ConfigMap", "b"))
		commit("v2", "a")
		settled("True Succeeded")
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
	})

	It("deletes an object whose labels were stripped by hand", func() {
		for i, patch := range []string{
			`{"metadata":{"labels":null}}`, `{"metadata":{"labels":{"convoy.dev/release-name":null}}}`, `{"metadata":{"labels":{"convoy.dev/release-namespace":null}}}`,
		} {
			commit(fmt.Sprint("with ", i), "a", "b")
			settled("True Succeeded")
			merge(w.live("v1", "ConfigMap", "b"), patch)
			commit(fmt.Sprint("without ", i), "a")
			settled("True Succeeded")
			Expect(w.live("v1", "ConfigMap", "b")).To(BeNil(), patch)
		}
	})

	It("leaves an object alone that carries another Release's labels by now", func() {
		commit("v1", "a", "b")
		settled("True Succeeded")
		merge(w.live("v1", "ConfigMap", "b"), `{"metadata":{"labels":{"convoy.dev/release-name":"other"}}}`)
		before := w.live("v1", "ConfigMap", "b")
		commit("v2", "a")
		settled("True Succeeded")
		Expect(w.live("v1", "ConfigMap", "b")).To(Equal(before))
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		Expect(w.events.All()).To(ContainElement("Normal PruneSkipped ConfigMap " + w.namespace + "/b was left running: it is not this Release's any more"))
	})

	It("does not delete what was deleted and made again by somebody else", func() {
		commit("v1", "a", "b")
		settled("True Succeeded")
		remove(w.live("v1", "ConfigMap", "b"))
		w.asUser("kubectl", configMap("b", "theirs"))
		commit("v2", "a")
		settled("True Succeeded")
		Expect(w.value("b")).To(Equal("theirs"))
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
	})

	It("keeps protected kinds, says so in an event, and records them no more", func() {
		group := w.namespace + ".example.com"
		DeferCleanup(func() { deleteDefinition(group) })
		files := map[string]string{
			"a.yaml":   configMap("a", "one"),
			"ns.yaml":  "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + w.namespace + "-kept}\n",
			"crd.yaml": definition(group, []string{"size"}, "v1"),
			"pvc.yaml": pvc("kept"),
		}
		w.commit("v1", files)
		// The claim is never bound here, and so never healthy. That must not be in the way of the prune.
		w.pass("app")
		setStatus(w.live("v1", "PersistentVolumeClaim", "kept"), `{"phase":"Bound"}`)
		settled("True Succeeded")
		Expect(w.recorded("app")).To(HaveLen(4))
		commit("v2", "a")
		settled("True Succeeded")
		for kind, obj := range map[string]any{
			"Namespace ": find("v1", "Namespace", "", w.namespace+"-kept"),
			"CustomResourceDefinition.apiextensions.k8s.io ": find(crdVersion, crdKind, "", "widgets."+group),
			"PersistentVolumeClaim ":                         w.live("v1", "PersistentVolumeClaim", "kept"),
		} {
			Expect(obj).To(HaveField("GetLabels()", Not(HaveKey(HavePrefix("convoy.dev/")))), kind)
			Expect(w.events.All()).To(ContainElement(And(HavePrefix("Normal PruneSkipped "+kind), ContainSubstring("its kind is protected"))))
		}
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
	})

	It("follows the annotation: enabled deletes a protected kind, disabled keeps any", func() {
		w.commit("v1", map[string]string{
			"a.yaml":    configMap("a", "one"),
			"kept.yaml": annotated(v1alpha1.PruneAnnotation, v1alpha1.PruneDisabled, configMap("kept", "one")),
			"pvc.yaml":  annotated(v1alpha1.PruneAnnotation, v1alpha1.PruneEnabled, pvc("dropped")),
		})
		w.pass("app")
		claim := w.live("v1", "PersistentVolumeClaim", "dropped")
		setStatus(claim, `{"phase":"Bound"}`)
		merge(claim, `{"metadata":{"finalizers":null}}`) // which the controller that is not here would take off
		settled("True Succeeded")
		commit("v2", "a")
		settled("True Succeeded")
		Expect(w.live("v1", "PersistentVolumeClaim", "dropped")).To(BeNil())
		Expect(w.value("kept")).To(Equal("one"))
		Expect(w.events.All()).To(ContainElement("Normal PruneSkipped ConfigMap " + w.namespace + "/kept was left running: its annotation convoy.dev/prune says disabled"))
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
	})

	It("leaves everything running with prunePolicy.enabled false, and takes the owner labels off", func() {
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.Enabled = new(false) })
		commit("v1", "a", "b")
		settled("True Succeeded")
		commit("v2", "a")
		settled("True Succeeded")
		b := w.live("v1", "ConfigMap", "b")
		Expect(b).NotTo(BeNil())
		Expect(b.GetLabels()).To(BeEmpty())
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.Enabled = new(true) })
		settled("True Succeeded")
		Expect(w.value("b")).To(Equal("one"), "what was let go stays let go")
	})

	for _, limits := range [][2]string{{"1", "2"}, {"49%", "50%"}, {"0", "100%"}, {"0%", "2"}} {
		policy, raised := limits[0], limits[1]
		It("refuses more deletes than prunePolicy.maxDeletes "+policy+" and goes on when it is raised to "+raised, func() {
			w.edit("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.MaxDeletes = new(intstr.Parse(policy)) })
			commit("v1", "a", "b", "c", "d")
			first := settled("True Succeeded")
			w.commit("v2", map[string]string{"a.yaml": configMap("a", "two"), "b.yaml": configMap("b", "one")})
			Expect(writes(during(func() { w.pass("app") }))).To(HaveExactElements("patch releases/status " + w.namespace + "/app"))
			release := settled("False PruneRefused")
			Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("2 objects would be deleted, and prunePolicy.maxDeletes " + policy + " allows"))
			Expect(release.Status.LastAttempted).To(Equal(first.Status.LastAttempted))
			Expect(w.history("app")).To(HaveLen(1))
			Expect(w.value("a")).To(Equal("one"))

			w.edit("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.MaxDeletes = new(intstr.Parse(raised)) })
			settled("True Succeeded")
			Expect(w.value("a")).To(Equal("two"))
			Expect(w.recorded("app")).To(ConsistOf(w.ids("a", "b")...))
		})
	}

	It("does not count what is being deleted already against prunePolicy.maxDeletes", func() {
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.MaxDeletes = new(intstr.FromInt32(1)) })
		commit("v1", "a", "b", "c")
		settled("True Succeeded")
		merge(w.live("v1", "ConfigMap", "c"), `{"metadata":{"finalizers":["example.com/held"]}}`)
		commit("v2", "a", "b")
		w.pass("app")
		commit("v3", "a")
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		merge(w.live("v1", "ConfigMap", "c"), `{"metadata":{"finalizers":null}}`)
		settled("True Succeeded")
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
	})

	It("waits for an object that a finalizer holds, times out, and goes on when it is gone", func() {
		commit("v1", "a", "b")
		settled("True Succeeded")
		merge(w.live("v1", "ConfigMap", "b"), `{"metadata":{"finalizers":["example.com/held"]}}`)
		commit("v2", "a")
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		Expect(release.Status.Sync).To(HaveValue(HaveField("Phase", v1alpha1.SyncPhasePrune)))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("ConfigMap "+w.namespace+"/b"), ContainSubstring("example.com/held")))
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a", "b")...))
		Expect(w.history("app")).To(HaveLen(1), "it is not applied in full")
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())

		w.clock.SetTime(w.clock.Now().Add(5*time.Minute - time.Second))
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		settled("False TimedOut")
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a", "b")...))

		merge(w.live("v1", "ConfigMap", "b"), `{"metadata":{"finalizers":null}}`)
		settled("True Succeeded")
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		Expect(w.history("app")).To(HaveLen(2))
	})

	It("refuses a render without objects unless allowEmpty", func() {
		commit("v1", "a")
		settled("True Succeeded")
		w.commit("v2", map[string]string{"README": "nothing here"})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("False RenderFailed"))
		Expect(message(release, v1alpha1.ConditionRendered)).To(ContainSubstring("does not render: it has no objects: check the path, or set spec.allowEmpty"))
		Expect(w.value("a")).To(Equal("one"))
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.AllowEmpty = true })
		release = settled("True Succeeded")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
		Expect(w.shards("app")).To(BeEmpty())
		Expect(w.history("app")).To(HaveLen(2))
	})
})
