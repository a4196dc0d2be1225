package controllers_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("A pass", func() {
	It("deploys what the source holds and says so", func() {
		w := newWorld()
		w.commit("v1", map[string]string{"a.yaml": configMap("a", "one")})
		w.create("app")
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(release.Status.ResolvedRetentionPolicy).To(Equal(&v1alpha1.ResolvedRetentionPolicy{KeepHistory: 10, HistoryCount: 1}))
		cm := &corev1.ConfigMap{}
		Expect(env.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: "a"}, cm)).To(Succeed())
		Expect(cm.Data).To(HaveKeyWithValue("key", "one"))
		Expect(cm.Labels).To(Equal(v1alpha1.OwnerLabels(w.namespace, "app")))
	})

	DescribeTable("keeps what runs, and tells how it is doing, while it cannot apply", func(obstacle func(*world), expected string) {
		w := newWorld()
		w.create("app")
		w.deploy("app", "one")
		obstacle(w)
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal(expected))
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("True Succeeded"))
		Expect(w.value("a")).To(Equal("one"))

		Expect(env.Client.Delete(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}})).To(Succeed())
		release = w.settle("app")
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("False Degraded"))
		Expect(message(release, v1alpha1.ConditionHealthy)).To(ContainSubstring("ConfigMap " + w.namespace + "/a (it is not there)"))
	},
		Entry("the source is down", func(w *world) { w.source.Fail(errors.New("no route to host")) }, "False SourceFailed"),
		Entry("the files are broken", func(w *world) { w.commit("v2", map[string]string{"a.yaml": "a: ["}) }, "False RenderFailed"),
		Entry("the dry run fails", func(w *world) {
			w.commit("v2", map[string]string{"a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 99999}]}\n"})
		}, "False DryRunFailed"),
		Entry("it is suspended", func(w *world) { w.edit("app", func(r *v1alpha1.Release) { r.Spec.Suspend = true }) }, "Unknown Suspended"),
	)

	It("does not ask a source that fails more often than the backoff says, and none more often than the interval", func() {
		w := newWorld()
		w.create("app")
		w.deploy("app", "one")
		w.commit("two", map[string]string{"a.yaml": configMap("a", "two")})
		w.pass("app")
		Expect(w.value("a")).To(Equal("two"), "the static source ignores how old an answer may be")
		w.source.Fail(errors.New("no route to host"))
		first, second := w.pass("app").RequeueAfter, w.pass("app").RequeueAfter
		Expect(second).To(BeNumerically(">", first))
		w.commit("three", map[string]string{"a.yaml": configMap("a", "three")})
		Expect(w.pass("app").RequeueAfter).To(BeNumerically(">=", w.get("app").Spec.Interval.Duration))
	})
})
