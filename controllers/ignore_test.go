package controllers_test

import (
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"k8s.io/client-go/rest"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/controllers"
)

// replicasOwners are the managers that own the replicas of a Deployment.
func replicasOwners(obj *unstructured.Unstructured) []string {
	var managers []string
	for _, e := range obj.GetManagedFields() {
		if strings.Contains(e.FieldsV1.GetRawString(), `"f:replicas"`) && e.Subresource != "status" {
			managers = append(managers, e.Manager)
		}
	}
	return managers
}

var _ = Describe("A field that is left to others", func() {
	const autoscaler = "horizontal-pod-autoscaler"
	deployment := func(image string) map[string]string {
		GinkgoHelper()
		return map[string]string{"a.yaml": annotated(v1alpha1.IgnoreDriftAnnotation, "/spec/replicas", strings.Replace(aDeployment, "web:1", image, 1))}
	}
	var w *world
	web := func() *unstructured.Unstructured { return w.live("apps/v1", "Deployment", "a") }
	replicas := func() any { return web().Object["spec"].(map[string]any)["replicas"] }
	untouched := func() {
		GinkgoHelper()
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
		Expect(w.driftEvents()).To(BeEmpty())
	}

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
		w.commit("one", deployment("web:1"))
		w.pass("app")
		w.becomeHealthy("a")
		w.settle("app")
	})

	It("is set once, is not put back, and is not owned, also when the render changes something else", func() {
		Expect(replicas()).To(BeEquivalentTo(2))
		scaled(autoscaler, 5)(web())
		w.becomeHealthy("a")
		w.settle("app")
		untouched()
		Expect(replicas()).To(BeEquivalentTo(5))

		w.commit("two", deployment("web:2"))
		w.pass("app")
		Expect(replicas()).To(BeEquivalentTo(5))
		Expect(replicasOwners(web())).To(HaveExactElements(autoscaler))
		w.becomeHealthy("a")
		w.settle("app")
		untouched()

		scaled(autoscaler, 3)(web())
		w.becomeHealthy("a")
		w.settle("app")
		untouched()
		Expect(replicas()).To(BeEquivalentTo(3))
		w.restart()
		untouched()
	})

	It("keeps its value when nobody took it over, also once it left the render", func() {
		w.commit("two", deployment("web:2"))
		w.pass("app")
		Expect(replicas()).To(BeEquivalentTo(2))
		Expect(replicasOwners(web())).To(HaveExactElements("convoy"))
		w.commit("three", map[string]string{"a.yaml": strings.Replace(deployment("web:2")["a.yaml"], "  replicas: 2\n", "", 1)})
		w.pass("app")
		Expect(replicas()).To(BeEquivalentTo(2), "the default is 1")
	})

	It("is given up where the autoscaler owns the same number", func() {
		scaled(autoscaler, 5)(web())
		appliedBy("convoy", strings.Replace(ownApply, "replicas: 2", "replicas: 5", 1))(web())
		Expect(replicasOwners(web())).To(ConsistOf(autoscaler, "convoy"))
		w.commit("two", deployment("web:2"))
		w.pass("app")
		Expect(replicasOwners(web())).To(HaveExactElements(autoscaler))
		Expect(replicas()).To(BeEquivalentTo(5))
	})

	It("is not reset by a write that an autoscaler overtakes", func() {
		var once sync.Once
		overtaken := rest.CopyConfig(env.Config)
		overtaken.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodPatch && req.URL.Query().Get("dryRun") == "" && strings.HasSuffix(req.URL.Path, "/deployments/a") {
					once.Do(func() { scaled(autoscaler, 7)(web()) })
				}
				return next.RoundTrip(req)
			})
		})
		targets, err := controllers.NewTargets(overtaken)
		Expect(err).NotTo(HaveOccurred())
		w.controller.Targets = targets
		w.commit("two", deployment("web:2"))
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("True Succeeded"))
		Expect(web().Object["spec"].(map[string]any)["template"]).To(HaveKeyWithValue("spec", HaveKeyWithValue("containers", ContainElement(HaveKeyWithValue("image", "web:2")))))
		Expect(replicas()).To(BeEquivalentTo(7))
		Expect(replicasOwners(web())).To(HaveExactElements(autoscaler))
	})

	It("is set again when the object was deleted", func() {
		scaled(autoscaler, 5)(web())
		remove(web())
		w.pass("app")
		Expect(replicas()).To(BeEquivalentTo(2))
	})

	It("does not keep convoy from putting back the others", func() {
		scaled(autoscaler, 5)(web())
		patched("kubectl-edit", containers(`{"name":"web","image":"web:9"}`))(web())
		w.pass("app")
		Expect(replicas()).To(BeEquivalentTo(5))
		Expect(w.driftEvents()).To(HaveExactElements(ContainSubstring(`changed by kubectl-edit (spec.template.spec.containers[name="web"].image)`)))
	})
})

var _ = Describe("An object that is left to others", func() {
	It("is created, never changed, created again, and pruned", func() {
		w := newWorld()
		w.create("app")
		left := func(value string) map[string]string {
			return map[string]string{"a.yaml": annotated(v1alpha1.IgnoreDriftAnnotation, "*", configMap("a", value)), "b.yaml": configMap("b", value)}
		}
		w.commit("one", left("one"))
		w.settle("app")
		Expect(w.value("a")).To(Equal("one"))
		merge(w.live("v1", "ConfigMap", "a"), `{"data":{"key":"theirs"}}`)
		w.settle("app")
		Expect(w.value("a")).To(Equal("theirs"))

		w.commit("two", left("two"))
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.value("a")).To(Equal("theirs"))
		Expect(w.value("b")).To(Equal("two"))
		Expect(w.driftEvents()).To(BeEmpty())

		remove(w.live("v1", "ConfigMap", "a"))
		w.settle("app")
		Expect(w.value("a")).To(Equal("two"))
		w.commit("three", map[string]string{"b.yaml": configMap("b", "three")})
		w.settle("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})
})

var _ = Describe("A malformed pointer of what is left to others", func() {
	It("fails the plan, and is named with its object", func() {
		w := newWorld()
		w.create("app")
		w.commit("one", map[string]string{"a.yaml": annotated(v1alpha1.IgnoreDriftAnnotation, "spec.replicas", aDeployment)})
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring(
			`Deployment.apps a: annotation convoy.dev/ignore-drift: pointer "spec.replicas": want a JSON pointer that begins with /`))
		Expect(w.live("apps/v1", "Deployment", "a")).To(BeNil())
	})
})
