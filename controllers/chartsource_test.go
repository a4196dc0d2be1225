package controllers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// chartFolder is a chart with subcharts, hooks of every kind, a test, a CRD, lookup and a schema of its values.
const chartFolder = "../render/testdata/chart/app"

// packaged is the archive that helm package makes of the folder, changed.
func packaged(version string, change func(*chart.Chart)) []byte {
	GinkgoHelper()
	c, err := loader.LoadDir(filepath.FromSlash(chartFolder))
	Expect(err).NotTo(HaveOccurred())
	c.Metadata.Version = version
	change(c)
	name, err := chartutil.Save(c, GinkgoTB().TempDir())
	Expect(err).NotTo(HaveOccurred())
	archive, err := os.ReadFile(name)
	Expect(err).NotTo(HaveOccurred())
	return archive
}

// charts is a place that charts are published in.
type charts struct {
	url      string
	secret   string // a manifest with the credentials; empty without
	publish  func(version string, change func(*chart.Chart))
	takeBack func(version string)
}

// chartRepository is one over HTTP.
func chartRepository() charts {
	GinkgoHelper()
	server, published := serveArchives(), map[string]string{}
	index := func() {
		var entries strings.Builder
		for version, digest := range published {
			fmt.Fprintf(&entries, "  - {apiVersion: v2, name: app, version: %s, digest: %s, urls: [app-%s.tgz]}\n", version, strings.TrimPrefix(digest, "sha256:"), version)
		}
		server.put("/index.yaml", []byte("apiVersion: v1\nentries:\n  app:\n"+entries.String()))
	}
	return charts{url: server.URL, publish: func(version string, change func(*chart.Chart)) {
		GinkgoHelper()
		published[version] = server.put("/app-"+version+".tgz", packaged(version, change))
		index()
	}, takeBack: func(version string) {
		delete(published, version)
		index()
	}}
}

// chartRegistry is an OCI registry, which has charts as helm push stores them.
func chartRegistry() charts {
	GinkgoHelper()
	server := newRegistry()
	return charts{
		url: "oci://" + server.host() + "/charts", secret: server.secret(),
		publish: func(version string, change func(*chart.Chart)) {
			GinkgoHelper()
			server.push("charts/app", version, "application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart.content.v1.tar+gzip", packaged(version, change))
		},
		takeBack: func(version string) { server.untag("charts/app", version) },
	}
}

var _ = Describe("A chart that is published", Ordered, func() {
	BeforeAll(func() {
		clusterOfItsOwn()
		definition, err := os.ReadFile(filepath.FromSlash(chartFolder + "/crds/widgets.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(env.Client.Create(context.Background(), object(string(definition)))).To(Succeed())
		Eventually(notEstablished).WithTimeout(time.Minute).Should(BeEmpty())
		Expect(env.Client.Create(context.Background(), object("apiVersion: v1\nkind: Secret\nmetadata: {name: other-tenant, namespace: kube-system}\n"))).To(Succeed())
	})

	version := func(appVersion string) func(*chart.Chart) {
		return func(c *chart.Chart) { c.Metadata.AppVersion = appVersion }
	}
	broken := func(c *chart.Chart) {
		c.Templates = append(c.Templates, &common.File{Name: "templates/broken.yaml", Data: []byte(`{{ fail "this version is broken" }}`)})
	}
	stricter := func(c *chart.Chart) { c.Schema = []byte(`{"properties": {"replicas": {"maximum": 1}}}`) }

	DescribeTable("is deployed with its hooks, followed through its versions, and left as it is by a bad one", func(place func() charts) {
		w, charts := newWorld(), place()
		w.controller.Fetcher = w.realFetcher()
		charts.publish("1.2.3", version("9"))
		charts.publish("2.0.0", broken)
		source := &v1alpha1.HelmSource{URL: charts.url, Chart: "app", Version: ">=1.2.0 <2.0.0"}
		if charts.secret != "" {
			w.asUser("user", charts.secret)
			source.SecretRef = &v1alpha1.LocalObjectReference{Name: "registry"}
		}
		w.create("app", func(r *v1alpha1.Release) {
			r.Spec.Source = v1alpha1.Source{Helm: source}
			r.Spec.Render.Helm = &v1alpha1.HelmRender{ReleaseName: "my", Values: &apiextensionsv1.JSON{Raw: []byte(`{"hooks": true, "replicas": 2}`)}}
		})
		image := func() string {
			GinkgoHelper()
			deployments := w.deploymentsOf("app")
			Expect(deployments).To(HaveLen(1))
			return deployments[0].Spec.Template.Spec.Containers[0].Image
		}
		// next is the version that a later look at the repository finds.
		next := func() *v1alpha1.Release {
			w.pause(10 * time.Minute)
			w.pass("app")
			return w.get("app")
		}

		var order []string
		requests := during(func() { order = w.rollOut("True Succeeded") })
		Expect(order).To(HaveLen(13))
		Expect(order[:5]).To(Equal([]string{"patch pre-install", "end pre-install", "patch pre-install-pre-upgrade", "end pre-install-pre-upgrade", "patch widgets.example.com"}))
		Expect(order[5:10]).To(ConsistOf("patch my-app", "patch my-app", "patch my-cache", "patch my-second", "patch twice"))
		Expect(order[10:]).To(Equal([]string{"heal my-app", "patch post-install", "end post-install"}))
		Expect(requests).NotTo(ContainElement(HaveField("RequestURI", ContainSubstring("/kube-system/secrets"))), "lookup finds nothing, and nobody looks")
		release := w.get("app")
		Expect(release.Status.LastSuccessful.Revision).To(MatchRegexp("^1.2.3@sha256:[0-9a-f]{64}$"))
		files := os.DirFS(filepath.Dir(filepath.FromSlash(chartFolder)))
		in, err := w.controller.Inputs.Read(context.Background(), release, files)
		Expect(err).NotTo(HaveOccurred())
		local, err := render.FromSpec(context.Background(), files, release.Spec, in)
		Expect(err).NotTo(HaveOccurred())
		Expect(release.Status.LastSuccessful.RenderRef).To(Equal(local.Ref().String()), "the folder gives the same render as its archive")
		Expect(w.configMap("my-app").Data).To(And(HaveKeyWithValue("found", "true"), HaveKeyWithValue("widgets", "true"), HaveKeyWithValue("host", "")))
		Expect(w.live("v1", "Pod", "test")).To(BeNil())
		Expect(image()).To(Equal("example.com/app:9"))

		By("a newer version in the range")
		charts.publish("1.3.0", version("10"))
		w.pause(10 * time.Minute)
		Expect(w.rollOut("True Succeeded")).To(HaveExactElements(
			"delete pre-install-pre-upgrade", "patch pre-install-pre-upgrade", "end pre-install-pre-upgrade", "patch pre-upgrade", "end pre-upgrade",
			"patch my-app", "heal my-app", "patch post-upgrade", "end post-upgrade",
		))
		release = w.get("app")
		Expect(release.Status.LastSuccessful.Revision).To(HavePrefix("1.3.0@sha256:"))
		Expect(image()).To(Equal("example.com/app:10"))

		By("bad versions, which leave what runs")
		good := release.Status.LastSuccessful
		for version, tc := range map[string]struct {
			change func(*chart.Chart)
			says   string
		}{"1.4.0": {broken, "this version is broken"}, "1.5.0": {stricter, "the values of chart app are not what its values.schema.json allows"}} {
			charts.publish(version, tc.change)
			release = next()
			Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("False RenderFailed"))
			Expect(message(release, v1alpha1.ConditionRendered)).To(ContainSubstring(tc.says))
			Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("True Succeeded"))
			Expect(release.Status.LastSuccessful).To(Equal(good))
			Expect(image()).To(Equal("example.com/app:10"))
			charts.takeBack(version)
		}
		Expect(condition(next(), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(w.history("app")).To(HaveLen(2))

		By("the good version is taken back too")
		charts.takeBack("1.3.0")
		w.pause(10 * time.Minute)
		w.rollOut("True Succeeded")
		Expect(w.get("app").Status.LastSuccessful.Revision).To(HavePrefix("1.2.3@sha256:"))
		Expect(image()).To(Equal("example.com/app:9"))

		By("the deletion, with its hooks")
		remove(w.get("app"))
		for _, hook := range []string{"pre-delete", "post-delete"} {
			Eventually(func() bool { w.pass("app"); return w.isRunning(hook) }).WithTimeout(20*time.Second).Should(BeTrue(), hook)
			w.end(hook, true)
		}
		Eventually(func() *v1alpha1.Release { w.pass("app"); return w.find("app") }).WithTimeout(20 * time.Second).Should(BeNil())
	},
		Entry("in a chart repository", chartRepository),
		Entry("in a registry", chartRegistry),
	)
})
