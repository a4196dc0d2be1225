package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("Mutations", func() {
	substitute := func(from ...v1alpha1.ValuesReference) func(*v1alpha1.Release) {
		return func(r *v1alpha1.Release) {
			r.Spec.Mutations = []v1alpha1.Mutation{
				{Substitute: &v1alpha1.SubstituteMutation{Vars: map[string]string{"env": "prod"}, From: from}},
				{Annotations: map[string]string{"team": "a"}},
			}
		}
	}

	It("change what is applied and stored, and follow the variables", func() {
		w := newWorld()
		w.commit("v1", map[string]string{"a.yaml": configMap("a", "${env} ${region}")})
		values := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "values"}, Data: map[string]string{"region": "north"}}
		Expect(env.Client.Create(context.Background(), values)).To(Succeed())
		w.create("app", substitute(
			v1alpha1.ValuesReference{Kind: v1alpha1.FromConfigMap, Name: "values"},
			v1alpha1.ValuesReference{Kind: v1alpha1.FromSecret, Name: "no-such-secret", Optional: true},
		))
		first := w.settle("app")
		Expect(condition(first, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(first, v1alpha1.ConditionReady))
		Expect(w.value("a")).To(Equal("prod north"))

		values.Data["region"] = "south"
		Expect(env.Client.Update(context.Background(), values)).To(Succeed())
		second := w.settle("app")
		Expect(w.value("a")).To(Equal("prod south"))
		Expect(second.Status.LastSuccessful.RenderRef).NotTo(Equal(first.Status.LastSuccessful.RenderRef))
		Expect(second.Status.LastSuccessful.Revision).To(Equal("v1"), "the source is the same")

		w.edit("app", func(r *v1alpha1.Release) {
			r.Spec.Mutations = append(r.Spec.Mutations, v1alpha1.Mutation{Labels: map[string]string{"l": "m"}})
		})
		w.settle("app")
		cm := &corev1.ConfigMap{}
		Expect(env.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: "a"}, cm)).To(Succeed())
		Expect(cm.Labels).To(HaveKeyWithValue("l", "m"))
		Expect(cm.Annotations).To(HaveKeyWithValue("team", "a"))
	})

	It("that cannot be done change nothing, and say which", func() {
		d := newDeployed()
		d.edit("app", substitute(v1alpha1.ValuesReference{Kind: v1alpha1.FromSecret, Name: "no-such-secret"}))
		release := d.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False RenderFailed"))
		Expect(message(release, v1alpha1.ConditionReady)).To(ContainSubstring(
			"mutations[0].substitute.from: Secret " + d.namespace + "/no-such-secret does not exist"))
		d.edit("app", func(r *v1alpha1.Release) {
			r.Spec.Mutations = []v1alpha1.Mutation{{Patch: &v1alpha1.PatchMutation{Patch: "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}"}}}
		})
		release = d.settle("app")
		Expect(message(release, v1alpha1.ConditionReady)).To(ContainSubstring("mutations[0].patch: no object matches ConfigMap other"))
		Expect(d.value("a")).To(Equal("good"))
	})
})
