package controllers_test

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/internal/controlplane"
)

// kubectl runs kubectl in the namespace of the world, with a manifest on its standard input.
func (w *world) kubectl(manifest string, args ...string) {
	GinkgoHelper()
	binary, err := controlplane.Binary("kubectl")
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.Command(binary, append([]string{"--kubeconfig", env.Kubeconfig, "-n", w.namespace}, args...)...)
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// managers are the field managers of an object, with operation and subresource.
func managers(obj *unstructured.Unstructured) []string {
	GinkgoHelper()
	Expect(obj).NotTo(BeNil())
	var list []string
	for _, e := range obj.GetManagedFields() {
		list = append(list, strings.TrimSpace(e.Manager+" "+string(e.Operation)+" "+e.Subresource))
	}
	return list
}

// A tool deploys a manifest.
type tool func(w *world, manifest string)

func kubectlApply(flags ...string) tool {
	return func(w *world, manifest string) {
		GinkgoHelper()
		w.kubectl(manifest, append([]string{"apply", "-f", "-"}, flags...)...)
	}
}

// updates creates the manifest in another form, and then writes it, by updates, as Helm 3 does.
func updates(manager string) tool {
	return func(w *world, manifest string) {
		GinkgoHelper()
		first := object(manifest)
		first.SetNamespace(w.namespace)
		first.SetLabels(map[string]string{"first": "yes"})
		Expect(env.Client.Create(context.Background(), first, client.FieldOwner(manager))).To(Succeed())
		next := object(manifest)
		next.SetNamespace(w.namespace)
		next.SetResourceVersion(first.GetResourceVersion())
		Expect(env.Client.Update(context.Background(), next, client.FieldOwner(manager))).To(Succeed())
	}
}

// applies applies by server-side apply, as Helm 4 and Flux do.
func applies(manager string) tool {
	return func(w *world, manifest string) {
		GinkgoHelper()
		w.asUser(manager, manifest)
	}
}

// both are two tools one after the other.
func both(first, second tool) tool {
	return func(w *world, manifest string) {
		GinkgoHelper()
		first(w, manifest)
		second(w, manifest)
	}
}

// through makes the controller of the world reach its targets through a round tripper.
func (w *world) through(wrap func(next http.RoundTripper, req *http.Request) (*http.Response, error)) {
	GinkgoHelper()
	config := rest.CopyConfig(env.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return wrap(next, req) })
	})
	targets, err := controllers.NewTargets(config)
	Expect(err).NotTo(HaveOccurred())
	w.controller.Targets = targets
}

// writesPatch says whether a request is a patch of a content type that is no dry run.
func writesPatch(req *http.Request, contentType string) bool {
	return req.Method == http.MethodPatch && req.URL.Query().Get("dryRun") == "" && strings.HasPrefix(req.Header.Get("Content-Type"), contentType)
}

const (
	theirDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {app: a, theirs: "yes"}, annotations: {note: theirs}}
spec:
  replicas: 2
  minReadySeconds: 5
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - {name: web, image: "web:1", env: [{name: OURS, value: "1"}, {name: THEIRS, value: "1"}], ports: [{name: http, containerPort: 8080}]}
      - {name: side, image: "side:1"}
`
	ourDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {app: a}}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - {name: web, image: "web:1", env: [{name: OURS, value: "1"}], ports: [{name: http, containerPort: 80}]}
`
)

var _ = DescribeTable("An object that another tool deployed is taken over",
	func(deploy tool) {
		w := newWorld()
		deploy(w, theirDeployment)
		scaled("horizontal-pod-autoscaler", 5)(w.live("apps/v1", "Deployment", "a"))
		patched("kubectl-edit", `{"metadata":{"annotations":{"by-hand":"yes"}},"spec":{"revisionHistoryLimit":3}}`)(w.live("apps/v1", "Deployment", "a"))
		w.create("app")
		w.commit("one", map[string]string{"a.yaml": ourDeployment})
		w.pass("app")

		a := w.live("apps/v1", "Deployment", "a")
		Expect(a.GetLabels()).To(Equal(map[string]string{"app": "a", v1alpha1.ReleaseNameLabel: "app", v1alpha1.ReleaseNamespaceLabel: w.namespace}))
		Expect(a.GetAnnotations()).To(Equal(map[string]string{"by-hand": "yes"}), "neither theirs nor the last applied configuration")
		spec := a.Object["spec"].(map[string]any)
		Expect(spec).NotTo(HaveKey("minReadySeconds"))
		Expect(spec).To(And(HaveKeyWithValue("replicas", BeEquivalentTo(5)), HaveKeyWithValue("revisionHistoryLimit", BeEquivalentTo(3))))
		containers, _, err := unstructured.NestedSlice(spec, "template", "spec", "containers")
		Expect(err).NotTo(HaveOccurred())
		Expect(containers).To(HaveExactElements(And(HaveKeyWithValue("name", "web"),
			HaveKeyWithValue("env", []any{map[string]any{"name": "OURS", "value": "1"}}),
			HaveKeyWithValue("ports", []any{map[string]any{"name": "http", "containerPort": int64(80), "protocol": "TCP"}}))))
		Expect(managers(a)).To(ConsistOf("convoy Apply", "horizontal-pod-autoscaler Update scale", "kubectl-edit Update"))
		Expect(w.driftEvents()).To(BeEmpty())

		w.becomeHealthy("a")
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	},
	Entry("from kubectl apply", kubectlApply()),
	Entry("from kubectl apply --server-side", kubectlApply("--server-side")),
	Entry("from both", both(kubectlApply(), kubectlApply("--server-side"))),
	Entry("from Helm 3", updates("helm")),
	Entry("from Helm 4", applies("helm")),
	Entry("from Helm 3, and then Helm 4 that forces conflicts", both(updates("helm"), kubectlApply("--server-side", "--force-conflicts", "--field-manager=helm"))),
	Entry("from Flux's Kustomization", applies("kustomize-controller")),
	Entry("from Flux's HelmRelease", updates("helm-controller")),
	Entry("from Flux's HelmRelease with Helm 4", applies("helm-controller")),
	Entry("from Argo CD", kubectlApply("--field-manager=argocd-controller")),
	Entry("from Argo CD with ServerSideApply", kubectlApply("--server-side", "--field-manager=argocd-controller")),
	Entry("from kubectl, and then Flux", both(kubectlApply(), kubectlApply("--server-side", "--force-conflicts", "--field-manager=kustomize-controller"))),
)

var _ = Describe("A takeover", func() {
	const theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {theirs: \"yes\"}}\ndata: {key: theirs, more: theirs}\n"
	var w *world
	a := func() *unstructured.Unstructured { return w.live("v1", "ConfigMap", "a") }
	isTakenOver := func() {
		GinkgoHelper()
		Expect(w.configMap("a").Data).To(Equal(map[string]string{"key": "ours"}))
		Expect(a().GetLabels()).To(Equal(v1alpha1.OwnerLabels(w.namespace, "app")))
		Expect(managers(a())).To(HaveExactElements("convoy Apply"))
	}

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
	})

	It("does not happen when the dry run of another object fails, and leaves the object wholly as it is", func() {
		w.kubectl(theirs, "apply", "-f", "-")
		before := a()
		w.commit("one", map[string]string{
			"a.yaml": configMap("a", "ours"), "b.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 0}]}\n",
		})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(a()).To(Equal(before))
	})

	It("that would remove an immutable field fails the dry run, changes nothing, and says to put the field into the source", func() {
		claim := strings.Replace(pvc("data"), "spec: {", "spec: {storageClassName: fast, ", 1)
		w.kubectl(claim, "apply", "-f", "-")
		w.kubectl(theirs, "apply", "-f", "-")
		before, data := a(), w.live("v1", "PersistentVolumeClaim", "data")
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours"), "data.yaml": pvc("data")})
		Expect(writes(during(func() { w.pass("app") }))).To(HaveExactElements(
			"patch releases "+w.namespace+"/app", "patch releases/status "+w.namespace+"/app"))
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(
			ContainSubstring("PersistentVolumeClaim "+w.namespace+"/data: "), ContainSubstring("spec is immutable"),
			MatchRegexp("; the tool that deployed it set spec.storageClassName.*, and which cannot be removed: put it into the source"),
			Not(ContainSubstring("last-applied"))))
		Expect(a()).To(Equal(before))
		Expect(w.live("v1", "PersistentVolumeClaim", "data")).To(Equal(data))

		w.commit("two", map[string]string{"a.yaml": configMap("a", "ours"), "data.yaml": claim})
		w.pass("app")
		isTakenOver()
		Expect(managers(w.live("v1", "PersistentVolumeClaim", "data"))).To(HaveExactElements("convoy Apply"))
	})

	for field, values := range map[string]string{"data": "{a: aHVudGVyMg==, b: aHVudGVyMw==}", "stringData": "{a: hunter2, b: hunter3}"} {
		secret := "apiVersion: v1\nkind: Secret\nimmutable: true\nmetadata: {name: s}\n" + field + ": " + values + "\n"
		fewer := secret[:strings.Index(secret, ", b")] + "}\n"

		It("that would remove a key of an immutable Secret says so without a value, set by "+field, func() {
			w.asUser("helm", secret)
			before := w.live("v1", "Secret", "s")
			w.commit("one", map[string]string{"s.yaml": fewer})
			release := w.settle("app")
			Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
			Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("Secret "+w.namespace+"/s: "), ContainSubstring("fields data"),
				ContainSubstring("set data.b, which the source does not have"), ContainSubstring("put it into the source"), Not(ContainSubstring("hunter")), Not(ContainSubstring("aHVudGVy"))))
			Expect(w.live("v1", "Secret", "s")).To(Equal(before))
		})

		It("removes a key of a Secret that was set by "+field, func() {
			w.asUser("helm", strings.Replace(secret, "immutable: true\n", "", 1))
			w.commit("one", map[string]string{"s.yaml": strings.Replace(fewer, "immutable: true\n", "", 1)})
			w.settle("app")
			Expect(w.live("v1", "Secret", "s").Object["data"]).To(Equal(map[string]any{"a": "aHVudGVyMg=="}))
		})
	}

	It("that ends between its two writes is made up for", func() {
		w.kubectl(theirs, "apply", "-f", "-")
		w.through(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			if writesPatch(req, "application/apply-patch") {
				return nil, errors.New("killed")
			}
			return next.RoundTrip(req)
		})
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours")})
		w.pass("app")
		Expect(w.configMap("a").Data).To(Equal(map[string]string{"key": "theirs", "more": "theirs"}))
		Expect(a().GetLabels()).To(Equal(map[string]string{"theirs": "yes"}))
		w.restart()
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		isTakenOver()
		Expect(w.driftEvents()).To(BeEmpty())
	})

	It("that somebody overtakes reads the object again", func() {
		w.kubectl(theirs, "apply", "-f", "-")
		var once sync.Once
		w.through(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			if writesPatch(req, "application/merge-patch") && strings.HasSuffix(req.URL.Path, "/configmaps/a") {
				once.Do(func() { patched("kubectl-edit", `{"data":{"by":"hand"}}`)(a()) })
			}
			return next.RoundTrip(req)
		})
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours")})
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.configMap("a").Data).To(Equal(map[string]string{"key": "ours", "by": "hand"}))
		Expect(managers(a())).To(ConsistOf("convoy Apply", "kubectl-edit Update"))
	})

	It("leaves alone what another Release owns", func() {
		w.create("other", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		mine := object(theirs)
		mine.SetNamespace(w.namespace)
		mine.SetLabels(v1alpha1.OwnerLabels(w.namespace, "other"))
		Expect(env.Client.Create(context.Background(), mine, client.FieldOwner("helm"))).To(Succeed())
		before := a()
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours")})
		Expect(message(w.settle("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("is owned by Release %s/other", w.namespace))
		Expect(a()).To(Equal(before))
	})

	It("leaves with the tool what the annotation leaves to others", func() {
		w.asUser("helm", theirDeployment)
		w.commit("one", map[string]string{"a.yaml": annotated(v1alpha1.IgnoreDriftAnnotation, "/spec/replicas", ourDeployment)})
		w.pass("app")
		a := w.live("apps/v1", "Deployment", "a")
		Expect(a.Object["spec"]).To(And(HaveKeyWithValue("replicas", BeEquivalentTo(2)), Not(HaveKey("minReadySeconds"))))
		Expect(managers(a)).To(ConsistOf("convoy Apply", "helm Apply"))
		Expect(replicasOwners(a)).To(HaveExactElements("helm"))
		w.becomeHealthy("a")
		w.settle("app")
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	})

	It("happens once: what a tool sets later is as of anybody else", func() {
		w.kubectl(theirs, "apply", "-f", "-")
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours")})
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		isTakenOver()
		patched("helm", `{"data":{"later":"theirs"}}`)(a())
		w.restart()
		w.pass("app")
		merge(a(), `{"metadata":{"labels":null}}`)
		w.restart()
		w.pass("app")
		Expect(w.configMap("a").Data).To(Equal(map[string]string{"key": "ours", "later": "theirs"}))
		Expect(a().GetLabels()).To(Equal(v1alpha1.OwnerLabels(w.namespace, "app")))
		Expect(managers(a())).To(ContainElement("helm Update"))
	})

	It("takes an object that another Release let go, and Helm took", func() {
		w.commit("one", map[string]string{"a.yaml": theirs})
		w.settle("app")
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		w.delete("app")
		patched("helm", `{"data":{"key":"helm","helm":"yes"}}`)(a())
		w.create("app")
		w.commit("two", map[string]string{"a.yaml": configMap("a", "ours")})
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		isTakenOver()
	})

	It("needs no more rights than an apply", func() {
		w.serviceAccount("deployer", allVerbs...)
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.ServiceAccountName = "deployer" })
		w.kubectl(theirs, "apply", "-f", "-")
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours")})
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		isTakenOver()
	})

	It("keeps what the server gave the object", func() {
		const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {theirs: \"yes\"}}\nspec: {type: NodePort, selector: {app: a}, ports: [{name: http, port: 80}]}\n"
		w.kubectl(service, "apply", "-f", "-")
		before := w.live("v1", "Service", "a")
		w.commit("one", map[string]string{"a.yaml": strings.Replace(service, `, labels: {theirs: "yes"}`, "", 1)})
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		after := w.live("v1", "Service", "a")
		Expect(after.Object["spec"]).To(Equal(before.Object["spec"]), "cluster IPs and node ports")
		Expect(managers(after)).To(HaveExactElements("convoy Apply"))
	})
})
