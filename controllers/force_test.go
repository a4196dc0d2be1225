package controllers_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// forced gives a manifest the annotation that has it created anew.
func forced(manifest string) string {
	GinkgoHelper()
	return annotated(v1alpha1.ForceAnnotation, v1alpha1.ForceEnabled, manifest)
}

// The objects that cannot be changed in %s. Each is named a.
const (
	selectedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: main, image: "main:1"}]}
`
	templatedJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "main:%s"}]}}}
`
	servedSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  serviceName: %s
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: main, image: "main:1"}]}
`
	immutableMap    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {key: %s}\n"
	immutableSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nimmutable: true\nstringData: {key: hunter%s}\n"
)

// done is the status of an object of the kind that is healthy.
var done = map[string]string{
	"Deployment": `{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,
		"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}`,
	"Job": `{"startTime":"2026-01-02T03:04:05Z","completionTime":"2026-01-02T03:04:06Z","succeeded":1,"conditions":[
		{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}`,
	"StatefulSet": `{"observedGeneration":1,"replicas":1,"readyReplicas":1,"updatedReplicas":1,"currentReplicas":1,"availableReplicas":1,
		"currentRevision":"a-1","updateRevision":"a-1"}`,
}

// thing is the object a of a manifest, as it is on the server; nil if it is not there.
func (w *world) thing(manifest string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := object(manifest)
	return w.live(obj.GetAPIVersion(), obj.GetKind(), obj.GetName())
}

// synced commits one manifest, and deploys it until it is healthy.
func (w *world) synced(revision, manifest string) *unstructured.Unstructured {
	GinkgoHelper()
	w.commit(revision, map[string]string{"a.yaml": manifest})
	w.pass("app")
	obj := w.thing(manifest)
	Expect(obj).NotTo(BeNil(), message(w.get("app"), v1alpha1.ConditionApplied))
	if status := done[obj.GetKind()]; status != "" {
		setStatus(obj, status)
	}
	release := w.settle("app")
	Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
	return w.thing(manifest)
}

// notSynced commits one manifest, whose dry run fails, so that its object is left as it is.
func (w *world) notSynced(manifest string) (said string) {
	GinkgoHelper()
	before := w.thing(manifest)
	w.commit(fmt.Sprintf("refused-%08x", crc32.ChecksumIEEE([]byte(manifest))), map[string]string{"a.yaml": manifest})
	release := w.settle("app")
	Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"), message(release, v1alpha1.ConditionApplied))
	Expect(w.thing(manifest)).To(Equal(before))
	return message(release, v1alpha1.ConditionApplied)
}

var _ = DescribeTable("A field that cannot be changed",
	func(text, field string) {
		w := newWorld()
		w.create("app")
		first, second := fmt.Sprintf(text, "one"), fmt.Sprintf(text, "two")
		one := w.synced("one", forced(first))
		good := w.get("app").Status.LastSuccessful.RenderRef

		By("being refused without the annotation")
		said := w.notSynced(second)
		Expect(said).To(And(ContainSubstring(w.namespace+"/a: "), ContainSubstring(field),
			ContainSubstring("; the annotation convoy.dev/force: enabled would have it deleted and created anew"), Not(ContainSubstring("hunter"))))

		By("being created anew with it")
		two := w.synced("two", forced(second))
		Expect(two.GetUID()).NotTo(Equal(one.GetUID()))
		Expect(w.events.All()).To(ContainElement(ContainSubstring("0 created, 0 configured, 0 deleted, 1 recreated")))
		Expect(w.driftEvents()).To(BeEmpty())
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())

		By("being created anew when it is rolled back")
		w.pin("app", good)
		w.pass("app")
		back := w.thing(first)
		Expect(back.GetUID()).NotTo(Equal(two.GetUID()))
		if status := done[back.GetKind()]; status != "" {
			setStatus(back, status)
		}
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	},
	Entry("of a Deployment", selectedDeployment, "spec.selector"),
	Entry("of a Job", templatedJob, "spec.template"),
	Entry("of a StatefulSet", servedSet, "spec"),
	Entry("of an immutable ConfigMap", immutableMap, "data"),
	Entry("of an immutable Secret", immutableSecret, "data"),
)

var _ = Describe("convoy.dev/force", func() {
	var w *world
	value := func(v string) string { return fmt.Sprintf(immutableMap, v) }

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
	})

	It("is no matter where the object can be changed", func() {
		one := w.synced("one", forced(configMap("a", "one")))
		Expect(w.synced("two", forced(configMap("a", "two"))).GetUID()).To(Equal(one.GetUID()))
	})

	It("does not delete for an object that the server would not take", func() {
		w.synced("one", fmt.Sprintf(selectedDeployment, "one"))
		invalid := strings.Replace(fmt.Sprintf(selectedDeployment, "two"), "labels: {app: two}", "labels: {app: other}", 1)
		said := w.notSynced(forced(invalid))
		Expect(said).To(And(ContainSubstring("selector"), Not(ContainSubstring("convoy.dev/force"))))
		Expect(w.notSynced(invalid)).NotTo(ContainSubstring("convoy.dev/force"), "it would be of no use")
	})

	It("is read as Flux writes it", func() {
		one := w.synced("one", value("one"))
		two := w.synced("two", annotated(v1alpha1.FluxForceAnnotation, "Enabled", value("two")))
		Expect(two.GetUID()).NotTo(Equal(one.GetUID()))
	})

	It("does not count against prunePolicy.maxDeletes", func() {
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.MaxDeletes = new(intstr.FromInt32(0)) })
		one := w.synced("one", value("one"))
		Expect(w.synced("two", forced(value("two"))).GetUID()).NotTo(Equal(one.GetUID()))
	})

	It("waits for an object that a finalizer holds, and goes on when it is gone", func() {
		w.synced("one", value("one"))
		merge(w.live("v1", "ConfigMap", "a"), `{"metadata":{"finalizers":["example.com/held"]}}`)
		w.commit("two", map[string]string{"a.yaml": forced(value("two"))})
		for range 2 {
			w.pass("app")
			release := w.get("app")
			Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown Progressing"))
			Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("ConfigMap "+w.namespace+"/a"), ContainSubstring("example.com/held")))
			Expect(release.Status.Sync).To(HaveValue(HaveField("Phase", v1alpha1.SyncPhaseWave)))
			Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
			Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
			w.restart()
		}
		merge(w.live("v1", "ConfigMap", "a"), `{"metadata":{"finalizers":null}}`)
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.value("a")).To(Equal("two"))
		Expect(w.driftEvents()).To(BeEmpty())
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	})

	It("is made up for when the controller stops between the delete and the create", func() {
		w.synced("one", value("one"))
		w.through(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			if writesPatch(req, "application/apply-patch") {
				return nil, errors.New("killed")
			}
			return next.RoundTrip(req)
		})
		w.commit("two", map[string]string{"a.yaml": forced(value("two"))})
		w.pass("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
		Expect(w.recorded("app")).To(ConsistOf(w.ids("a")...))
		w.restart()
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.value("a")).To(Equal("two"))
		Expect(w.driftEvents()).To(BeEmpty())
	})

	It("is of no use where a new object of another name would not be taken: the refusal stays", func() {
		// These addresses and ports are of the bands that the server gives to nobody who does not ask for them.
		const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: NodePort, clusterIP: %s, ports: [{port: 80, nodePort: 300%d}]}\n"
		first := w.synced("one", fmt.Sprintf(service, "10.0.0.11", 45))
		said := w.notSynced(forced(fmt.Sprintf(service, "10.0.0.12", 45)))
		Expect(said).To(And(ContainSubstring("spec.clusterIPs[0]"), Not(ContainSubstring("allocated"))))
		Expect(w.synced("two", forced(fmt.Sprintf(service, "10.0.0.12", 46))).GetUID()).NotTo(Equal(first.GetUID()))
	})

	It("goes wave by wave", func() {
		w.commit("one", map[string]string{"a.yaml": value("one"), "b.yaml": inWave(-1, deployment("b", "1"))})
		w.pass("app")
		w.becomeHealthy("b")
		w.settle("app")
		w.commit("two", map[string]string{"a.yaml": forced(value("two")), "b.yaml": inWave(-1, deployment("b", "2"))})
		w.pass("app")
		Expect(w.value("a")).To(Equal("one"))
		w.becomeHealthy("b")
		w.settle("app")
		Expect(w.value("a")).To(Equal("two"))
	})

	It("does not delete what is protected, and says what would allow it", func() {
		w.commit("one", map[string]string{"a.yaml": pvc("a")})
		w.pass("app")
		setStatus(w.live("v1", "PersistentVolumeClaim", "a"), `{"phase":"Bound"}`)
		w.settle("app")
		wider := strings.Replace(pvc("a"), "ReadWriteOnce", "ReadWriteMany", 1)
		Expect(w.notSynced(wider)).NotTo(ContainSubstring("convoy.dev/force"), "nobody is told to delete data")
		Expect(w.notSynced(forced(wider))).To(ContainSubstring(
			"; it is not deleted to be created anew: its kind is protected; the annotation convoy.dev/prune: enabled allows deleting it"))

		before := w.live("v1", "PersistentVolumeClaim", "a")
		merge(before, `{"metadata":{"finalizers":null}}`) // which the controller that is not here would take off
		w.commit("two", map[string]string{"a.yaml": annotated(v1alpha1.PruneAnnotation, v1alpha1.PruneEnabled, forced(wider))})
		w.pass("app")
		Expect(w.live("v1", "PersistentVolumeClaim", "a").GetUID()).NotTo(Equal(before.GetUID()))
	})

	It("does not delete what somebody protects by hand", func() {
		w.synced("one", value("one"))
		merge(w.live("v1", "ConfigMap", "a"), `{"metadata":{"annotations":{"convoy.dev/prune":"disabled"}}}`)
		Expect(w.notSynced(forced(value("two")))).To(ContainSubstring("its annotation convoy.dev/prune says disabled"))
	})

	It("needs the right to delete, which the dry run finds out", func() {
		w.serviceAccount("deployer", without("delete")...)
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.ServiceAccountName = "deployer" })
		w.synced("one", value("one"))
		Expect(w.notSynced(forced(value("two")))).To(And(ContainSubstring("to be created anew, it would not be deleted"),
			ContainSubstring(`cannot delete resource "configmaps"`)))
		w.allow("deployer", allVerbs...)
		w.settle("app")
		Expect(w.value("a")).To(Equal("two"))
	})

	It("replaces what another tool deployed, and not what another Release owns", func() {
		w.kubectl(fmt.Sprintf(selectedDeployment, "theirs"), "apply", "-f", "-")
		theirs := w.live("apps/v1", "Deployment", "a")
		ours := fmt.Sprintf(selectedDeployment, "ours")
		Expect(w.notSynced(ours)).To(ContainSubstring("convoy.dev/force: enabled"))

		w.create("other", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		merge(theirs, fmt.Sprintf(`{"metadata":{"labels":{"convoy.dev/release-name":"other","convoy.dev/release-namespace":%q}}}`, w.namespace))
		Expect(w.notSynced(forced(ours))).To(ContainSubstring("is owned by Release %s/other", w.namespace))

		merge(w.live("apps/v1", "Deployment", "a"), `{"metadata":{"labels":null}}`)
		Expect(w.synced("two", forced(ours)).GetUID()).NotTo(Equal(theirs.GetUID()))
	})

	It("replaces an object whose takeover would remove an immutable field", func() {
		w.kubectl("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {key: one, more: theirs}\n", "apply", "-f", "-")
		theirs := w.live("v1", "ConfigMap", "a")
		Expect(w.notSynced(value("one"))).To(And(ContainSubstring("set data.more, which"), ContainSubstring("put it into the source; the annotation convoy.dev/force: enabled")))
		Expect(w.synced("two", forced(value("one"))).GetUID()).NotTo(Equal(theirs.GetUID()))
	})

	It("puts back an object that somebody replaced by one that cannot be changed, and tells who and what", func() {
		w.synced("one", forced(value("ours")))
		remove(w.live("v1", "ConfigMap", "a"))
		w.asUser("somebody", value("theirs"))
		w.pass("app")
		Expect(w.value("a")).To(Equal("ours"))
		Expect(w.driftEvents()).To(HaveExactElements(ContainSubstring("/a had its owner labels changed by somebody (data)")))
	})
})
