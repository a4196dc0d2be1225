package controllers_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// serviceAccount makes a ServiceAccount in the namespace of the world that may do this with ConfigMaps there.
func (w *world) serviceAccount(name string, verbs ...string) {
	GinkgoHelper()
	ctx, meta := context.Background(), metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	Expect(env.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta})).To(Succeed())
	Expect(env.Client.Create(ctx, &rbacv1.Role{ObjectMeta: meta})).To(Succeed())
	Expect(env.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.namespace, Name: name}},
	})).To(Succeed())
	w.allow(name, verbs...)
}

// allow changes what a ServiceAccount may do with ConfigMaps. It returns when the API server goes by it.
func (w *world) allow(name string, verbs ...string) {
	GinkgoHelper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if len(verbs) > 0 {
		role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}
	}
	Expect(env.Client.Update(context.Background(), role)).To(Succeed())
	Eventually(func() []string { return w.mayDo(name) }).Should(ConsistOf(verbs))
}

// mayDo are the verbs of allVerbs that a ServiceAccount may use on ConfigMaps.
func (w *world) mayDo(name string) []string {
	GinkgoHelper()
	var allowed []string
	for _, verb := range allVerbs {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               w.user(name),
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.namespace, Verb: verb, Version: "v1", Resource: "configmaps"},
		}}
		Expect(env.Client.Create(context.Background(), review)).To(Succeed())
		if review.Status.Allowed {
			allowed = append(allowed, verb)
		}
	}
	return allowed
}

// allVerbs are the rights that a Release needs on what it deploys.
var allVerbs = []string{"get", "list", "create", "patch", "delete"}

// user is the name of a ServiceAccount of the world.
func (w *world) user(serviceAccount string) string {
	return "system:serviceaccount:" + w.namespace + ":" + serviceAccount
}

// without are allVerbs without one.
func without(verb string) []string {
	return slices.DeleteFunc(slices.Clone(allVerbs), func(v string) bool { return v == verb })
}

var _ = Describe("A Release with a ServiceAccount", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.serviceAccount("deployer", allVerbs...)
	})

	named := func(r *v1alpha1.Release) { r.Spec.ServiceAccountName = "deployer" }
	// onTargets are the requests for ConfigMaps.
	onTargets := func(requests []auditv1.Event) []auditv1.Event {
		return slices.DeleteFunc(requests, func(r auditv1.Event) bool { return r.ObjectRef == nil || r.ObjectRef.Resource != "configmaps" })
	}
	settled := func(want string) *v1alpha1.Release {
		GinkgoHelper()
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal(want), message(release, v1alpha1.ConditionApplied))
		return release
	}
	// life deploys, changes, prunes, corrects and deletes.
	life := func() {
		GinkgoHelper()
		w.commit("v1", configMaps("a", "b"))
		settled("True Succeeded")
		w.commit("v2", map[string]string{"a.yaml": configMap("a", "two")})
		settled("True Succeeded")
		w.restart()
		settled("True Succeeded")
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		settled("Unknown Suspended")
		w.delete("app")
	}

	It("reads and writes everything that it deploys as that ServiceAccount", func() {
		w.create("app", named)
		requests := onTargets(during(life))
		Expect(requests).NotTo(BeEmpty())
		for _, r := range requests {
			Expect(r.ImpersonatedUser).To(HaveValue(HaveField("Username", w.user("deployer"))), "%s %s", r.Verb, r.RequestURI)
		}
	})

	It("needs no more rights than are documented: get, list, create, patch and delete", func() {
		w.create("app", named)
		life()
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})

	It("uses the default ServiceAccount where it names none", func() {
		w.serviceAccount("default-deployer", allVerbs...)
		w.controller.DefaultServiceAccount = "default-deployer"
		w.create("app")
		w.commit("v1", configMaps("a"))
		for _, r := range onTargets(during(func() { settled("True Succeeded") })) {
			Expect(r.ImpersonatedUser).To(HaveValue(HaveField("Username", w.user("default-deployer"))), "%s %s", r.Verb, r.RequestURI)
		}
		w.edit("app", named)
		for _, r := range onTargets(during(func() { settled("True Succeeded") })) {
			Expect(r.ImpersonatedUser).To(HaveValue(HaveField("Username", w.user("deployer"))), "%s %s", r.Verb, r.RequestURI)
		}
	})

	for _, verb := range []string{"list", "create", "patch"} {
		It("changes nothing without the right to "+verb+", names the object, and goes on when it has it", func() {
			w.allow("deployer", without(verb)...)
			w.create("app", named)
			w.commit("v1", configMaps("a", "b"))
			Expect(writes(during(func() { w.pass("app") }))).To(HaveExactElements(
				"patch releases "+w.namespace+"/app", "patch releases/status "+w.namespace+"/app"))
			release := settled("False DryRunFailed")
			Expect(message(release, v1alpha1.ConditionApplied)).To(And(
				ContainSubstring("ConfigMap "+w.namespace+"/a: "), ContainSubstring("ConfigMap "+w.namespace+"/b: "),
				ContainSubstring(w.user("deployer")), ContainSubstring(`cannot `+verb+` resource "configmaps"`)))
			Expect(w.history("app")).To(BeEmpty())
			w.allow("deployer", allVerbs...)
			settled("True Succeeded")
		})
	}

	for _, verb := range []string{"get", "delete"} {
		It("keeps what it may not "+verb+" when it leaves the render, and goes on when it may", func() {
			w.create("app", named)
			w.commit("v1", configMaps("a", "b", "c"))
			settled("True Succeeded")
			w.allow("deployer", without(verb)...)
			w.commit("v2", map[string]string{"a.yaml": configMap("a", "two")})
			release := settled("False DryRunFailed")
			Expect(message(release, v1alpha1.ConditionApplied)).To(And(
				ContainSubstring("ConfigMap "+w.namespace+"/b: "), ContainSubstring("ConfigMap "+w.namespace+"/c: "),
				ContainSubstring(`cannot `+verb+` resource "configmaps"`)))
			Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty(), "it says the same in every pass")
			Expect(w.recorded("app")).To(ConsistOf(w.ids("a", "b", "c")...))
			Expect(w.value("a")).To(Equal("one"))
			w.allow("deployer", allVerbs...)
			settled("True Succeeded")
			Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		})
	}

	It("cannot reach another namespace, nor what is cluster-scoped", func() {
		other := newWorld()
		w.create("app", named)
		w.commit("v1", map[string]string{
			"a.yaml":     configMap("a", "one"),
			"there.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: there, namespace: " + other.namespace + "}\n",
			"ns.yaml":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + w.namespace + "-mine}\n",
		})
		release := settled("False DryRunFailed")
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(
			ContainSubstring("ConfigMap "+other.namespace+"/there: "), ContainSubstring("Namespace "+w.namespace+"-mine: ")))
		Expect(w.value("a")).To(BeEmpty())
		Expect(other.live("v1", "ConfigMap", "there")).To(BeNil())
	})

	It("cannot reach another namespace by an Inventory that somebody wrote", func() {
		other := newWorld()
		other.asUser("kubectl", configMap("theirs", "one"))
		w.create("app", named)
		w.commit("v1", configMaps("a"))
		settled("True Succeeded")
		shard := w.shards("app")[0]
		shard.Entries = append(shard.Entries, v1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: other.namespace, Name: "theirs"})
		Expect(env.Client.Update(context.Background(), &shard)).To(Succeed())
		release := settled("False DryRunFailed")
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("ConfigMap " + other.namespace + "/theirs: "))
		Expect(other.value("theirs")).To(Equal("one"))
	})

	It("does nothing with a ServiceAccount that does not exist", func() {
		w.create("app", func(r *v1alpha1.Release) { r.Spec.ServiceAccountName = "nobody" })
		w.commit("v1", configMaps("a"))
		release := settled("False DryRunFailed")
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring(w.user("nobody")))
		Expect(w.value("a")).To(BeEmpty())
	})

	It("waits when it is deleted and the rights are gone, says so, and ends with deletionPolicy Orphan", func() {
		w.create("app", named)
		w.commit("v1", configMaps("a"))
		settled("True Succeeded")
		w.allow("deployer")
		remove(w.get("app"))
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(w.events.All()).To(ContainElement(And(HavePrefix("Warning DeletionHeld"), ContainSubstring("ConfigMap "+w.namespace+"/a"))))
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.value("a")).To(Equal("one"))
	})

	It("waits when it is deleted and the rights are gone, and ends when they are back", func() {
		w.create("app", named)
		w.commit("v1", configMaps("a"))
		settled("True Succeeded")
		w.allow("deployer")
		remove(w.get("app"))
		w.pass("app")
		w.allow("deployer", allVerbs...)
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})
})
