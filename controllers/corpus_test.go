package controllers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/internal/gitserver"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// corpus is the path of a folder of real manifests, beside the repository.
func corpus(name string) string {
	GinkgoHelper()
	dir := filepath.Join("..", "..", "shared", "corpus", filepath.FromSlash(name))
	Expect(dir).To(BeADirectory(), "the corpus belongs beside the repository")
	return dir
}

// serveGit serves an empty repository, app.git.
func serveGit(o gitserver.Options) (*gitserver.Repository, *gitserver.Server) {
	GinkgoHelper()
	root := GinkgoTB().TempDir()
	repo, err := gitserver.Init(filepath.Join(root, "app.git"))
	Expect(err).NotTo(HaveOccurred())
	server, err := gitserver.Start(root, o)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Stop)
	return repo, server
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

// anyShape is the definition of a kind whose objects may hold anything.
func anyShape(plural, kind, group, version string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[3]s, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: %[3]s
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]s}
  versions: [{name: %[4]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, plural, kind, group, version)
}

// fromCorpus is a world whose Release "app" is a folder of a real Git repository.
type fromCorpus struct {
	*world
	fetcher controllers.Fetcher
}

// deployFolder creates the Release. What healAll does not know stays in progress, which must not become late.
func deployFolder(server *gitserver.Server, folder string) *fromCorpus {
	GinkgoHelper()
	c := &fromCorpus{world: newWorld()}
	c.fetcher = c.realFetcher()
	c.controller.Fetcher = c.fetcher
	c.create("app", func(r *v1alpha1.Release) {
		r.Spec.Source = v1alpha1.Source{Git: &v1alpha1.GitSource{URL: server.URL("app.git"), Path: folder}}
		r.Spec.Timeout.Duration = 1000 * time.Hour
	})
	return c
}

// turnTo deploys another folder of the repository.
func (c *fromCorpus) turnTo(folder string) *v1alpha1.RenderRecord {
	GinkgoHelper()
	c.edit("app", func(r *v1alpha1.Release) { r.Spec.Source.Git.Path = folder })
	return c.applied()
}

// applied settles the Release, and expects that everything is applied. It returns what was.
func (c *fromCorpus) applied() *v1alpha1.RenderRecord {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		c.pass("app")
		c.healAll("app")
		release := c.get("app")
		g.Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionApplied))
		g.Expect(release.Status.ObservedGeneration).To(Equal(release.Generation))
		g.Expect(notEstablished()).To(BeEmpty())
	}).WithTimeout(2 * time.Minute).WithPolling(10 * time.Millisecond).Should(Succeed())
	release := c.settle("app")
	Expect(c.events.All()).NotTo(ContainElement(HavePrefix("Warning")), "nothing went wrong on the way")
	return release.Status.LastSuccessful
}

// expectNothing expects that a pass changes nothing in the cluster nor in the status. It returns how many objects the pass compared on
// the server.
func (c *fromCorpus) expectNothing(when string) (compared int) {
	GinkgoHelper()
	before := c.get("app").ResourceVersion
	requests := during(func() { c.pass("app") })
	Expect(writes(requests)).To(BeEmpty(), when)
	Expect(c.get("app").ResourceVersion).To(Equal(before), when)
	for _, request := range requests {
		if testenv.IsDryRun(request) {
			compared++
		}
	}
	return compared
}

// expectSettled expects that the Release has this many objects, and that no pass of any sort changes anything.
func (c *fromCorpus) expectSettled(objects int) {
	GinkgoHelper()
	Expect(c.recorded("app")).To(HaveLen(objects))
	c.expectNothing("a second pass")
	c.pause(75 * time.Minute)
	Expect(c.expectNothing("a full comparison")).To(Equal(objects), "compared")
	c.restart()
	c.controller.Fetcher = c.fetcher
	Expect(c.expectNothing("after a restart of the controller")).To(Equal(objects), "compared")
}

// states are the objects of the Release as they are on the server, without what every write moves.
func (c *fromCorpus) states() map[string]any {
	GinkgoHelper()
	all := map[string]any{}
	for _, target := range live.InventoryOf(c.shards("app")).Targets() {
		obj := find(target.GVK.GroupVersion().String(), target.GVK.Kind, target.ID.Namespace, target.ID.Name)
		all[target.ID.String()] = stateOf(obj)
	}
	return all
}

// images are the images of the Deployments.
func (c *fromCorpus) images() []string {
	GinkgoHelper()
	var images []string
	for _, deployment := range c.deploymentsOf("app") {
		images = append(images, deployment.Spec.Template.Spec.Containers[0].Image)
	}
	return images
}

var _ = Describe("Real manifests from a Git server", Ordered, func() {
	var repo *gitserver.Repository
	var server *gitserver.Server

	BeforeAll(func() {
		clusterOfItsOwn()
		repo, server = serveGit(gitserver.Options{})
		_, err := repo.CommitDir("the corpus", corpus(""))
		Expect(err).NotTo(HaveOccurred())
	})

	It("deploy with each optional component, and with those that go together: online-boutique", func() {
		for _, definition := range []string{
			anyShape("gateways", "Gateway", "gateway.networking.k8s.io", "v1beta1"), anyShape("httproutes", "HTTPRoute", "gateway.networking.k8s.io", "v1beta1"),
			anyShape("serviceentries", "ServiceEntry", "networking.istio.io", "v1alpha3"), anyShape("virtualservices", "VirtualService", "networking.istio.io", "v1alpha3"),
		} {
			Expect(env.Client.Create(context.Background(), object(definition))).To(Succeed())
		}
		Eventually(notEstablished).WithTimeout(time.Minute).Should(BeEmpty())
		components, err := os.ReadDir(corpus("online-boutique/kustomize/components"))
		Expect(err).NotTo(HaveOccurred())
		Expect(components).To(HaveLen(14))
		overlays := map[string]string{}
		for _, component := range components {
			overlays["overlays/"+component.Name()+"/kustomization.yaml"] = "resources: [../../online-boutique/kustomize/base]\n" +
				"components: [../../online-boutique/kustomize/components/" + component.Name() + "]\n"
		}
		_, err = repo.Commit("overlays", overlays)
		Expect(err).NotTo(HaveOccurred())

		c := deployFolder(server, "online-boutique/kustomize")
		base := c.applied().RenderRef
		seen := map[string]string{base: "the base"}
		for _, component := range components {
			ref := c.turnTo("overlays/" + component.Name()).RenderRef
			Expect(seen).NotTo(HaveKey(ref), component.Name())
			seen[ref] = component.Name()
			c.expectNothing(component.Name())
		}
		for _, tc := range []struct {
			folder  string
			objects int
		}{{"memorystore", 49}, {"service-mesh-istio", 55}, {"spanner", 49}} {
			c.turnTo("online-boutique/kustomize/tests/" + tc.folder + "-with-all-components")
			c.expectSettled(tc.objects)
		}
		Expect(c.turnTo("online-boutique/kustomize").RenderRef).To(Equal(base))
		c.expectSettled(35)
		c.delete("app")
	})

	DescribeTable("follow podinfo from 6.14.0 to 6.14.1 and back, and leave nothing over", func(folder string, objects int) {
		repo, server := serveGit(gitserver.Options{})
		commit := func(version string) {
			GinkgoHelper()
			_, err := repo.CommitDir(version, corpus("podinfo-"+version))
			Expect(err).NotTo(HaveOccurred())
		}
		commit("6.14.0")
		c := deployFolder(server, folder)
		first, before := c.applied(), c.states()
		Expect(before).To(HaveLen(objects))
		Expect(c.images()).To(HaveEach(HaveSuffix("/podinfo:6.14.0")))

		commit("6.14.1")
		c.pause(10 * time.Minute)
		second := c.applied()
		Expect(second.RenderRef).NotTo(Equal(first.RenderRef))
		Expect(c.images()).To(HaveEach(HaveSuffix("/podinfo:6.14.1")))

		commit("6.14.0")
		c.pause(10 * time.Minute)
		third := c.applied()
		Expect(third.RenderRef).To(Equal(first.RenderRef))
		Expect(third.Revision).NotTo(Equal(first.Revision), "it is another commit")
		Expect(c.states()).To(Equal(before))
		c.expectSettled(objects)
		Expect(c.history("app")).To(Equal([]string{second.RenderRef, first.RenderRef}), "one entry for each render")
		c.delete("app")
	},
		Entry("its kustomization", "kustomize", 3),
		Entry("its plain manifests", "deploy/webapp", 11),
	)

	DescribeTable("deploy in one go, and then change nothing and say nothing new", func(folder string, objects int) {
		c := deployFolder(server, folder)
		start := time.Now()
		ref := c.applied().RenderRef
		AddReportEntry("deployed in", time.Since(start).Round(time.Millisecond).String())
		local, err := render.FromSpec(context.Background(), os.DirFS(corpus("")), c.get("app").Spec, render.Inputs{Namespace: c.namespace, Name: "app"})
		Expect(err).NotTo(HaveOccurred())
		Expect(ref).To(Equal(local.Ref().String()), "the same files on a disk give the same render")
		c.expectSettled(objects)
		Expect(c.history("app")).To(HaveLen(1))
		c.delete("app")
		Expect(c.shards("app")).To(BeEmpty())
	},
		Entry("podinfo's kustomization", "podinfo-6.14.0/kustomize", 3),
		Entry("podinfo's plain manifests", "podinfo-6.14.0/deploy/webapp", 11),
		Entry("kube-prometheus", "kube-prometheus/manifests", 131),
		Entry("argo-cd", "argo-cd/manifests", 34),
	)
})
