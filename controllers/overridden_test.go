package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forces makes the server store the value "forced" in every ConfigMap of the namespace, whatever it is sent.
func (w *world) forces() {
	GinkgoHelper()
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[JSONPatch{op: "replace", path: "/data/key", value: "forced"}]`},
			}},
		},
	}
	Expect(env.Client.Create(context.Background(), policy)).To(Succeed())
	Expect(env.Client.Create(context.Background(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: w.namespace},
	})).To(Succeed())
	Eventually(func(g Gomega) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Data: map[string]string{"key": "sent"}}
		g.Expect(env.Client.Create(context.Background(), probe, client.DryRunAll)).To(Succeed())
		g.Expect(probe.Data).To(HaveKeyWithValue("key", "forced"))
	}).WithTimeout(30 * time.Second).Should(Succeed())
}

var _ = Describe("A field that the server's admission overrides", func() {
	It("is recorded, and is no drift", func() {
		w := newWorld()
		w.forces()
		w.create("app")
		w.deploy("app", "sent")
		Expect(w.value("a")).To(Equal("forced"))
		var overridden []string
		for _, shard := range w.shards("app") {
			for _, e := range shard.Entries {
				overridden = append(overridden, e.Overridden...)
			}
		}
		Expect(overridden).To(ConsistOf(HaveLen(16)))
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
		w.restart()
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty(), "after a restart of the controller")
		Expect(w.driftEvents()).To(BeEmpty())
	})
})
