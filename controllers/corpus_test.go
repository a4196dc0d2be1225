package controllers_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// corpus is a folder of real manifests, beside the repository.
func corpus(name string) fs.FS {
	GinkgoHelper()
	dir := filepath.Join("..", "..", "shared", "corpus", filepath.FromSlash(name))
	Expect(dir).To(BeADirectory(), "the corpus belongs beside the repository")
	return os.DirFS(dir)
}

// notEstablished are the CustomResourceDefinitions that the API server, which does that on its own, does not serve yet.
func notEstablished() []string {
	GinkgoHelper()
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(env.Client.List(context.Background(), list)).To(Succeed())
	var names []string
	for _, crd := range list.Items {
		if !slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}) {
			names = append(names, crd.Name)
		}
	}
	return names
}

var _ = Describe("Real manifests, whole", Ordered, func() {
	BeforeAll(clusterOfItsOwn)

	for _, tc := range []struct {
		manifests string
		objects   int
	}{
		{"kube-prometheus/manifests", 131},
		{"argo-cd/manifests", 34},
	} {
		It("deploy in one go, and then change nothing and say nothing new: "+tc.manifests, func() {
			w := newWorld()
			w.source.Set("v1", corpus(tc.manifests))
			w.create("app")
			start := time.Now()
			w.settle("app")
			AddReportEntry("deployed in", time.Since(start).Round(time.Millisecond).String())
			Eventually(notEstablished).WithTimeout(time.Minute).Should(BeEmpty())
			release := w.settle("app")
			Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionApplied))
			Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("Unknown Progressing"), "no controller runs here")
			Expect(w.events.All()).NotTo(ContainElement(HavePrefix("Warning")), "nothing went wrong on the way")
			Expect(w.recorded("app")).To(HaveLen(tc.objects))

			Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
			Expect(w.get("app").ResourceVersion).To(Equal(release.ResourceVersion))
			w.restart()
			Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty(), "after a restart of the controller")
			Expect(w.get("app").ResourceVersion).To(Equal(release.ResourceVersion))
			Expect(w.history("app")).To(HaveLen(1))
			w.delete("app")
			Expect(w.shards("app")).To(BeEmpty())
		})
	}
})
