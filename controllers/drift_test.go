package controllers_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// driftEvents are the events of drift so far.
func (w *world) driftEvents() []string {
	var events []string
	for _, event := range w.events.All() {
		if note, ok := strings.CutPrefix(event, "Warning "+v1alpha1.EventDrifted+" "); ok {
			events = append(events, note)
		}
	}
	return events
}

// drifts is how much drift of a kind the metric has counted.
func (w *world) drifts(kind string) float64 {
	GinkgoHelper()
	families, err := w.registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "convoy_drift_total" && metric.GetLabel()[0].GetValue() == kind {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}

var _ = Describe("Drift", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
		w.commit("one", map[string]string{"a.yaml": aConfigMap, "b.yaml": configMap("b", "ours"), "s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: ours}\n"})
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.driftEvents()).To(BeEmpty())
	})
	a := func() *configMapState { return w.state("a") }

	It("of a field is put back, and told with manager and field, without the value", func() {
		patched("kubectl-edit", `{"data":{"key":"theirs"}}`)(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		Expect(a().data).To(HaveKeyWithValue("key", "ours"))
		Expect(w.driftEvents()).To(HaveExactElements(fmt.Sprintf("Put back 1 object: ConfigMap %s/a was changed by kubectl-edit (data.key)", w.namespace)))
		Expect(w.drifts("changed")).To(BeEquivalentTo(1))
		w.pass("app")
		Expect(w.driftEvents()).To(HaveLen(1))
	})

	It("by removal is put back, though nobody signs for it", func() {
		patched("kubectl-edit", `{"data":{"key":null}}`)(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		Expect(a().data).To(HaveKeyWithValue("key", "ours"))
		Expect(w.driftEvents()).To(HaveExactElements(ContainSubstring("/a was changed by somebody (data.key)")))
	})

	It("under convoy's own name is put back and told", func() {
		appliedBy("convoy", strings.Replace(ownMap, "key: ours", "key: theirs", 1))(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		Expect(a().data).To(HaveKeyWithValue("key", "ours"))
		Expect(w.driftEvents()).To(HaveExactElements(ContainSubstring("/a was changed by somebody (data.key)")))
	})

	It("by deletion is put back", func() {
		remove(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		Expect(a().data).To(HaveKeyWithValue("key", "ours"))
		Expect(w.driftEvents()).To(HaveExactElements(fmt.Sprintf("Put back 1 object: ConfigMap %s/a was deleted", w.namespace)))
		Expect(w.drifts("deleted")).To(BeEquivalentTo(1))
	})

	It("of the owner labels is put back", func() {
		patched("kubectl", `{"metadata":{"labels":{"convoy.dev/release-name":null,"convoy.dev/release-namespace":null}}}`)(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		Expect(a().labels).To(Equal(v1alpha1.OwnerLabels(w.namespace, "app")))
		Expect(w.driftEvents()).To(HaveExactElements(ContainSubstring("/a had its owner labels changed by somebody (metadata.labels.convoy.dev/release-name, ")))
		Expect(w.drifts("unlabelled")).To(BeEquivalentTo(1))
	})

	It("to the labels of a Release that does not exist is put back", func() {
		patched("thief", `{"metadata":{"labels":{"convoy.dev/release-name":"nobody"}}}`)(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		Expect(a().labels).To(Equal(v1alpha1.OwnerLabels(w.namespace, "app")))
		Expect(w.driftEvents()).To(HaveExactElements(ContainSubstring("changed by thief (metadata.labels.convoy.dev/release-name)")))
	})

	It("to the labels of another Release is reported, and left", func() {
		w.create("other", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		patched("thief", `{"metadata":{"labels":{"convoy.dev/release-name":"other"}}}`)(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("ConfigMap %[1]s/a: is owned by Release %[1]s/other", w.namespace))
		Expect(a().labels).To(HaveKeyWithValue(v1alpha1.ReleaseNameLabel, "other"))
		Expect(w.driftEvents()).To(BeEmpty())
	})

	It("of many objects is one event that names some and counts the rest", func() {
		files := map[string]string{}
		for i := range 5 {
			name := fmt.Sprintf("m-%d", i)
			files[name+".yaml"] = configMap(name, "ours")
		}
		w.commit("many", files)
		w.settle("app")
		for i := range 5 {
			merge(w.live("v1", "ConfigMap", fmt.Sprintf("m-%d", i)), `{"data":{"key":"theirs"}}`)
		}
		w.pass("app")
		Expect(w.driftEvents()).To(HaveExactElements(And(HavePrefix("Put back 5 objects: "), HaveSuffix("; and 2 more"))))
	})

	It("of a Secret is told without its value", func() {
		patched("kubectl-edit", `{"data":{"key":"dGhlaXJz"}}`)(w.live("v1", "Secret", "s"))
		w.pass("app")
		Expect(w.live("v1", "Secret", "s").Object["data"]).To(Equal(map[string]any{"key": "b3Vycw=="}))
		Expect(w.driftEvents()).To(HaveExactElements(And(HaveSuffix("/s was changed by kubectl-edit (data.key)"), Not(ContainSubstring("dGhlaXJz")))))
	})

	It("is told apart from a change of the render after a restart as well", func() {
		w.restart()
		merge(w.live("v1", "ConfigMap", "a"), `{"data":{"key":"theirs"}}`)
		w.commit("two", map[string]string{"a.yaml": aConfigMap, "b.yaml": configMap("b", "new"), "c.yaml": configMap("c", "new")})
		w.pass("app")
		Expect(w.driftEvents()).To(HaveExactElements(And(HavePrefix("Put back 1 object: "), ContainSubstring("/a was changed"))))
	})

	It("of fields that convoy does not have is none", func() {
		merge(w.live("v1", "ConfigMap", "a"), `{"data":{"new":"theirs"},"metadata":{"labels":{"team":"blue"}}}`)
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
		Expect(a().data).To(HaveKeyWithValue("new", "theirs"))
		Expect(w.driftEvents()).To(BeEmpty())
	})

	It("is found by a full comparison within an hour and a quarter, though nothing moved", func() {
		tried := func() (n int) {
			for _, request := range during(func() { w.pass("app") }) {
				if testenv.IsDryRun(request) {
					n++
				}
			}
			return n
		}
		Expect(tried()).To(BeZero())
		w.clock.SetTime(w.clock.Now().Add(75 * time.Minute))
		Expect(tried()).To(Equal(3))
		Expect(tried()).To(BeZero())
	})
})

var _ = Describe("A running controller", func() {
	It("puts back what was changed, deleted or unlabelled, by itself", func() {
		w := newWorld()
		w.watch()
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours"), "b.yaml": configMap("b", "ours"), "c.yaml": configMap("c", "ours")})
		w.create("app")
		w.ready("app")
		patched("kubectl-edit", `{"data":{"key":"theirs"}}`)(w.live("v1", "ConfigMap", "a"))
		remove(w.live("v1", "ConfigMap", "b"))
		patched("kubectl", `{"metadata":{"labels":{"convoy.dev/release-name":null}}}`)(w.live("v1", "ConfigMap", "c"))
		for _, name := range []string{"a", "b", "c"} {
			Eventually(func(g Gomega) {
				state := w.state(name)
				g.Expect(state).NotTo(BeNil())
				g.Expect(state.data).To(HaveKeyWithValue("key", "ours"))
				g.Expect(state.labels).To(Equal(v1alpha1.OwnerLabels(w.namespace, "app")))
			}).WithTimeout(10*time.Second).Should(Succeed(), name)
		}
		Eventually(func() string { return strings.Join(w.driftEvents(), "\n") }).Should(And(
			ContainSubstring("/a was changed by kubectl-edit (data.key)"), ContainSubstring("/b was deleted"), ContainSubstring("/c had its owner labels changed")))
	})

	It("goes on as soon as the definition of a kind comes, whatever the backoff", func() {
		w := newWorld()
		group := w.namespace + ".example.com"
		DeferCleanup(func() { deleteDefinition(group) })
		requests := w.watch()
		w.commit("one", map[string]string{"a.yaml": widget(group+"/v1", "a", "color")})
		w.create("app")
		Eventually(func() string { return condition(w.get("app"), v1alpha1.ConditionApplied) }).WithTimeout(20 * time.Second).Should(Equal("False DryRunFailed"))
		for range 9 {
			w.pass("app")
		}
		Expect(w.pass("app").RequeueAfter).To(BeNumerically(">=", time.Minute))
		requests.quiet()
		w.asUser("kubectl", definition(group, []string{"color"}, "v1"))
		Eventually(func() string { return condition(w.get("app"), v1alpha1.ConditionApplied) }).WithTimeout(20 * time.Second).Should(Equal("True Succeeded"))
	})

	It("follows the health of what it deployed", func() {
		w := newWorld()
		requests := w.watch()
		w.commit("one", map[string]string{"a.yaml": aDeployment, "b.yaml": configMap("b", "ours")})
		w.create("app")
		Eventually(func() string { return condition(w.get("app"), v1alpha1.ConditionHealthy) }).WithTimeout(20 * time.Second).Should(Equal("Unknown Progressing"))
		w.becomeHealthy("a")
		w.ready("app")
		requests.quiet()
		sent := requests.during(func() {
			setStatus(w.live("apps/v1", "Deployment", "a"), `{"availableReplicas":1,"readyReplicas":1,"unavailableReplicas":1}`)
			Eventually(func() string { return condition(w.get("app"), v1alpha1.ConditionHealthy) }).WithTimeout(20 * time.Second).Should(Equal("Unknown Progressing"))
		})
		Expect(sent).To(ContainElement(HavePrefix("GET /apis/apps/v1/namespaces/" + w.namespace + "/deployments/a")))
		Expect(sent).NotTo(ContainElement(ContainSubstring("dryRun")), "the status is nobody's drift")
	})
})

// configMapState is what the specs look at in a ConfigMap.
type configMapState struct {
	data   map[string]any
	labels map[string]string
}

// state reads a ConfigMap; nil if it is gone.
func (w *world) state(name string) *configMapState {
	GinkgoHelper()
	obj := w.live("v1", "ConfigMap", name)
	if obj == nil {
		return nil
	}
	data, _ := obj.Object["data"].(map[string]any)
	return &configMapState{data, obj.GetLabels()}
}
