package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
)

// clusterOfItsOwn gives the spec an API server that no other spec sees, for what is cluster-scoped, or heavy.
func clusterOfItsOwn() {
	GinkgoHelper()
	shared := env
	env = testenv.Start(GinkgoTB(), testenv.WithAuditLog())
	DeferCleanup(func() { env = shared })
}

// object reads a manifest.
func object(manifest string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(manifest), obj)).To(Succeed())
	return obj
}

// inWave puts a manifest into a wave.
func inWave(wave int, manifest string) string {
	GinkgoHelper()
	return annotated(v1alpha1.SyncWaveAnnotation, strconv.Itoa(wave), manifest)
}

// annotated gives a manifest an annotation.
func annotated(key, value, manifest string) string {
	GinkgoHelper()
	obj := object(manifest)
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
	out, err := yaml.Marshal(obj)
	Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// find reads an object as it is on the server; nil if it is not there.
func find(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	err := env.Client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, obj)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return obj
}

// live is find in the namespace of the world.
func (w *world) live(apiVersion, kind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	return find(apiVersion, kind, w.namespace, name)
}

// asUser applies a manifest in the namespace of the world, as another field manager than convoy.
func (w *world) asUser(manager, manifest string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := object(manifest)
	if obj.GetNamespace() == "" {
		obj.SetNamespace(w.namespace)
	}
	Expect(env.Client.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(manager))).To(Succeed())
	return obj
}

// merge changes an object by a merge patch, as somebody with kubectl would.
func merge(obj *unstructured.Unstructured, patch string) {
	GinkgoHelper()
	Expect(env.Client.Patch(context.Background(), obj, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// setStatus changes the status of an object, as its controller would.
func setStatus(obj *unstructured.Unstructured, status string) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	Expect(env.Client.Status().Patch(context.Background(), obj, patch)).To(Succeed())
}

// becomeHealthy does what the controllers would for a Deployment whose pods run.
func (w *world) becomeHealthy(deployment string) {
	GinkgoHelper()
	becomeHealthy(w.namespace, deployment)
}

// becomeHealthy does it in any namespace.
func becomeHealthy(namespace, deployment string) {
	GinkgoHelper()
	obj := find("apps/v1", "Deployment", namespace, deployment)
	Expect(obj).NotTo(BeNil(), "Deployment %s is not there", deployment)
	replicas, _, err := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	Expect(err).NotTo(HaveOccurred())
	setStatus(obj, fmt.Sprintf(`{"observedGeneration":%d,"replicas":%[2]d,"updatedReplicas":%[2]d,"readyReplicas":%[2]d,"availableReplicas":%[2]d,
		"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}`, obj.GetGeneration(), replicas))
}

// remove deletes an object, as somebody with kubectl would.
func remove(obj client.Object) {
	GinkgoHelper()
	Expect(env.Client.Delete(context.Background(), obj)).To(Succeed())
}

// shards are the Inventory objects of a Release.
func (w *world) shards(name string) []v1alpha1.Inventory {
	GinkgoHelper()
	list := &v1alpha1.InventoryList{}
	labels := client.MatchingLabels(v1alpha1.OwnerLabels(w.namespace, name))
	Expect(env.Client.List(context.Background(), list, client.InNamespace(w.namespace), labels)).To(Succeed())
	return list.Items
}

// recorded are the objects in the inventory of a Release, as "Kind namespace/name".
func (w *world) recorded(name string) []string {
	GinkgoHelper()
	var ids []string
	for id := range live.InventoryOf(w.shards(name)) {
		ids = append(ids, id.String())
	}
	return ids
}

// during are the requests that the API server received while f ran, with their bodies.
func during(f func()) []auditv1.Event {
	GinkgoHelper()
	before := env.Now(GinkgoTB())
	f()
	var requests []auditv1.Event
	Eventually(func(g Gomega) {
		requests = env.RequestsSince(GinkgoTB(), before)
		g.Expect(requests).NotTo(ContainElement(And(HaveField("Verb", Not(Equal("watch"))), HaveField("Stage", auditv1.StageRequestReceived))))
	}).WithTimeout(10 * time.Second).WithPolling(5 * time.Millisecond).Should(Succeed())
	return requests
}

// writes are those of the requests that changed something, as "verb resource namespace/name". What the API server does on its own is
// left out.
func writes(requests []auditv1.Event) []string {
	var list []string
	for _, r := range requests {
		refused := r.ResponseStatus != nil && r.ResponseStatus.Code >= http.StatusBadRequest
		if !testenv.IsWrite(r) || refused || r.User.Username == "system:apiserver" || r.ObjectRef == nil {
			continue
		}
		resource := r.ObjectRef.Resource
		if r.ObjectRef.Subresource != "" {
			resource += "/" + r.ObjectRef.Subresource
		}
		list = append(list, r.Verb+" "+resource+" "+r.ObjectRef.Namespace+"/"+r.ObjectRef.Name)
	}
	return list
}

// stateOf is an object without its status and what every write moves.
func stateOf(obj *unstructured.Unstructured) map[string]any {
	GinkgoHelper()
	Expect(obj).NotTo(BeNil())
	state := obj.DeepCopy()
	state.SetManagedFields(nil)
	state.SetResourceVersion("")
	state.SetGeneration(0)
	delete(state.Object, "status")
	return state.Object
}
