package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// delete deletes a Release as a user would, and runs passes until it is gone.
func (w *world) delete(name string) {
	GinkgoHelper()
	remove(w.get(name))
	w.settle(name)
	Expect(w.find(name)).To(BeNil())
}

var _ = Describe("Two Releases with the same object", func() {
	var w *world
	var store string // its folder

	BeforeEach(func() {
		store = GinkgoT().TempDir()
		w = newWorldWithStore("file://" + store + "?no_tmp_dir=true")
		w.create("first")
		w.create("second")
		w.commit("one", map[string]string{"a.yaml": configMap("a", "one")})
		Expect(condition(w.settle("first"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		w.commit("two", map[string]string{"a.yaml": configMap("a", "two"), "b.yaml": configMap("b", "two")})
	})

	It("tells the second whose the object is and changes nothing, neither live nor in the store", func() {
		stored := filesIn(store)
		written := writes(during(func() { w.pass("second") }))
		Expect(written).To(HaveExactElements("patch releases "+w.namespace+"/second", "patch releases/status "+w.namespace+"/second"))
		second := w.get("second")
		Expect(condition(second, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(second, v1alpha1.ConditionApplied)).To(ContainSubstring(
			"ConfigMap %[1]s/a: is owned by Release %[1]s/first: remove it from one of the two sources", w.namespace))
		Expect(w.value("a")).To(Equal("one"))
		Expect(w.value("b")).To(BeEmpty())
		Expect(filesIn(store)).To(Equal(stored))
		Expect(w.recorded("second")).To(BeEmpty())
	})

	It("says the same, and writes nothing, in every further pass", func() {
		w.settle("second")
		Expect(writes(during(func() { w.pass("second") }))).To(BeEmpty())
	})

	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyOrphan} {
		It("lets the second go on by itself after the first is deleted with policy "+string(policy), func() {
			w.settle("second")
			w.edit("first", func(r *v1alpha1.Release) { r.Spec.DeletionPolicy = policy })
			w.delete("first")
			second := w.settle("second")
			Expect(condition(second, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(second, v1alpha1.ConditionReady))
			Expect(w.value("a")).To(Equal("two"))
			Expect(w.live("v1", "ConfigMap", "a").GetLabels()).To(Equal(v1alpha1.OwnerLabels(w.namespace, "second")))
		})
	}

	It("lets the second go on by itself after the object left the source of the first", func() {
		w.settle("second")
		w.commit("three", map[string]string{"c.yaml": configMap("c", "three")})
		w.settle("first")
		w.commit("two", map[string]string{"a.yaml": configMap("a", "two")})
		second := w.settle("second")
		Expect(condition(second, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(second, v1alpha1.ConditionReady))
		Expect(w.value("a")).To(Equal("two"))
	})

	It("does not confuse Releases of the same name in two namespaces", func() {
		other := newWorld()
		other.create("first")
		other.commit("one", map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: " + w.namespace + "}\n"})
		release := other.settle("first")
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("is owned by Release %s/first", w.namespace))
		Expect(w.value("a")).To(Equal("one"))
	})
})

var _ = Describe("An object that exists", func() {
	It("is adopted if it has no owner, with the fields of others", func() {
		w := newWorld()
		w.asUser("somebody", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {team: blue}}\ndata: {key: theirs, more: theirs}\n")
		w.create("app")
		release := w.deploy("app", "ours")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		a := w.live("v1", "ConfigMap", "a")
		Expect(a.Object["data"]).To(Equal(map[string]any{"key": "ours", "more": "theirs"}))
		Expect(a.GetLabels()).To(And(HaveKeyWithValue("team", "blue"), HaveKeyWithValue(v1alpha1.ReleaseNameLabel, "app")))
	})

	It("is adopted if its labels name a Release that is gone", func() {
		w := newWorld()
		w.asUser("kubectl", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {convoy.dev/release-name: gone, convoy.dev/release-namespace: "+
			w.namespace+"}}\ndata: {key: theirs}\n")
		w.create("app")
		release := w.deploy("app", "ours")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.live("v1", "ConfigMap", "a").GetLabels()).To(Equal(v1alpha1.OwnerLabels(w.namespace, "app")))
	})

	It("stays somebody else's while a Release of the labels exists that never recorded it", func() {
		w := newWorld()
		w.create("other", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		w.asUser("kubectl", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {convoy.dev/release-name: other, convoy.dev/release-namespace: "+
			w.namespace+"}}\ndata: {key: theirs}\n")
		w.create("app")
		Expect(message(w.deploy("app", "ours"), v1alpha1.ConditionApplied)).To(ContainSubstring("is owned by Release %s/other", w.namespace))
		Expect(w.value("a")).To(Equal("theirs"))
	})
})
