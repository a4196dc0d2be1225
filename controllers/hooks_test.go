package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// hook makes a manifest a hook.
func hook(events, manifest string) string {
	return annotated(v1alpha1.HookAnnotation, events, manifest)
}

// changed are the objects that requests changed, as "verb name", without what convoy keeps for itself.
func changed(requests []auditv1.Event) []string {
	var list []string
	for _, w := range writes(requests) {
		verb, rest, _ := strings.Cut(w, " ")
		resource, name, _ := strings.Cut(rest, " ")
		if resource != "releases/status" && resource != "inventories" && resource != "releases" {
			list = append(list, verb+" "+name[strings.Index(name, "/")+1:])
		}
	}
	return list
}

// removeJob deletes a Job, as somebody with kubectl, or its time to live, would.
func (w *world) removeJob(name string) {
	GinkgoHelper()
	obj := w.live("batch/v1", "Job", name)
	Expect(env.Client.Delete(context.Background(), obj, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	Expect(w.live("batch/v1", "Job", name)).To(BeNil())
}

var _ = Describe("Hooks", func() {
	const timeout = 5 * time.Minute // the default
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
	})

	applied := func() string {
		GinkgoHelper()
		w.pass("app")
		return condition(w.get("app"), v1alpha1.ConditionApplied)
	}
	// begun passes until the first hook is awaited.
	begun := func() {
		GinkgoHelper()
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(applied()).To(Equal("Unknown Progressing"))
	}
	uid := func(name string) string {
		GinkgoHelper()
		obj := w.live("batch/v1", "Job", name)
		Expect(obj).NotTo(BeNil(), "Job %s is not there", name)
		return string(obj.GetUID())
	}
	withHooks := func(version string) map[string]string {
		return map[string]string{
			"pre.yaml": hook("PreSync", job("migrate")), "post.yaml": hook("PostSync", job("smoke")),
			"a.yaml": inWave(-1, configMap("a", version)), "b.yaml": configMap("b", version),
		}
	}

	It("run before the first wave, and after the prune", func() {
		w.commit("v0", map[string]string{"old.yaml": configMap("old", "v0")})
		w.settle("app")
		w.commit("v1", withHooks("v1"))
		Expect(changed(during(func() { w.pass("app"); w.pass("app") }))).To(Equal([]string{"patch migrate"}))
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(HavePrefix("Waiting for a PreSync hook: Job.batch " + w.namespace + "/migrate"))
		Expect(release.Status.Sync.Phase).To(Equal(v1alpha1.SyncPhasePreSync))
		Expect(release.Status.Sync.Hook).To(Equal("Job.batch " + w.namespace + "/migrate"))
		Expect(changed(during(func() { w.pass("app") }))).To(BeEmpty(), "a pass that waits changes nothing")
		w.end("migrate", true)
		Expect(changed(during(func() { w.pass("app") }))).To(Equal([]string{"patch a", "patch b", "delete old", "patch smoke"}))
		release = w.get("app")
		Expect(release.Status.Sync.Phase).To(Equal(v1alpha1.SyncPhasePostSync))
		Expect(release.Status.LastSuccessful.RenderRef).NotTo(Equal(release.Status.LastAttempted.RenderRef), "the rollout is not done yet")
		w.end("smoke", true)
		release = w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(message(release, v1alpha1.ConditionApplied)).To(HavePrefix("Applied 2 objects"))
		Expect(release.Status.Sync).To(BeNil())
	})

	It("of PostSync wait until everything is healthy", func() {
		w.commit("v1", map[string]string{"post.yaml": hook("PostSync", job("smoke")), "web.yaml": deployment("web", "v1")})
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(w.live("batch/v1", "Job", "smoke")).To(BeNil())
		w.becomeHealthy("web")
		begun()
		Expect(w.live("batch/v1", "Job", "smoke")).NotTo(BeNil())
		w.end("smoke", true)
		Expect(applied()).To(Equal("True Succeeded"))
	})

	// roll rolls a render with both hooks out.
	roll := func() {
		GinkgoHelper()
		begun()
		w.end("migrate", true)
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.end("smoke", true)
		Expect(w.settle("app").Status.Sync).To(BeNil())
	}

	It("run once in a rollout, and not when drift is put back, when somebody asks for a sync of what runs, or when a hook is gone", func() {
		w.commit("v1", withHooks("v1"))
		roll()
		first := uid("migrate")
		Expect(changed(during(func() { w.pass("app") }))).To(BeEmpty())
		w.change("a", "drifted")
		w.pause(time.Second)
		w.sync("app")
		Expect(changed(during(func() { w.pass("app"); w.pass("app") }))).To(Equal([]string{"patch a"}))
		Expect(uid("migrate")).To(Equal(first))
		w.removeJob("migrate")
		Expect(changed(during(func() { w.pass("app") }))).To(BeEmpty())
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("run anew in every rollout, of the same render too", func() {
		seen := map[string]bool{}
		for i, version := range []string{"v1", "v2", "v1", "v2"} {
			w.commitLater(fmt.Sprint("commit", i), withHooks(version))
			roll()
			seen[uid("migrate")], seen[uid("smoke")] = true, true
			Expect(w.value("a")).To(Equal(version))
		}
		Expect(seen).To(HaveLen(8))
	})

	It("survive a restart in the middle, whenever it comes", func() {
		w.commit("v1", withHooks("v1"))
		w.pass("app")
		w.restart()
		w.pass("app")
		first := uid("migrate")
		w.restart()
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(uid("migrate")).To(Equal(first))
		w.end("migrate", true)
		w.restart()
		w.pass("app")
		w.restart()
		w.pass("app")
		Expect(uid("migrate")).To(Equal(first))
		w.end("smoke", true)
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("that are started are not started twice if the inventory does not know of them yet", func() {
		w.commit("v1", withHooks("v1"))
		begun()
		first := uid("migrate")
		shard := w.shards("app")[0]
		merge(object(fmt.Sprintf("apiVersion: convoy.dev/v1alpha1\nkind: Inventory\nmetadata: {name: %s, namespace: %s}\n", shard.Name, w.namespace)),
			`{"entries":[{"group":"batch","version":"v1","kind":"Job","namespace":"`+w.namespace+`","name":"migrate"}]}`)
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(uid("migrate")).To(Equal(first))
	})

	It("that fail stop the rollout before anything of the waves is applied, and run again after a sync request", func() {
		w.commit("v1", withHooks("v1"))
		begun()
		w.end("migrate", false)
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(
			HavePrefix("A PreSync hook failed: Job.batch "+w.namespace+"/migrate"), HaveSuffix("ask for a sync to run it again")))
		Expect(condition(release, v1alpha1.ConditionStalled)).To(Equal("True HookFailed"))
		Expect(w.value("a")).To(BeEmpty())
		first := uid("migrate")
		w.restart()
		w.pause(time.Hour)
		Expect(changed(during(func() { w.pass("app") }))).To(BeEmpty(), "it stays failed")

		w.sync("app")
		Expect(applied()).To(Equal("Unknown Progressing"), "with a deadline of its own")
		Expect(uid("migrate")).NotTo(Equal(first))
		w.end("migrate", true)
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.end("smoke", false)
		release = w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
		Expect(w.value("a")).To(Equal("v1"), "a PostSync hook comes last")
		Expect(release.Status.LastSuccessful).To(BeNil())

		w.commitLater("v2", withHooks("v2"))
		roll()
		Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("that succeeded stay so if they are gone in the middle; one that was not seen to succeed counts as failed", func() {
		w.commit("v1", withHooks("v1"))
		begun()
		w.end("migrate", true)
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.removeJob("migrate")
		Expect(changed(during(func() { w.pass("app") }))).To(BeEmpty())
		w.removeJob("smoke")
		Expect(applied()).To(Equal("False HookFailed"))
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("it is gone, and was not seen to succeed"))
		Expect(applied()).To(Equal("False HookFailed"))
		w.pause(time.Second)
		w.sync("app")
		roll()
	})

	It("have a deadline, and go on as soon as they are complete", func() {
		w.commit("v1", withHooks("v1"))
		begun()
		w.pause(timeout - time.Second)
		w.restart()
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.pause(time.Second)
		Expect(applied()).To(Equal("False TimedOut"))
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("Waiting for a PreSync hook"))
		w.end("migrate", true)
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(w.value("a")).To(Equal("v1"))
		w.pause(timeout - time.Second)
		Expect(applied()).To(Equal("Unknown Progressing"), "each has its own")
		w.end("smoke", true)
		Expect(applied()).To(Equal("True Succeeded"))
	})

	It("whose policy is HookSucceeded are deleted once the rollout has succeeded", func() {
		w.commit("v1", map[string]string{
			"1.yaml": annotated(v1alpha1.HookDeletePolicyAnnotation, v1alpha1.HookSucceeded, hook("PreSync", job("migrate"))),
			"2.yaml": configMap("a", "v1"), "3.yaml": annotated(v1alpha1.HookDeletePolicyAnnotation, v1alpha1.HookFailed, hook("PostSync", job("smoke"))),
		})
		begun()
		w.end("migrate", true)
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(w.live("batch/v1", "Job", "migrate")).NotTo(BeNil())
		w.end("smoke", true)
		Expect(changed(during(func() { w.pass("app") }))).To(Equal([]string{"delete migrate"}))
		Expect(w.live("batch/v1", "Job", "migrate")).To(BeNil())
		Expect(changed(during(func() { w.settle("app") }))).To(BeEmpty())
		Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("that left the render are pruned, and the deletion of the Release leaves none", func() {
		w.commit("v1", withHooks("v1"))
		roll()
		w.commitLater("v2", map[string]string{"post.yaml": hook("PostSync", configMap("post", "v2")), "a.yaml": configMap("a", "v2")})
		w.settle("app")
		Expect(w.live("batch/v1", "Job", "migrate")).To(BeNil())
		Expect(w.live("batch/v1", "Job", "smoke")).To(BeNil())
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a", "post")...))
		w.delete("app")
		w.pass("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.value("post")).To(BeEmpty())
	})

	It("with generateName get a new name in every run, and replace those of the run before", func() {
		generated := func(version string) map[string]string {
			return map[string]string{
				"1.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: migrate-, annotations: {convoy.dev/hook: PreSync}}\ndata: {key: " + version + "}\n",
				"2.yaml": configMap("a", version),
			}
		}
		name := func() string {
			GinkgoHelper()
			release := w.settle("app")
			Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
			ids := w.recorded("app")
			Expect(ids).To(HaveLen(2))
			for _, id := range ids {
				if _, name, ok := strings.Cut(id, "/migrate-"); ok {
					return "migrate-" + name
				}
			}
			return ""
		}
		w.commit("v1", generated("v1"))
		first := name()
		Expect(w.value(first)).To(Equal("v1"))
		w.pause(time.Second)
		w.sync("app")
		Expect(name()).To(Equal(first))
		w.commitLater("v2", generated("v2"))
		second := name()
		Expect(second).NotTo(Equal(first))
		Expect(w.value(second)).To(Equal("v2"))
		Expect(w.value(first)).To(BeEmpty())
		w.delete("app")
		w.pass("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.value(second)).To(BeEmpty())
	})

	It("that are malformed, or that the server would refuse, are found before anything is changed", func() {
		w.commit("v1", map[string]string{
			"1.yaml": hook("PreSync", configMap("pre", "v1")), "2.yaml": hook("Presync", configMap("bad", "v1")), "3.yaml": configMap("a", "v1"),
		})
		Expect(applied()).To(Equal("False DryRunFailed"))
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring(`ConfigMap bad: annotation convoy.dev/hook: "Presync" is none of `))
		refused := "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n"
		w.commit("v2", map[string]string{"1.yaml": hook("PreSync", configMap("pre", "v1")), "2.yaml": hook("PostSync", refused)})
		Expect(applied()).To(Equal("False DryRunFailed"))
		Expect(w.value("pre")).To(BeEmpty())
	})

	It("of PostSync may need what the render brings, and of PreSync may not", func() {
		namespace := w.namespace + "-new"
		in := func(manifest string) string {
			return strings.Replace(manifest, "metadata:", "metadata:\n  namespace: "+namespace, 1)
		}
		files := map[string]string{"ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n"}
		files["hook.yaml"] = in(hook("PreSync", configMap("pre", "v1")))
		w.commit("v1", files)
		Expect(applied()).To(Equal("False DryRunFailed"))
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("ConfigMap " + namespace + "/pre"))
		files["hook.yaml"] = in(hook("PostSync", configMap("post", "v1")))
		w.commit("v2", files)
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(find("v1", "ConfigMap", namespace, "post")).NotTo(BeNil())
	})

	It("of a protected kind, or that say they are kept, are applied over", func() {
		policy := func(manifest string) string {
			return annotated(v1alpha1.HookDeletePolicyAnnotation, v1alpha1.HookSucceeded, hook("PreSync", manifest))
		}
		files := func(version string) map[string]string {
			return map[string]string{
				"1.yaml": policy("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
					"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"),
				"2.yaml": annotated(v1alpha1.PruneAnnotation, v1alpha1.PruneDisabled, policy(configMap("kept", version))), "3.yaml": configMap("a", version),
			}
		}
		w.commit("v1", files("v1"))
		w.pass("app")
		w.pass("app") // no controller binds the claim
		setStatus(w.live("v1", "PersistentVolumeClaim", "data"), `{"phase":"Bound"}`)
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		before := w.live("v1", "PersistentVolumeClaim", "data").GetUID()
		w.commitLater("v2", files("v2"))
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.live("v1", "PersistentVolumeClaim", "data").GetUID()).To(Equal(before))
		Expect(w.value("kept")).To(Equal("v2"))
	})

	It("of another Release are not taken", func() {
		w.commit("v1", map[string]string{"pre.yaml": hook("PreSync", configMap("pre", "v1"))})
		w.settle("app")
		w.create("other")
		w.pass("other")
		release := w.get("other")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("is owned by Release " + w.namespace + "/app"))
	})

	It("replace an object that is in the way, and are tried before", func() {
		w.commit("v1", withHooks("v1"))
		roll()
		first := uid("migrate")
		files := withHooks("v2")
		files["pre.yaml"] = strings.ReplaceAll(files["pre.yaml"], "example.com/job", "example.com/other")
		w.commitLater("v2", files)
		begun()
		Expect(uid("migrate")).NotTo(Equal(first), "a template that cannot be changed is no matter")
		files["pre.yaml"] = strings.ReplaceAll(files["pre.yaml"], "restartPolicy: Never", "restartPolicy: Always")
		w.commitLater("v3", files)
		Expect(applied()).To(Equal("False DryRunFailed"))
	})

	It("of SyncFail run once when a rollout fails half way", func() {
		files := withHooks("v1")
		files["fail.yaml"] = hook("SyncFail", job("alarm"))
		w.commit("v1", files)
		begun()
		Expect(w.live("batch/v1", "Job", "alarm")).To(BeNil())
		w.end("migrate", false)
		Expect(applied()).To(Equal("False HookFailed"))
		first := uid("alarm")
		Expect(changed(during(func() { w.settle("app") }))).To(BeEmpty())
		w.pause(time.Second)
		w.sync("app")
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.end("migrate", false)
		Expect(applied()).To(Equal("False HookFailed"))
		Expect(uid("alarm")).NotTo(Equal(first))
	})

	It("of SyncFail end before failurePolicy rolls back, and the rollback runs its own hooks", func() {
		w.edit("app", rollsBack)
		w.commit("v1", withHooks("v1"))
		roll()
		first := uid("migrate")
		files := withHooks("v2")
		files["fail.yaml"] = hook("SyncFail", job("alarm"))
		w.commitLater("v2", files)
		begun()
		w.end("migrate", true)
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.end("smoke", false)
		Expect(applied()).To(Equal("False HookFailed"))
		Expect(w.get("app").Status.Rollback).To(BeNil())
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("convoy rolls back when what it runs on a failure has ended: Job.batch "))
		w.end("alarm", true)
		Expect(applied()).To(Equal("False HookFailed"))
		Expect(w.get("app").Status.Rollback).NotTo(BeNil())
		w.pause(time.Second)
		roll()
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False RolledBack"))
		Expect(release.Status.Rollback.Reason).To(HavePrefix("HookFailed: A PostSync hook failed"))
		Expect(w.value("a")).To(Equal("v1"))
		Expect(uid("migrate")).NotTo(Equal(first))
		Expect(w.live("batch/v1", "Job", "alarm")).To(BeNil())
	})

	It("do not end by a change of the spec in the middle", func() {
		w.commit("v1", withHooks("v1"))
		begun()
		first := uid("migrate")
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Timeout.Duration = time.Hour })
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(uid("migrate")).To(Equal(first))
	})
})
