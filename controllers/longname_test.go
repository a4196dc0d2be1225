package controllers_test

import (
	"context"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("A Release with a name of 253 characters", func() {
	It("lives as every other: its labels tell whose an object is, its keys have its name, and it goes", func() {
		name := strings.Repeat("long-name.", 25) + "app"
		Expect(name).To(HaveLen(253))
		dir := GinkgoTB().TempDir()
		w := newWorldWithStore("file://" + filepath.ToSlash(dir) + "?no_tmp_dir=true")
		owned := func() []string {
			GinkgoHelper()
			list := &corev1.ConfigMapList{}
			labels := client.MatchingLabels(v1alpha1.OwnerLabels(w.namespace, name))
			Expect(env.Client.List(context.Background(), list, client.InNamespace(w.namespace), labels)).To(Succeed())
			var names []string
			for _, cm := range list.Items {
				names = append(names, cm.Name)
			}
			return names
		}
		keys := func(kind string) []string {
			GinkgoHelper()
			found, err := filepath.Glob(filepath.Join(dir, w.namespace, name, kind, "*"))
			Expect(err).NotTo(HaveOccurred())
			return found
		}

		w.create(name)
		w.commit("one", map[string]string{"a.yaml": configMap("a", "one"), "b.yaml": configMap("b", "one")})
		release := w.settle(name)
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(owned()).To(ConsistOf("a", "b"))
		Expect(keys("blobs")).To(HaveLen(1))
		Expect(keys("history")).To(HaveLen(1))

		// Another one with the same beginning has objects of its own.
		other := strings.TrimSuffix(name, "app") + "bpp"
		w.create(other)
		w.commit("two", map[string]string{"a.yaml": configMap("a", "two")})
		Expect(message(w.settle(other), v1alpha1.ConditionApplied)).To(ContainSubstring("is owned by Release " + w.namespace + "/" + name))
		w.commit("two", map[string]string{"a.yaml": configMap("a", "two"), "c.yaml": configMap("c", "two")})
		w.settle(name)
		Expect(owned()).To(ConsistOf("a", "c"))
		Expect(w.value("a")).To(Equal("two"))
		Expect(w.value("b")).To(BeEmpty())

		Expect(env.Client.Delete(context.Background(), w.get(name))).To(Succeed())
		w.settle(name)
		Expect(w.find(name)).To(BeNil())
		Expect(owned()).To(BeEmpty())
		Expect(append(keys("blobs"), keys("history")...)).To(BeEmpty())
		inventories := &v1alpha1.InventoryList{}
		Expect(env.Client.List(context.Background(), inventories, client.InNamespace(w.namespace))).To(Succeed())
		for _, inventory := range inventories.Items {
			Expect(inventory.OwnerReferences[0].Name).To(Equal(other))
		}
	})
})
