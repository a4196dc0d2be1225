package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// rollOut passes until Ready is as wanted and nothing changes any more. It returns what rollTo does.
func (w *world) rollOut(ready string, failing ...string) []string {
	GinkgoHelper()
	order := w.rollTo(func(g Gomega, release *v1alpha1.Release) {
		g.Expect(condition(release, v1alpha1.ConditionReady)).To(Equal(ready), message(release, v1alpha1.ConditionReady))
	}, failing...)
	Expect(changed(during(func() { w.settle("app") }))).To(BeEmpty())
	return order
}

// rollTo passes until the Release is as wanted, and does what the controllers of the cluster would: Deployments become healthy, and the
// Jobs that are awaited end, those that are failing with a failure. It returns all of that, in that order: "patch a", "heal web", "end job".
func (w *world) rollTo(wanted func(Gomega, *v1alpha1.Release), failing ...string) []string {
	GinkgoHelper()
	var order []string
	Eventually(func(g Gomega) {
		order = append(order, changed(during(func() { w.pass("app") }))...)
		release := w.get("app")
		order = append(order, w.healAll("app")...)
		if sync := release.Status.Sync; sync != nil {
			hook, isJob := strings.CutPrefix(sync.Hook, "Job.batch "+w.namespace+"/")
			if isJob && w.isRunning(hook) {
				w.end(hook, !slices.Contains(failing, hook))
				order = append(order, "end "+hook)
			}
		}
		wanted(g, release)
	}).WithTimeout(time.Minute).WithPolling(10 * time.Millisecond).Should(Succeed())
	return order
}

// isRunning says whether a Job is there that has not ended.
func (w *world) isRunning(job string) bool {
	GinkgoHelper()
	obj := w.live("batch/v1", "Job", job)
	if obj == nil {
		return false
	}
	_, started, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "startTime")
	Expect(err).NotTo(HaveOccurred())
	return !started
}

// deploymentsOf are the Deployments of a Release.
func (w *world) deploymentsOf(name string) []appsv1.Deployment {
	GinkgoHelper()
	list := &appsv1.DeploymentList{}
	Expect(env.Client.List(context.Background(), list, client.MatchingLabels(v1alpha1.OwnerLabels(w.namespace, name)))).To(Succeed())
	return list.Items
}

// healAll makes the Deployments of a Release healthy. It returns those that were not, as "heal name".
func (w *world) healAll(name string) []string {
	GinkgoHelper()
	var healed []string
	for _, deployment := range w.deploymentsOf(name) {
		if deployment.Status.ObservedGeneration != deployment.Generation {
			becomeHealthy(deployment.Namespace, deployment.Name)
			healed = append(healed, "heal "+deployment.Name)
		}
	}
	return healed
}

var _ = Describe("A folder with waves and hooks in Argo CD's annotations", func() {
	argo := func(manifest string, annotations ...string) string {
		for i := 0; i < len(annotations); i += 2 {
			manifest = annotated("argocd.argoproj.io/"+annotations[i], annotations[i+1], manifest)
		}
		return manifest
	}
	folder := func(version string) map[string]string {
		files := map[string]string{}
		for i, manifest := range []string{
			argo(configMap("route", version), "sync-wave", "5"),
			argo(job("notify"), "hook", "PostSync", "sync-wave", "1", "hook-delete-policy", "HookSucceeded"),
			argo(job("smoke"), "hook", "PostSync"),
			argo(configMap("late", version), "hook", "Sync", "sync-wave", "2"),
			deployment("web", version),
			argo(configMap("config", version), "sync-wave", "-1"),
			argo(deployment("db", version), "sync-wave", "-2"),
			argo(job("schema"), "hook", "PreSync", "sync-wave", "1"),
			argo(job("backup"), "hook", "PreSync", "sync-wave", "-1", "hook-delete-policy", "BeforeHookCreation,HookSucceeded"),
			argo(job("alarm"), "hook", "SyncFail"),
			argo(job("manual"), "hook", "Skip"),
		} {
			files[fmt.Sprintf("%02d.yaml", i)] = manifest
		}
		return files
	}

	It("is deployed by requests in the order that they say", func() {
		w := newWorld()
		w.create("app")
		w.commit("v0", map[string]string{"gone.yaml": configMap("gone", "v0"), "kept.yaml": argo(configMap("kept", "v0"), "sync-options", "Prune=false")})
		w.settle("app")

		w.commit("v1", folder("v1"))
		order := w.rollOut("True Succeeded")
		Expect(len(order)).To(BeNumerically(">", 13))
		slices.Sort(order[11:13]) // the prune has no order within a wave
		Expect(order).To(HaveExactElements(
			"patch backup", "end backup", "patch schema", "end schema",
			"patch db", "heal db", "patch config", "patch web", "heal web", "patch late", "patch route",
			"delete gone", "patch kept",
			"patch smoke", "end smoke", "patch notify", "end notify",
			"delete backup", "delete notify",
		))
		Expect(w.value("kept")).To(Equal("v0"))
		Expect(w.configMap("kept").Labels).To(BeEmpty(), "it is nobody's now")
		for _, name := range []string{"alarm", "manual"} {
			Expect(w.live("batch/v1", "Job", name)).To(BeNil(), name)
		}

		By("a hook that fails")
		w.pause(time.Second)
		w.commit("v2", folder("v2"))
		Expect(w.rollOut("False HookFailed", "schema")).To(HaveExactElements(
			"patch backup", "end backup", "delete schema", "patch schema", "end schema", "patch alarm"))
		Expect(w.value("config")).To(Equal("v1"), "nothing of the waves is applied")

		By("the way out of it")
		w.pause(time.Second)
		w.commit("v3", folder("v3"))
		Expect(w.rollOut("True Succeeded")).To(HaveExactElements(
			"delete backup", "patch backup", "end backup", "delete schema", "patch schema", "end schema",
			"patch db", "heal db", "patch config", "patch web", "heal web", "patch late", "patch route",
			"delete smoke", "patch smoke", "end smoke", "patch notify", "end notify",
			"delete backup", "delete notify",
		))
	})
})
