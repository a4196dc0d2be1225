package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// webV1 leaves the replicas to others.
const webV1 = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        ports: [{name: http, containerPort: 8080}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {user: web}
`

// webV2 adds an object, a field, a container and a port, here and there.
const webV2 = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, tier: front}, annotations: {example.com/version: two}}
spec:
  minReadySeconds: 7
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      priorityClassName: system-cluster-critical
      containers:
      - name: web
        image: example.com/web:2
        env: [{name: VERSION, value: two}]
        ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]
      - name: proxy
        image: example.com/proxy:1
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}, {name: metrics, port: 9090}]
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {user: web, password: two}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {version: two}
`

var _ = Describe("Back to an earlier render", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
	})

	deploy := func(revision, manifests string) {
		GinkgoHelper()
		w.commit(revision, map[string]string{"web.yaml": manifests})
		w.pass("app")
		w.becomeHealthy("web")
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionApplied))
	}
	objects := func() []*unstructured.Unstructured {
		GinkgoHelper()
		return []*unstructured.Unstructured{w.live("apps/v1", "Deployment", "web"), w.live("v1", "Service", "web"), w.live("v1", "Secret", "web")}
	}

	It("makes live equal to it again, without the object, the field, the container and the port that came later", func() {
		deploy("v1", webV1)
		first := objects()
		deploy("v2", webV2)
		containers, _, err := unstructured.NestedSlice(w.live("apps/v1", "Deployment", "web").Object, "spec", "template", "spec", "containers")
		Expect(err).NotTo(HaveOccurred())
		Expect(containers).To(HaveLen(2))
		Expect(w.live("v1", "ConfigMap", "web")).NotTo(BeNil())

		deploy("v1 again", webV1)
		Expect(w.live("v1", "ConfigMap", "web")).To(BeNil())
		for i, obj := range objects() {
			Expect(stateOf(obj)).To(Equal(stateOf(first[i])), first[i].GetKind())
			Expect(obj.GetUID()).To(Equal(first[i].GetUID()), "it was changed, not replaced")
		}
	})

	It("leaves alone what another field manager owns", func() {
		deploy("v1", webV1)
		w.asUser("autoscaler", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5}}`)
		w.asUser("mesh", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {mesh.example.com/injected: "true"}, labels: {mesh: "on"}}
spec:
  template:
    spec:
      containers:
      - {name: sidecar, image: "example.com/sidecar:1", ports: [{containerPort: 15001}]}
      - {name: web, env: [{name: MESH, value: "on"}]}
`)
		merge(w.live("v1", "Service", "web"), `{"metadata":{"annotations":{"by-hand":"yes"}}}`)
		first := objects()
		deploy("v2", webV2)
		deploy("v1 again", webV1)
		for i, obj := range objects() {
			Expect(stateOf(obj)).To(Equal(stateOf(first[i])), first[i].GetKind())
		}
		web := w.live("apps/v1", "Deployment", "web")
		Expect(web.Object["spec"]).To(HaveKeyWithValue("replicas", BeEquivalentTo(5)))
		Expect(web.GetAnnotations()).To(HaveKeyWithValue("mesh.example.com/injected", "true"))
	})

	It("sends nothing for drift in fields that the render does not have", func() {
		deploy("v1", webV1)
		w.asUser("autoscaler", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5}}`)
		w.becomeHealthy("web")
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	})
})
