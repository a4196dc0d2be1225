package controllers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

var _ = Describe("Deleting a Release", func() {
	It("takes its objects, its inventory, and everything under its prefix in the store", func() {
		store := GinkgoT().TempDir()
		w := newWorldWithStore("file://" + store + "?no_tmp_dir=true").deployed(configMaps("a", "b"))
		other := newWorldWithStore("file://" + store + "?no_tmp_dir=true")
		other.create("app")
		other.deploy("app", "one")
		theirs := other.history("app")
		w.commit("v2", configMaps("a", "b", "c"))
		w.settle("app")
		w.delete("app")
		for _, name := range []string{"a", "b", "c"} {
			Expect(w.live("v1", "ConfigMap", name)).To(BeNil())
		}
		Expect(w.shards("app")).To(BeEmpty())
		Expect(filesIn(store)).NotTo(ContainElement(ContainSubstring(w.namespace)))
		Expect(other.history("app")).To(Equal(theirs))
	})

	It("works while it is suspended", func() {
		w := newWorld().deployed(configMaps("a"))
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		w.settle("app")
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	It("works while its source is down, and without asking it", func() {
		w := newWorld().deployed(configMaps("a"))
		w.source.Fail(errors.New("no route to host"))
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	It("works before anything was applied", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", map[string]string{"a.yaml": "broken: [\n"})
		w.settle("app")
		w.delete("app")
	})

	It("takes what a render left that was never applied in full", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", map[string]string{"web.yaml": deployment("web", "v1"), "last.yaml": inWave(1, configMap("last", "v1"))})
		w.pass("app")
		w.delete("app")
		Expect(w.live("apps/v1", "Deployment", "web")).To(BeNil())
	})

	It("goes by waves in reverse, the objects of one gone before the next is touched", func() {
		w := newWorld().deployed(map[string]string{
			"first.yaml": inWave(-1, configMap("first", "v1")), "a.yaml": configMap("a", "v1"), "last.yaml": inWave(5, configMap("last", "v1")),
		})
		merge(w.live("v1", "ConfigMap", "last"), `{"metadata":{"finalizers":["example.com/held"]}}`)
		remove(w.get("app"))
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("Waiting for objects of wave 5 to be gone: ConfigMap " + w.namespace + "/last"))
		Expect(w.value("a")).To(Equal("v1"))
		Expect(w.value("first")).To(Equal("v1"))
		w.pause(5 * time.Minute)
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("False TimedOut"))
		Expect(w.events.All()).To(ContainElement(And(HavePrefix("Warning DeletionHeld"), ContainSubstring("ConfigMap "+w.namespace+"/last"))))

		merge(w.live("v1", "ConfigMap", "last"), `{"metadata":{"finalizers":null}}`)
		merge(w.live("v1", "ConfigMap", "a"), `{"metadata":{"finalizers":["example.com/held"]}}`)
		w.pass("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(HaveField("GetDeletionTimestamp()", Not(BeNil())))
		Expect(w.value("first")).To(Equal("v1"))
		merge(w.live("v1", "ConfigMap", "a"), `{"metadata":{"finalizers":null}}`)
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.live("v1", "ConfigMap", "first")).To(BeNil())
	})

	It("leaves everything running with deletionPolicy Orphan, and takes the owner labels off", func() {
		w := newWorld().deployed(configMaps("a", "b"))
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		uid := w.live("v1", "ConfigMap", "a").GetUID()
		w.delete("app")
		a := w.live("v1", "ConfigMap", "a")
		Expect(a.GetUID()).To(Equal(uid))
		Expect(a.GetLabels()).To(BeEmpty())
		Expect(w.value("b")).To(Equal("one"))
		Expect(w.shards("app")).To(BeEmpty())
		Expect(w.history("app")).To(BeEmpty())
	})

	It("keeps protected kinds, and says so in an event", func() {
		w, files := newWorld(), configMaps("a")
		files["ns.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + w.namespace + "-kept}\n"
		w.deployed(files)
		w.delete("app")
		kept := find("v1", "Namespace", "", w.namespace+"-kept")
		Expect(kept).To(HaveField("GetDeletionTimestamp()", BeNil()))
		Expect(kept.GetLabels()).NotTo(HaveKey(v1alpha1.ReleaseNameLabel))
		Expect(w.events.All()).To(ContainElement(HavePrefix("Normal PruneSkipped Namespace " + w.namespace + "-kept was left running: its kind is protected")))
	})

	It("counts no prune budget", func() {
		w := newWorld().deployed(configMaps("a", "b"))
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.MaxDeletes = new(intstr.FromInt32(0)) })
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	It("ends when the CRD of its objects is gone", func() {
		w := newWorld()
		group := w.namespace + ".example.com"
		DeferCleanup(func() { deleteDefinition(group) })
		w.asUser("kubectl", definition(group, []string{"size"}, "v1"))
		w.create("app")
		w.commit("v1", map[string]string{"w.yaml": widget(group+"/v1", "w", "size"), "a.yaml": configMap("a", "one")})
		Eventually(func() string { return condition(w.settle("app"), v1alpha1.ConditionReady) }).Should(Equal("True Succeeded"))
		dropDefinition(group)
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	It("ends when the CRD of its objects is gone and the controller was restarted since", func() {
		w := newWorld()
		group := w.namespace + ".example.com"
		DeferCleanup(func() { deleteDefinition(group) })
		w.deployed(map[string]string{"crd.yaml": definition(group, []string{"size"}, "v1"), "w.yaml": widget(group+"/v1", "w", "size"), "a.yaml": configMap("a", "one")})
		dropDefinition(group)
		w.restart()
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	It("ends without a render store", func() {
		w := newWorldWithStore("").deployed(configMaps("a"))
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	for _, op := range []string{renderstore.OpList, renderstore.OpDelete} {
		It("waits while the store is down, says why, and ends when it is back: "+op, func() {
			w := newWorld().deployed(configMaps("a"))
			w.faults.Inject(faultstore.Fault{Op: op, Err: errors.New("connection refused")})
			remove(w.get("app"))
			result := w.pass("app")
			Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Second)))
			w.pass("app")
			release := w.get("app")
			Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DeployFailed"))
			Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("waits for the render store"), ContainSubstring("connection refused")))
			Expect(w.events.All()).To(ContainElement(And(HavePrefix("Warning DeletionHeld"), ContainSubstring("connection refused"))))
			Expect(w.live("v1", "ConfigMap", "a")).To(BeNil(), "the objects are gone already")
			w.faults.Clear()
			w.settle("app")
			Expect(w.find("app")).To(BeNil())
			Expect(w.history("app")).To(BeEmpty())
		})
	}

	It("is not in the way of somebody else's finalizer", func() {
		w := newWorld().deployed(configMaps("a"))
		w.edit("app", func(r *v1alpha1.Release) { r.Finalizers = append(r.Finalizers, "example.com/theirs") })
		remove(w.get("app"))
		w.settle("app")
		release := w.get("app")
		Expect(release.Finalizers).To(HaveExactElements("example.com/theirs"))
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
		w.edit("app", func(r *v1alpha1.Release) { r.Finalizers = nil })
	})
})

var _ = Describe("Namespaces that go away", Ordered, func() {
	BeforeAll(func() {
		clusterOfItsOwn()
		env.StartControllerManager(GinkgoTB())
	})

	dropNamespace := func(name string) {
		GinkgoHelper()
		remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	gone := func(name string) func() bool {
		return func() bool { return find("v1", "Namespace", "", name) == nil }
	}

	It("do not hold a Release whose objects were in them", func() {
		w, there := newWorld(), newWorld()
		w.deployed(map[string]string{
			"a.yaml": configMap("a", "one"), "there.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: " + there.namespace + "}\n",
		})
		dropNamespace(there.namespace)
		Eventually(gone(there.namespace)).WithTimeout(time.Minute).Should(BeTrue())
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	It("go after the objects in them, if the render has them and allows it", func() {
		w := newWorld()
		w.create("app")
		ns := w.namespace + "-mine"
		w.commit("v1", map[string]string{
			"ns.yaml": annotated(v1alpha1.PruneAnnotation, v1alpha1.PruneEnabled, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+ns+"}\n"),
			"a.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: " + ns + "}\n",
		})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		requests := during(func() {
			remove(w.get("app"))
			Eventually(func() *v1alpha1.Release {
				w.pass("app")
				return w.find("app")
			}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(BeNil())
		})
		Expect(gone(ns)()).To(BeTrue())
		deletes := slices.DeleteFunc(writes(requests), func(s string) bool { return !strings.Contains(s, ns) || strings.Contains(s, "deletecollection") })
		Expect(deletes[:2]).To(HaveExactElements("delete configmaps "+ns+"/a", "delete namespaces "+ns+"/"+ns))
	})

	It("take the Releases in them along, with their objects elsewhere and their keys in the store", func() {
		store := GinkgoT().TempDir()
		w, there := newWorldWithStore("file://"+store+"?no_tmp_dir=true"), newWorld()
		w.deployed(map[string]string{
			"a.yaml": configMap("a", "one"), "there.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: " + there.namespace + "}\n",
		})
		dropNamespace(w.namespace)
		Eventually(func() bool {
			w.pass("app")
			return gone(w.namespace)()
		}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(BeTrue())
		Expect(there.live("v1", "ConfigMap", "b")).To(BeNil())
		Expect(filesIn(store)).To(BeEmpty())
	})

	It("take the Releases in them along without their hooks, for which nothing can be created there", func() {
		w := newWorld().deployed(map[string]string{"pre.yaml": hook("PreDelete", configMap("pre", "v1")), "a.yaml": configMap("a", "v1")})
		dropNamespace(w.namespace)
		Eventually(func() bool {
			w.pass("app")
			return gone(w.namespace)()
		}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(BeTrue())
		Expect(w.events.All()).To(ContainElement(HavePrefix("Warning HooksSkipped ConfigMap " + w.namespace + "/pre is not run")))
	})
})

var _ = Describe("The inventory", func() {
	It("loses nothing when its objects are deleted by hand", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", configMaps("a", "b"))
		w.settle("app")
		before := w.shards("app")
		Expect(before).To(HaveLen(1))
		remove(&before[0])
		Expect(w.recorded("app")).To(HaveLen(2), "its finalizer keeps it")
		w.settle("app")
		after := w.shards("app")
		Expect(after).To(HaveLen(1))
		Expect(after[0].UID).NotTo(Equal(before[0].UID))
		Expect(after[0].DeletionTimestamp).To(BeNil())
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a", "b")...))

		By("deleting it and leaving the render in the same pass")
		remove(&after[0])
		w.commit("v2", configMaps("a"))
		w.settle("app")
		Expect(w.live("v1", "ConfigMap", "b")).To(BeNil())
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))

		By("deleting it and then the Release")
		last := w.shards("app")
		remove(&last[0])
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
		Expect(w.shards("app")).To(BeEmpty())
	})

	It("does not make convoy delete what it never applied, whatever somebody writes into it", func() {
		w := newWorld()
		w.asUser("kubectl", configMap("theirs", "one"))
		w.create("app")
		Expect(env.Client.Create(context.Background(), &v1alpha1.Inventory{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "fake", Labels: v1alpha1.OwnerLabels(w.namespace, "app")},
			Entries:    []v1alpha1.InventoryEntry{{Version: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "theirs"}},
		})).To(Succeed())
		w.deploy("app", "one")
		w.delete("app")
		Expect(w.value("theirs")).To(Equal("one"))
	})

	It("belongs to the next Release of the name, if one was forced away", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", configMaps("a", "b"))
		w.settle("app")
		w.edit("app", func(r *v1alpha1.Release) { r.Finalizers = nil })
		remove(w.get("app"))
		Expect(w.find("app")).To(BeNil())
		w.create("app")
		w.commit("v2", configMaps("a"))
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.live("v1", "ConfigMap", "b")).To(BeNil())
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		w.delete("app")
		Expect(w.shards("app")).To(BeEmpty())
	})

	It("survives that its owner reference is taken off, as kubectl delete --cascade=orphan does", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", configMaps("a"))
		w.settle("app")
		shard := w.shards("app")[0]
		shard.OwnerReferences = nil
		Expect(env.Client.Update(context.Background(), &shard)).To(Succeed())
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
		Expect(w.shards("app")).To(BeEmpty())
	})
})
