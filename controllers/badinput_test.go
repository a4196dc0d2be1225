package controllers_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// deployed is a world in which Release "app" runs the ConfigMap "a", before something goes wrong.
type deployed struct {
	*world
	storeDir string
	before   facts
}

// facts are what must stay as it is when something goes wrong.
type facts struct {
	Objects    map[string]string // what is in the namespace, with its resource version
	Stored     []string          // the files of the render store
	Successful *v1alpha1.RenderRecord
}

// newDeployed deploys what the world's source holds, after the changes.
func newDeployed(change ...func(*world)) *deployed {
	GinkgoHelper()
	d := &deployed{storeDir: GinkgoTB().TempDir()}
	d.world = newWorldWithStore("file://" + filepath.ToSlash(d.storeDir) + "?no_tmp_dir=true")
	d.commit("good", map[string]string{"a.yaml": configMap("a", "good")})
	for _, c := range change {
		c(d.world)
	}
	if d.find("app") == nil {
		d.create("app")
	}
	release := d.settle("app")
	Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
	d.before = d.facts()
	return d
}

func (d *deployed) facts() facts {
	GinkgoHelper()
	f := facts{Objects: map[string]string{}, Successful: d.get("app").Status.LastSuccessful}
	for _, gvk := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret"),
		corev1.SchemeGroupVersion.WithKind("Service"), v1alpha1.GroupVersion.WithKind("Inventory"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		Expect(env.Client.List(context.Background(), list, client.InNamespace(d.namespace), client.HasLabels{v1alpha1.ReleaseNameLabel})).To(Succeed())
		for _, obj := range list.Items {
			f.Objects[gvk.Kind+" "+obj.Name] = obj.ResourceVersion
		}
	}
	Expect(filepath.WalkDir(d.storeDir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			f.Stored = append(f.Stored, path)
		}
		return err
	})).To(Succeed())
	return f
}

// expectRefused settles, and expects that a condition says why in these words, and that nothing changed.
func (d *deployed) expectRefused(name, says string, words ...string) {
	GinkgoHelper()
	release := d.settle("app")
	text := message(release, name)
	Expect(condition(release, name)).To(Equal(says), text)
	for _, word := range words {
		Expect(text).To(ContainSubstring(word))
	}
	Expect(len(text)).To(BeNumerically("<=", 4096))
	Expect(condition(release, v1alpha1.ConditionReady)).To(Equal(says))
	Expect(d.facts()).To(Equal(d.before))
	Expect(d.events.All()).To(ContainElement(HavePrefix("Warning " + strings.Fields(says)[1] + " ")))
}

// expectMended lets the interval pass, and expects that the ConfigMap "a" gets a value by one pass.
func (d *deployed) expectMended(value string) {
	GinkgoHelper()
	d.clock.SetTime(d.clock.Now().Add(d.get("app").Spec.Interval.Duration))
	d.pass("app")
	release := d.get("app")
	Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
	Expect(d.value("a")).To(Equal(value))
}

// badInput is what a source holds that convoy must refuse, beside a change of the ConfigMap "a" that is fine.
type badInput struct {
	files     map[string]string
	condition string
	says      string
	words     []string // that the message must have
}

func notRendered(files map[string]string, words ...string) badInput {
	return badInput{files, v1alpha1.ConditionRendered, "False RenderFailed", words}
}

func notTaken(files map[string]string, words ...string) badInput {
	return badInput{files, v1alpha1.ConditionApplied, "False DryRunFailed", words}
}

// file is a source of one more file.
func file(name, content string) map[string]string { return map[string]string{name: content} }

const service = "apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {ports: [{port: %d}]}\n"

var _ = Describe("Bad input", func() {
	DescribeTable("is named in a condition and an event, changes nothing, and is forgotten once it is mended", func(bad badInput) {
		d := newDeployed()
		bad.files["a.yaml"] = configMap("a", "bad")
		d.commit("bad", bad.files)
		d.expectRefused(bad.condition, bad.says, bad.words...)
		Expect(message(d.get("app"), bad.condition)).NotTo(ContainSubstring("hunter2"))
		Expect(strings.Join(d.events.All(), "\n")).NotTo(ContainSubstring("hunter2"))
		d.commit("mended", map[string]string{"a.yaml": configMap("a", "mended")})
		d.expectMended("mended")
	},
		Entry("broken YAML", notRendered(file("deploy/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: b\n"),
			"deploy/b.yaml", "line 4")),
		Entry("broken YAML that holds a secret", notRendered(file("b.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\nstringData: {password: \"hunter2}\n"),
			"b.yaml", "line")),
		Entry("broken JSON", notRendered(file("b.json", "{\"apiVersion\": \"v1\",\n\"kind\": ConfigMap}"), "b.json", "line 2")),
		Entry("text that is no object", notRendered(file("b.yaml", "hello\n"), "b.yaml", "not a Kubernetes object")),
		Entry("an object without a kind", notRendered(file("b.yaml", "apiVersion: v1\nmetadata: {name: b}\n"), "b.yaml", "kind")),
		Entry("an object without a name", notRendered(file("b.yaml", "apiVersion: v1\nkind: ConfigMap\n"), "b.yaml", "name")),
		Entry("an object twice", notRendered(file("b.yaml", configMap("a", "twice")), "ConfigMap a is defined twice", "a.yaml", "b.yaml")),
		Entry("a broken kustomization", notRendered(file("kustomization.yaml", "resources: [a.yaml, missing.yaml]\n"), "missing.yaml")),
		Entry("a kustomization that reaches out", notRendered(file("kustomization.yaml", "resources: [../../etc/passwd]\n"), "../../etc/passwd")),
		Entry("a kustomization that wants the network", notRendered(file("kustomization.yaml", "resources: [\"https://example.com/app.yaml\"]\n"), "https://example.com/app.yaml")),
		Entry("a render of 50 MB", notRendered(megabytes(50), "32 MiB", "split the Release")),
		Entry("20,001 objects", notRendered(file("b.yaml", "apiVersion: v1\nkind: ConfigMapList\nitems:\n"+items(20_000)), "limit of 20000", "split the Release")),

		Entry("a kind that is not there", notTaken(file("b.yaml", "apiVersion: shop.example.org/v1\nkind: Gadget\nmetadata: {name: b}\n"),
			"Gadget.shop.example.org", "does not serve", "CustomResourceDefinition")),
		Entry("a version that is not there", notTaken(file("b.yaml", "apiVersion: apps/v1beta9\nkind: Deployment\nmetadata: {name: b}\n"),
			"Deployment.apps", "v1beta9")),
		Entry("objects that the server rejects", notTaken(file("b.yaml", fmt.Sprintf(service, "b", 99999)+"---\n"+fmt.Sprintf(service, "c", 0)),
			"/b: ", "spec.ports[0].port", "/c: ")),
		Entry("a name that the server rejects", notTaken(file("b.yaml", configMap("b_B", "x")), "ConfigMap", "b_B", "metadata.name")),
		Entry("a field that is not there", notTaken(file("b.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {prots: []}\n"), "/b: ", "prots")),
		Entry("a namespace that is not there", notTaken(file("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: nowhere}\n"),
			"ConfigMap nowhere/b", "namespaces \"nowhere\" not found")),
		Entry("a wave that is no number", notTaken(file("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {convoy.dev/sync-wave: first}}\n"),
			"ConfigMap b", "convoy.dev/sync-wave", "first")),
		Entry("a prune annotation that means nothing", notTaken(file("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {convoy.dev/prune: never}}\n"),
			"ConfigMap b", "convoy.dev/prune", "never")),
		Entry("a force annotation that means nothing", notTaken(file("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {convoy.dev/force: always}}\n"),
			"ConfigMap b", "convoy.dev/force", "always")),
		Entry("a Secret whose data is no base64", notTaken(file("b.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\ndata: {password: hunter2!}\n"),
			"Secret b", "data.password", "stringData")),
		Entry("a Secret that the server rejects", notTaken(file("b.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\ntype: kubernetes.io/tls\nstringData: {tls.key: hunter2}\n"),
			"/b: ", "tls.crt")),
		Entry("10,000 objects that are wrong", notTaken(file("b.yaml", "apiVersion: v1\nkind: ConfigMapList\nitems:\n"+
			strings.ReplaceAll(items(10_000), "}}", ", annotations: {convoy.dev/sync-wave: first}}}")), "ConfigMap cm-00000", "ConfigMap cm-00009")),
	)

	It("that has an object with and without its namespace is an error too", func() {
		d := newDeployed()
		d.commit("bad", map[string]string{"a.yaml": configMap("a", "bad"), "b.yaml": strings.Replace(configMap("a", "bad"), "name: a", "name: a\n  namespace: "+d.namespace, 1)})
		d.expectRefused(v1alpha1.ConditionApplied, "False DryRunFailed", "ConfigMap", "/a: ", "in the render twice")
		d.commit("mended", file("a.yaml", configMap("a", "mended")))
		d.expectMended("mended")
	})

	It("that holds no objects is no order to delete everything", func() {
		d := newDeployed()
		d.commit("bad", file("README.md", "# App\n"))
		d.expectRefused(v1alpha1.ConditionRendered, "False RenderFailed", "it has no objects", "spec.allowEmpty")
		d.commit("mended", file("a.yaml", configMap("a", "mended")))
		d.expectMended("mended")
	})
})

// megabytes are files that hold this many.
func megabytes(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%d.json", i)] = fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big-%d"}, "data": {"key": %q}}`,
			i, strings.Repeat("x", 1<<20))
	}
	return files
}

// items are the items of a list of ConfigMaps, cm-00000 and so on.
func items(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "- {metadata: {name: cm-%05d}}\n", i)
	}
	return list.String()
}
