package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
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
})
