package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
)

// definition is the manifest of a CustomResourceDefinition for Widgets of a group, with these string fields in spec, in these versions.
// The first is stored; one with a ! in front is not served.
func definition(group string, fields []string, versions ...string) string {
	var properties, served []string
	for _, f := range fields {
		properties = append(properties, f+": {type: string}")
	}
	for i, v := range versions {
		served = append(served, fmt.Sprintf(`
  - name: %s
    served: %t
    storage: %t
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}}}}`,
			strings.TrimPrefix(v, "!"), !strings.HasPrefix(v, "!"), i == 0, strings.Join(properties, ", ")))
	}
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:%[2]s
`, group, strings.Join(served, ""))
}

// widget is the manifest of a Widget with one field in spec.
func widget(apiVersion, name, field string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: Widget\nmetadata: {name: %s}\nspec: {%s: here}\n", apiVersion, name, field)
}

const crdVersion, crdKind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"

// deleteDefinition deletes a definition of Widgets. The API server takes its time with one that it has just begun to serve.
func deleteDefinition(group string) {
	GinkgoHelper()
	if crd := find(crdVersion, crdKind, "", "widgets."+group); crd != nil && crd.GetDeletionTimestamp() == nil {
		remove(crd)
	}
}

// dropDefinition deletes a definition of Widgets and waits until the server does not serve them any more.
func dropDefinition(group string) {
	GinkgoHelper()
	deleteDefinition(group)
	Eventually(func() *unstructured.Unstructured { return find(crdVersion, crdKind, "", "widgets."+group) }).
		WithTimeout(2 * time.Minute).WithPolling(20 * time.Millisecond).Should(BeNil())
}

var _ = Describe("CustomResourceDefinitions and Namespaces in the render", func() {
	var w *world
	var group string

	BeforeEach(func() {
		w = newWorld()
		group = w.namespace + ".example.com"
		DeferCleanup(func() { deleteDefinition(group) })
	})

	It("applies Namespace, CRDs and their custom resources in one render, all new, in one go", func() {
		w.commit("v1", map[string]string{
			"ns.yaml":     fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s-new}\n", w.namespace),
			"crd.yaml":    definition(group, []string{"size"}, "v1"),
			"here.yaml":   widget(group+"/v1", "here", "size"),
			"there.yaml":  strings.Replace(widget(group+"/v1", "there", "size"), "name: there", "name: there, namespace: "+w.namespace+"-new", 1),
			"config.yaml": strings.Replace(configMap("config", "one"), "metadata:\n", "metadata:\n  namespace: "+w.namespace+"-new\n", 1),
		})
		w.create("app")
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.live(group+"/v1", "Widget", "here")).NotTo(BeNil())
		Expect(find(group+"/v1", "Widget", w.namespace+"-new", "there")).NotTo(BeNil())
		Expect(find("v1", "ConfigMap", w.namespace+"-new", "config")).NotTo(BeNil())
		Expect(w.recorded("app")).To(HaveLen(5))
		Expect(w.events.All()).NotTo(ContainElement(HavePrefix("Warning")), "nothing went wrong on the way")
	})

	It("applies a CRD that changes its schema together with a custom resource that uses the new field", func() {
		w.commit("v1", map[string]string{"crd.yaml": definition(group, []string{"size"}, "v1"), "a.yaml": widget(group+"/v1", "a", "size")})
		w.create("app")
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		w.commit("v2", map[string]string{"crd.yaml": definition(group, []string{"size", "colour"}, "v1"), "a.yaml": widget(group+"/v1", "a", "colour")})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.live(group+"/v1", "Widget", "a").Object["spec"]).To(Equal(map[string]any{"colour": "here"}))
	})

	It("applies a CRD that adds a version together with a custom resource in that version", func() {
		w.commit("v1", map[string]string{"crd.yaml": definition(group, []string{"size"}, "v1"), "a.yaml": widget(group+"/v1", "a", "size")})
		w.create("app")
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		w.commit("v2", map[string]string{"crd.yaml": definition(group, []string{"size"}, "v1", "v2"), "a.yaml": widget(group+"/v2", "a", "size")})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.recorded("app")).To(HaveLen(2))
		Expect(w.events.All()).NotTo(ContainElement(HavePrefix("Warning")), "nothing went wrong on the way")
	})

	for _, served := range []bool{false, true} {
		It(fmt.Sprintf("rejects a custom resource whose CRD is in the render and does not serve its version, served before: %t", served), func() {
			before := map[string]string{"config.yaml": configMap("config", "one")}
			if served {
				before = map[string]string{"crd.yaml": definition(group, []string{"size"}, "v1", "v2"), "a.yaml": widget(group+"/v1", "a", "size")}
			}
			w.commit("v1", before)
			w.create("app")
			Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
			w.commit("v2", map[string]string{"crd.yaml": definition(group, []string{"size"}, "v2"), "a.yaml": widget(group+"/v1", "a", "size")})
			written := writes(during(func() { w.pass("app") }))
			Expect(written).To(HaveExactElements("patch releases/status " + w.namespace + "/app"))
			release := w.get("app")
			Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
			Expect(message(release, v1alpha1.ConditionApplied)).To(And(
				ContainSubstring("Widget.%s a: ", group), ContainSubstring("does not serve version v1")))
		})
	}

	It("puts back a CRD that was deleted by hand, and its custom resources", func() {
		w.commit("v1", map[string]string{"crd.yaml": definition(group, []string{"size"}, "v1"), "a.yaml": widget(group+"/v1", "a", "size")})
		w.create("app")
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		dropDefinition(group)
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.live(group+"/v1", "Widget", "a")).NotTo(BeNil())
	})

	It("names a custom resource whose CRD is not in the render and was deleted by hand, and goes on when it is back", func() {
		crd := definition(group, []string{"size"}, "v1")
		w.asUser("kubectl", crd)
		w.commit("v1", map[string]string{"a.yaml": widget(group+"/v1", "a", "size"), "b.yaml": configMap("b", "one")})
		w.create("app")
		Eventually(func() string { return condition(w.settle("app"), v1alpha1.ConditionReady) }).Should(Equal("True Succeeded"))
		dropDefinition(group)
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring(
			"Widget.%s %s/a: the server does not serve Widget.%[1]s in version v1", group, w.namespace))
		w.asUser("kubectl", crd)
		Eventually(func() string { return condition(w.settle("app"), v1alpha1.ConditionReady) }).Should(Equal("True Succeeded"))
		Expect(w.live(group+"/v1", "Widget", "a")).NotTo(BeNil())
	})

	It("prunes a custom resource that was applied in a version which is not served any more", func() {
		w.asUser("kubectl", definition(group, []string{"size"}, "v1"))
		w.commit("v1", map[string]string{"a.yaml": widget(group+"/v1", "a", "size"), "b.yaml": configMap("b", "one")})
		w.create("app")
		Eventually(func() string { return condition(w.settle("app"), v1alpha1.ConditionReady) }).Should(Equal("True Succeeded"))
		w.asUser("kubectl", definition(group, []string{"size"}, "!v1", "v2"))
		Eventually(func() error {
			return env.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: "a"}, object(widget(group+"/v1", "a", "size")))
		}).
			Should(Satisfy(live.NotServed))
		w.commit("v2", map[string]string{"b.yaml": configMap("b", "one")})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.live(group+"/v2", "Widget", "a")).To(BeNil())
		Expect(w.recorded("app")).To(HaveLen(1))
	})

	It("rejects a custom resource in an earlier wave than its CRD, also when the kind is served already", func() {
		w.asUser("kubectl", definition(group, []string{"size"}, "v1"))
		w.commit("v1", map[string]string{
			"crd.yaml": inWave(1, definition(group, []string{"size", "colour"}, "v1")),
			"a.yaml":   widget(group+"/v1", "a", "colour"),
		})
		w.create("app")
		Eventually(func() string { return message(w.settle("app"), v1alpha1.ConditionApplied) }).Should(ContainSubstring(
			"Widget.%s %s/a: is in wave 0, before its CustomResourceDefinition in wave 1", group, w.namespace))
	})

	It("does not take an object for gone whose API group does not answer", func() {
		w.commit("v1", configMaps("a"))
		w.create("app")
		w.settle("app")
		service := object("apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1." + group + "}\nspec: {group: " + group +
			", version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {namespace: " + w.namespace + ", name: down}}\n")
		Expect(env.Client.Create(context.Background(), service)).To(Succeed())
		DeferCleanup(func() { Expect(client.IgnoreNotFound(env.Client.Delete(context.Background(), service))).To(Succeed()) })
		answer := func() error {
			kinds, err := live.DiscoverKinds(context.Background(), w.controller.Targets.Discovery)
			Expect(err).NotTo(HaveOccurred())
			_, err = kinds.Version(schema.GroupKind{Group: group, Kind: "Widget"})
			return err
		}
		Eventually(answer).WithTimeout(2 * time.Minute).Should(MatchError(ContainSubstring("does not answer")))

		shard := w.shards("app")[0]
		shard.Entries = append(shard.Entries, v1alpha1.InventoryEntry{Group: group, Version: "v1", Kind: "Widget", Namespace: w.namespace, Name: "w"})
		Expect(env.Client.Update(context.Background(), &shard)).To(Succeed())
		recorded := append(w.ids("a"), "Widget."+group+" "+w.namespace+"/w")
		expectHeld := func() {
			GinkgoHelper()
			release := w.get("app")
			Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
			Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("Widget." + group + " " + w.namespace + "/w: "))
			Expect(w.recorded("app")).To(ConsistOf(recorded...))
		}
		w.settle("app")
		expectHeld()
		w.restart()
		remove(w.get("app"))
		w.pass("app")
		expectHeld()
		remove(service)
		Eventually(answer).WithTimeout(2 * time.Minute).Should(Succeed())
		w.settle("app")
		Expect(w.find("app")).To(BeNil())
	})
})
