package controllers_test

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

var _ = Describe("Hooks of a deletion", func() {
	// withHooks has a hook of each event, and two objects in two waves.
	withHooks := func() map[string]string {
		return map[string]string{
			"pre.yaml": hook("PreDelete", job("backup")), "post.yaml": hook("PostDelete", job("report")),
			"a.yaml": configMap("a", "v1"), "last.yaml": inWave(1, configMap("last", "v1")),
		}
	}
	passed := func(w *world) []string { return changed(during(func() { w.pass("app") })) }
	uid := func(w *world, name string) string {
		GinkgoHelper()
		obj := w.live("batch/v1", "Job", name)
		Expect(obj).NotTo(BeNil(), "Job %s is not there", name)
		return string(obj.GetUID())
	}

	// end deletes the Release up to where all hooks have succeeded.
	end := func(w *world) {
		GinkgoHelper()
		remove(w.get("app"))
		w.pass("app")
		w.end("backup", true)
		w.pass("app")
		w.end("report", true)
	}

	It("run before anything is deleted and when all is gone, and are gone themselves at the end", func() {
		store := GinkgoT().TempDir()
		w := newWorldWithStore("file://" + store + "?no_tmp_dir=true").deployed(withHooks())
		Expect(w.live("batch/v1", "Job", "backup")).To(BeNil(), "no rollout runs them")
		w.source.Fail(errors.New("no route to host"))
		remove(w.get("app"))
		Expect(passed(w)).To(Equal([]string{"patch backup"}))
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(HavePrefix("Waiting for a PreDelete hook: Job.batch " + w.namespace + "/backup"))
		Expect(release.Status.Sync.Phase).To(Equal(v1alpha1.SyncPhasePreDelete))
		Expect(passed(w)).To(BeEmpty(), "a pass that waits changes nothing")
		w.end("backup", true)
		Expect(passed(w)).To(Equal([]string{"delete last", "delete a", "patch report"}))
		Expect(w.get("app").Status.Sync.Phase).To(Equal(v1alpha1.SyncPhasePostDelete))
		Expect(passed(w)).To(BeEmpty())
		w.end("report", true)
		Expect(passed(w)).To(ConsistOf("delete backup", "delete report"))
		Expect(w.find("app")).To(BeNil())
		Expect(w.live("batch/v1", "Job", "backup")).To(BeNil())
		Expect(w.live("batch/v1", "Job", "report")).To(BeNil())
		Expect(w.shards("app")).To(BeEmpty())
		Expect(filesIn(store)).To(BeEmpty())
	})

	It("of Argo CD and Helm run as well, in their order, and those of a rollout do not", func() {
		argo := func(events, manifest string) string { return annotated(v1alpha1.ArgoHookAnnotation, events, manifest) }
		helm := func(events, weight, manifest string) string {
			return annotated(v1alpha1.HelmHookAnnotation, events, annotated(v1alpha1.HelmHookWeightAnnotation, weight, manifest))
		}
		w := newWorld().deployed(map[string]string{
			"1.yaml": helm("pre-delete", "5", configMap("second", "v1")), "2.yaml": helm("pre-upgrade,pre-delete", "-5", configMap("first", "v1")),
			"3.yaml": argo("PostDelete", configMap("post", "v1")), "4.yaml": argo("PostSync", configMap("synced", "v1")), "5.yaml": configMap("a", "v1"),
			"6.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: named-, annotations: {helm.sh/hook: post-delete, helm.sh/hook-weight: '1'}}\n",
		})
		remove(w.get("app"))
		requests := passed(w)
		Expect(requests[:2]).To(Equal([]string{"patch first", "patch second"}))
		Expect(requests[2:4]).To(ConsistOf("delete a", "delete synced"))
		Expect(requests[4]).To(Equal("patch post"))
		Expect(requests[5]).To(HavePrefix("patch named-"))
		Expect(requests[6:]).To(ConsistOf("delete first", "delete second", "delete post", "delete "+strings.TrimPrefix(requests[5], "patch ")))
		Expect(w.find("app")).To(BeNil())
	})

	It("survive a restart in the middle, whenever it comes", func() {
		w := newWorld().deployed(withHooks())
		w.restart()
		remove(w.get("app"))
		w.pass("app")
		first := uid(w, "backup")
		w.restart()
		w.pass("app")
		Expect(uid(w, "backup")).To(Equal(first))
		w.end("backup", true)
		w.restart()
		w.pass("app")
		report := uid(w, "report")
		w.restart()
		w.pass("app")
		Expect(uid(w, "report")).To(Equal(report))
		w.removeJob("backup")
		w.pass("app")
		Expect(w.live("batch/v1", "Job", "backup")).To(BeNil(), "it ran")
		w.end("report", true)
		w.restart()
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
	})

	It("that fail hold the deletion, say how to go on, and run again after a sync request", func() {
		w := newWorld().deployed(withHooks())
		remove(w.get("app"))
		w.pass("app")
		first := uid(w, "backup")
		w.end("backup", false)
		Expect(passed(w)).To(BeEmpty())
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(HavePrefix("A PreDelete hook failed: Job.batch "+w.namespace+"/backup"),
			ContainSubstring("ask for a sync to run it again"), HaveSuffix("annotate the Release with convoy.dev/deletion-hooks=disabled")))
		Expect(w.events.All()).To(ContainElement(HavePrefix("Warning DeletionHeld A PreDelete hook failed")))
		Expect(w.value("a")).To(Equal("v1"))
		w.restart()
		w.pause(time.Hour)
		Expect(passed(w)).To(BeEmpty(), "it stays failed")
		w.sync("app")
		w.pass("app")
		Expect(uid(w, "backup")).NotTo(Equal(first))
		w.end("backup", true)
		w.pass("app")
		done := uid(w, "backup")

		By("failing after the prune, where a sync request runs no PreDelete hook again")
		w.end("report", false)
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
		report := uid(w, "report")
		w.pause(time.Second)
		w.sync("app")
		w.pass("app")
		Expect(uid(w, "report")).NotTo(Equal(report))
		Expect(uid(w, "backup")).To(Equal(done))
		w.end("report", true)
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.live("batch/v1", "Job", "backup")).To(BeNil())
	})

	It("have a deadline, and go on as soon as they are complete", func() {
		w := newWorld().deployed(withHooks())
		remove(w.get("app"))
		w.pass("app")
		w.pause(5 * time.Minute)
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False TimedOut"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("convoy.dev/deletion-hooks=disabled"))
		w.end("backup", true)
		Expect(passed(w)).To(ContainElement("patch report"))
	})

	It("are not run with the annotation that says so, and what they left is gone", func() {
		w := newWorld().deployed(withHooks())
		remove(w.get("app"))
		w.pass("app")
		w.end("backup", false)
		w.pass("app")
		w.edit("app", func(r *v1alpha1.Release) {
			r.Annotations = map[string]string{v1alpha1.DeletionHooksAnnotation: v1alpha1.DeletionHooksDisabled}
		})
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
		Expect(w.live("batch/v1", "Job", "backup")).To(BeNil())
		Expect(w.live("batch/v1", "Job", "report")).To(BeNil())
	})

	It("are not run with deletionPolicy Orphan, where nothing is deleted", func() {
		w := newWorld().deployed(withHooks())
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		w.delete("app")
		Expect(w.live("batch/v1", "Job", "backup")).To(BeNil())
		Expect(w.value("a")).To(Equal("v1"))
	})

	It("are those of the render that runs: of a pin, not of the source", func() {
		w := newWorld().deployed(withHooks())
		pinned := w.get("app").Status.LastSuccessful.RenderRef
		w.commit("v2", map[string]string{"pre.yaml": hook("PreDelete", job("newer")), "a.yaml": configMap("a", "v2")})
		w.settle("app")
		w.pin("app", pinned)
		w.settle("app")
		remove(w.get("app"))
		Expect(passed(w)).To(Equal([]string{"patch backup"}))
	})

	It("are those of a render that was begun, if none was applied in full", func() {
		w := newWorld()
		w.create("app")
		files := withHooks()
		files["web.yaml"] = deployment("web", "v1")
		w.commit("v1", files)
		w.pass("app")
		remove(w.get("app"))
		Expect(passed(w)).To(Equal([]string{"patch backup"}))
	})

	It("left the render with it: then the deletion asks no store", func() {
		w := newWorld().deployed(withHooks())
		w.commit("v2", configMaps("a"))
		w.settle("app")
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Err: errors.New("connection refused")})
		w.delete("app")
	})

	It("wait for a store that is down, before anything is deleted", func() {
		w := newWorld().deployed(withHooks())
		w.restart()
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Err: errors.New("connection refused")})
		remove(w.get("app"))
		Expect(passed(w)).To(BeEmpty())
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DeployFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("waits for the render store"), ContainSubstring("connection refused")))
		Expect(w.value("a")).To(Equal("v1"))
		w.faults.Clear()
		Expect(passed(w)).To(Equal([]string{"patch backup"}))
	})

	It("that cannot be had any more are said not to run, and hold nothing", func() {
		for _, w := range []*world{newWorldWithStore(""), newWorld()} {
			w.deployed(withHooks())
			w.restart()
			if w.store.Enabled() {
				Expect(w.store.Archive(w.namespace, "app").Purge(context.Background())).To(Succeed())
			}
			w.delete("app")
			Expect(w.events.All()).To(ContainElement(HavePrefix("Warning HooksSkipped The hooks of the deletion are not run")))
			Expect(w.value("a")).To(BeEmpty())
		}
	})

	It("are not said to be skipped when the store was purged in part, since they ran", func() {
		w := newWorld().deployed(withHooks())
		end(w)
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpDelete, Skip: 1, Err: errors.New("connection refused")})
		w.pass("app")
		Expect(w.find("app")).NotTo(BeNil())
		w.restart()
		w.faults.Clear()
		Expect(passed(w)).To(BeEmpty())
		Expect(w.find("app")).To(BeNil())
		Expect(w.events.All()).NotTo(ContainElement(ContainSubstring("HooksSkipped")))
	})

	It("that the server would refuse are found when the render is rolled out", func() {
		w := newWorld()
		w.create("app")
		refused := "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n"
		w.commit("v1", map[string]string{"pre.yaml": hook("PreDelete", refused), "a.yaml": configMap("a", "v1")})
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("Service " + w.namespace + "/s"))
		Expect(w.value("a")).To(BeEmpty())
	})

	It("of a protected kind are let go at the end", func() {
		files := map[string]string{
			"pre.yaml": annotated(v1alpha1.PruneAnnotation, v1alpha1.PruneDisabled, hook("PreDelete", configMap("kept", "v1"))), "a.yaml": configMap("a", "v1"),
		}
		w := newWorld().deployed(files)
		w.delete("app")
		kept := w.live("v1", "ConfigMap", "kept")
		Expect(kept).NotTo(BeNil())
		Expect(kept.GetLabels()).To(BeEmpty())
		Expect(w.events.All()).To(ContainElement(HavePrefix("Normal PruneSkipped ConfigMap " + w.namespace + "/kept was left running")))
	})

	It("that hang on a finalizer at the end are waited for", func() {
		w := newWorld().deployed(withHooks())
		end(w)
		merge(w.live("batch/v1", "Job", "report"), `{"metadata":{"finalizers":["example.com/held"]}}`)
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("to be gone: Job.batch " + w.namespace + "/report"))
		merge(w.live("batch/v1", "Job", "report"), `{"metadata":{"finalizers":null}}`)
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
	})
})
