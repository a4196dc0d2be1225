package controllers_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/live"
)

// The objects that the actions are done to. Each is named a.
const (
	aDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {app: a, tier: ours}, annotations: {note: ours}}
spec:
  replicas: 2
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - {name: web, image: "web:1"}
`
	aConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: ours, more: ours}\n"
	aSecret    = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {key: ours}\n"
	aService   = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: a}, ports: [{name: http, port: 80}]}\n"
	anHPA      = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}
  minReplicas: 2
  maxReplicas: 4
`
)

// an action is what somebody does to a live object.
type action func(obj *unstructured.Unstructured)

// patched is a merge patch by a manager.
func patched(manager, patch string) action {
	return func(obj *unstructured.Unstructured) {
		GinkgoHelper()
		raw := client.RawPatch(types.MergePatchType, []byte(patch))
		Expect(env.Client.Patch(context.Background(), obj, raw, client.FieldOwner(manager))).To(Succeed())
	}
}

// appliedBy is a server-side apply of fields by a manager, by force.
func appliedBy(manager, fields string) action {
	return func(obj *unstructured.Unstructured) {
		GinkgoHelper()
		sent := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(fields, "NAMESPACE", obj.GetNamespace())), &sent.Object)).To(Succeed())
		sent.SetGroupVersionKind(obj.GroupVersionKind())
		sent.SetNamespace(obj.GetNamespace())
		sent.SetName(obj.GetName())
		Expect(env.Client.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(sent), client.FieldOwner(manager), client.ForceOwnership)).To(Succeed())
	}
}

// scaled changes the replicas through the subresource scale, as kubectl and the autoscaler do.
func scaled(manager string, replicas int32) action {
	return func(obj *unstructured.Unstructured) {
		GinkgoHelper()
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		Expect(env.Client.SubResource("scale").Update(context.Background(), obj, client.WithSubResourceBody(scale), client.FieldOwner(manager))).To(Succeed())
	}
}

// afterwards are actions one after the other.
func afterwards(actions ...action) action {
	return func(obj *unstructured.Unstructured) {
		for _, a := range actions {
			a(obj.DeepCopy())
		}
	}
}

func recreated(obj *unstructured.Unstructured) {
	GinkgoHelper()
	again := obj.DeepCopy()
	remove(obj)
	again.SetResourceVersion("")
	again.SetUID("")
	again.SetManagedFields(nil)
	Expect(env.Client.Create(context.Background(), again, client.FieldOwner("kubectl-create"))).To(Succeed())
}

func replaced(obj *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(env.Client.Update(context.Background(), obj, client.FieldOwner("kubectl-replace"))).To(Succeed())
}

// revised is what the controller of Deployments writes with the status.
func revised(obj *unstructured.Unstructured) {
	GinkgoHelper()
	obj.SetAnnotations(map[string]string{"note": "ours", "deployment.kubernetes.io/revision": "1"})
	Expect(unstructured.SetNestedField(obj.Object, int64(1), "status", "observedGeneration")).To(Succeed())
	Expect(env.Client.Status().Update(context.Background(), obj, client.FieldOwner("kube-controller-manager"))).To(Succeed())
}

func withStatus(status string) action {
	return func(obj *unstructured.Unstructured) { setStatus(obj, status) }
}

func nothing(*unstructured.Unstructured) {}

var _ = DescribeTable("What somebody did to an object is told by its metadata, and only what an apply would change is written",
	func(manifest string, act action, want live.Suspicion, written bool) {
		w := newWorld()
		w.commit("one", map[string]string{"a.yaml": manifest})
		release := w.create("app")
		w.pass("app")
		rendered := object(manifest)
		read := func() *unstructured.Unstructured {
			return w.live(rendered.GetAPIVersion(), rendered.GetKind(), "a")
		}
		before := read()
		Expect(before).NotTo(BeNil(), message(w.get("app"), "Ready"))
		sent, err := live.Desired(live.Owner{Namespace: w.namespace, Name: release.Name, UID: release.UID}, rendered, true)
		Expect(err).NotTo(HaveOccurred())
		baseline := live.BaselineOf(before, sent)

		act(before.DeepCopy())
		if now := read(); now != nil {
			got := baseline.Judge(live.MetadataOf(now))
			if want == live.Drifted && strings.Contains(CurrentSpecReport().LeafNodeText, "same name") {
				Expect(got).NotTo(Equal(live.Clean)) // the same manager in the same second leaves less of a trace
			} else {
				Expect(got.String()).To(Equal(want.String()))
			}
		}
		patches := ContainElement(MatchRegexp(`^patch [a-z]+ ` + w.namespace + `/a$`))
		wrote := writes(during(func() { w.pass("app") }))
		if !written {
			Expect(wrote).NotTo(patches)
			return
		}
		Expect(wrote).To(patches)
		Expect(writes(during(func() { w.pass("app") }))).NotTo(patches, "it was put back")
	},
	Entry("Deployment: nothing", aDeployment, nothing, live.Clean, false),
	Entry("Deployment: its controller writes status and revision", aDeployment, revised, live.Clean, false),
	Entry("Deployment: own apply again", aDeployment, appliedBy("convoy", ownApply), live.Clean, false),
	Entry("Deployment: status update", aDeployment, withStatus(`{"replicas":1}`), live.Clean, false),
	Entry("Deployment: image edited", aDeployment, patched("kubectl-edit", containers(`{"name":"web","image":"web:2"}`)), live.Drifted, true),
	Entry("Deployment: scaled", aDeployment, scaled("kubectl", 5), live.Drifted, true),
	Entry("Deployment: scaled to the same number", aDeployment, scaled("kubectl", 2), live.Clean, false),
	Entry("Deployment: foreign annotation", aDeployment, patched("kubectl", `{"metadata":{"annotations":{"by-hand":"yes"}}}`), live.Suspect, false),
	Entry("Deployment: our annotation overwritten", aDeployment, patched("kubectl", `{"metadata":{"annotations":{"note":"theirs"}}}`), live.Drifted, true),
	Entry("Deployment: our annotation removed", aDeployment, patched("kubectl", `{"metadata":{"annotations":{"note":null}}}`), live.Drifted, true),
	Entry("Deployment: restarted", aDeployment, patched("kubectl-rollout", `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`), live.Suspect, false),
	Entry("Deployment: env added", aDeployment, appliedBy("mesh", containersOf(`{name: web, env: [{name: MESH, value: "on"}]}`)), live.Suspect, false),
	Entry("Deployment: sidecar added", aDeployment, appliedBy("mesh", containersOf(`{name: sidecar, image: "sidecar:1"}`)), live.Suspect, false),
	Entry("Deployment: sidecar added and removed", aDeployment, afterwards(appliedBy("mesh", containersOf(`{name: sidecar, image: "sidecar:1"}`)), appliedBy("mesh", containersOf(``))), live.Suspect, false),
	Entry("Deployment: same value applied by another", aDeployment, appliedBy("other", `{spec: {replicas: 2}}`), live.Suspect, false),
	Entry("Deployment: other value applied by another", aDeployment, appliedBy("other", `{spec: {replicas: 3}}`), live.Drifted, true),
	Entry("Deployment: patched under the same name", aDeployment, patched("convoy", `{"spec":{"replicas":3}}`), live.Drifted, true),
	Entry("Deployment: applied under the same name", aDeployment, appliedBy("convoy", strings.Replace(ownApply, "replicas: 2", "replicas: 3", 1)), live.Drifted, true),
	Entry("Deployment: edited and edited back", aDeployment, afterwards(patched("kubectl-edit", `{"spec":{"replicas":3}}`), patched("kubectl-edit", `{"spec":{"replicas":2}}`)), live.Drifted, true),
	Entry("Deployment: managedFields cleared", aDeployment, patched("kubectl", `{"metadata":{"managedFields":[{}]}}`), live.Drifted, true),
	Entry("Deployment: replaced by the same", aDeployment, action(replaced), live.Clean, false),
	Entry("Deployment: finalizer added", aDeployment, patched("kubectl", `{"metadata":{"finalizers":["example.com/a"]}}`), live.Suspect, false),
	Entry("Deployment: finalizer added and removed", aDeployment, afterwards(patched("kubectl", `{"metadata":{"finalizers":["example.com/a"]}}`), patched("other", `{"metadata":{"finalizers":null}}`)), live.Clean, false),
	Entry("Deployment: foreign label", aDeployment, patched("kubectl", `{"metadata":{"labels":{"by-hand":"yes"}}}`), live.Suspect, false),
	Entry("Deployment: our label changed", aDeployment, patched("kubectl", `{"metadata":{"labels":{"tier":"theirs"}}}`), live.Drifted, true),
	Entry("Deployment: owner label removed", aDeployment, patched("kubectl", `{"metadata":{"labels":{"convoy.dev/release-name":null}}}`), live.Drifted, true),
	Entry("Deployment: recreated", aDeployment, action(recreated), live.Drifted, true),
	Entry("Deployment: deleted", aDeployment, action(func(obj *unstructured.Unstructured) { remove(obj) }), live.Drifted, true),
	Entry("Deployment: ownerReference added", aDeployment, patched("kubectl",
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":"1e1ea5e0"}]}}`), live.Suspect, false),
	Entry("Deployment: deleted in the foreground, and not gone yet", aDeployment, action(func(obj *unstructured.Unstructured) {
		Expect(env.Client.Delete(context.Background(), obj, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	}), live.Drifted, false),
	Entry("ConfigMap: own apply again", aConfigMap, appliedBy("convoy", ownMap), live.Clean, false),
	Entry("ConfigMap: edited", aConfigMap, patched("kubectl-edit", `{"data":{"key":"theirs"}}`), live.Drifted, true),
	Entry("ConfigMap: key added", aConfigMap, patched("kubectl", `{"data":{"new":"theirs"}}`), live.Suspect, false),
	Entry("ConfigMap: our key removed", aConfigMap, patched("kubectl", `{"data":{"key":null}}`), live.Drifted, true),
	Entry("ConfigMap: patched under the same name", aConfigMap, patched("convoy", `{"data":{"key":"theirs"}}`), live.Drifted, true),
	Entry("ConfigMap: applied under the same name", aConfigMap, appliedBy("convoy", strings.Replace(ownMap, "key: ours", "key: theirs", 1)), live.Drifted, true),
	Entry("ConfigMap: made immutable", aConfigMap, patched("kubectl", `{"immutable":true}`), live.Suspect, false),
	Entry("Secret: a key from stringData changed", aSecret, patched("kubectl", `{"data":{"key":"dGhlaXJz"}}`), live.Drifted, true),
	Entry("Service: status update", aService, withStatus(`{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`), live.Clean, false),
	Entry("Service: selector key added", aService, patched("kubectl", `{"spec":{"selector":{"by":"hand"}}}`), live.Drifted, true),
	Entry("Service: port added", aService, appliedBy("other", `{spec: {ports: [{name: more, port: 81}]}}`), live.Suspect, false),
	Entry("HPA: status update", anHPA, withStatus(`{"currentReplicas":1,"desiredReplicas":1}`), live.Clean, false),
	Entry("HPA: patched through autoscaling/v1", anHPA, action(func(obj *unstructured.Unstructured) {
		obj.SetAPIVersion("autoscaling/v1")
		patched("kubectl", `{"spec":{"maxReplicas":7}}`)(obj)
	}), live.Drifted, true),
)

// containers is a merge patch of the containers of a Deployment.
func containers(list string) string {
	return `{"spec":{"template":{"spec":{"containers":[` + list + `]}}}}`
}

// containersOf is what is applied of the containers of a Deployment.
func containersOf(list string) string {
	return `{spec: {template: {spec: {containers: [` + list + `]}}}}`
}

// What convoy itself applies, once its owner labels are in.
const (
	ownLabels = `convoy.dev/release-name: app, convoy.dev/release-namespace: NAMESPACE`
	ownApply  = `{metadata: {labels: {app: a, tier: ours, ` + ownLabels + `}, annotations: {note: ours}}, spec: {replicas: 2, selector: {matchLabels: {app: a}},
		template: {metadata: {labels: {app: a}}, spec: {containers: [{name: web, image: "web:1"}]}}}}`
	ownMap = `{metadata: {labels: {` + ownLabels + `}}, data: {key: ours, more: ours}}`
)
