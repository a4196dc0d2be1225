package observer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	services   = corev1.SchemeGroupVersion.WithKind("Service")
)

// service is the manifest of a Service with one port.
func service(port int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  selector: {app: web}\n  ports: [{port: %d}]\n", port)
}

// actions are the changes as "action kind name".
func actions(d subresources.ReleaseDiff) []string {
	actions := []string{}
	for _, change := range d.Changes {
		actions = append(actions, string(change.Action)+" "+change.Kind+" "+change.Name)
	}
	return actions
}

// changeOf is the change of the object of a name.
func changeOf(d subresources.ReleaseDiff, name string) subresources.ReleaseChange {
	GinkgoHelper()
	i := slices.IndexFunc(d.Changes, func(c subresources.ReleaseChange) bool { return c.Name == name })
	Expect(i).To(BeNumerically(">=", 0), "%s is not in the diff", name)
	return d.Changes[i]
}

// patched is what an object means after the patch of a change.
func patched(obj *unstructured.Unstructured, change subresources.ReleaseChange) map[string]any {
	GinkgoHelper()
	operations, err := json.Marshal(change.Patch)
	Expect(err).NotTo(HaveOccurred())
	patch, err := jsonpatch.DecodePatch(operations)
	Expect(err).NotTo(HaveOccurred())
	before, err := json.Marshal(obj.Object)
	Expect(err).NotTo(HaveOccurred())
	after, err := patch.Apply(before)
	Expect(err).NotTo(HaveOccurred())
	result := &unstructured.Unstructured{}
	Expect(result.UnmarshalJSON(after)).To(Succeed())
	return meaning(result)
}

// meaning is an object without what changes with every write.
func meaning(obj *unstructured.Unstructured) map[string]any {
	clean := obj.DeepCopy().Object
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(clean, "metadata", field)
	}
	return clean
}

// toManual lets new renders of the Release wait.
func (w *world) toManual() {
	GinkgoHelper()
	release := w.current()
	base := release.DeepCopy()
	manual(release)
	Expect(env.Client.Patch(context.Background(), release, client.MergeFrom(base))).To(Succeed())
	w.settle()
}

// sync asks for a sync, and lets convoy act on it.
func (w *world) sync() *v1alpha1.Release {
	GinkgoHelper()
	a := send(env.User, http.MethodPost, "/apis/"+subresources.GroupVersion.String()+"/namespaces/"+w.namespace+"/releases/app/sync", "{}")
	Expect(a.code).To(Equal(http.StatusCreated), a.message)
	return w.settle()
}

var _ = Describe("The diff", func() {
	It("of a Release in Manual mode with a new commit shows exactly what the sync then changes, and nothing is stored for it", func() {
		w := newWorld()
		w.create()
		first := w.deploy(map[string]string{
			"a.yaml": configMap("a", "one"), "gone.yaml": configMap("gone", "x"), "same.yaml": configMap("same", "x"), "web.yaml": service(80),
		})
		w.toManual()
		w.commit(map[string]string{
			"a.yaml": configMap("a", "two"), "new.yaml": configMap("new", "x"), "same.yaml": configMap("same", "x"), "web.yaml": service(81),
		})
		release, stored, a, web := w.current(), w.stored(), w.object(configMaps, "a"), w.object(services, "web")

		var d subresources.ReleaseDiff
		Eventually(func() []string { d = diffOf(w.admin("diff")); return actions(d) }).WithTimeout(10 * time.Second).Should(Equal([]string{
			"update ConfigMap a", "delete ConfigMap gone", "create ConfigMap new", "update Service web",
		}))
		Expect(w.stored()).To(Equal(stored))
		Expect(w.current().ResourceVersion).To(Equal(release.ResourceVersion))
		Expect(d.From.RenderRef).To(Equal(first))
		Expect(d.From.Summary).To(ContainSubstring("@sha1:"))
		Expect(d.To.Origin).To(Equal(subresources.DiffFromSource))
		Expect(d.To.Summary).To(And(HavePrefix(w.url+"@"), Not(Equal(d.From.Summary))))
		Expect(changeOf(d, "a").Unified).To(And(
			HavePrefix("--- live\n+++ "+d.To.RenderRef[len("sha256:"):][:12]+"\n"), ContainSubstring("\n-  key: one\n+  key: two\n"),
		))
		Expect(changeOf(d, "gone").Patch).To(BeNil())
		Expect(changeOf(d, "gone").Unified).To(ContainSubstring("\n-  key: x\n"))

		release = w.sync()
		Expect(release.Status.LastSuccessful.RenderRef).To(Equal(d.To.RenderRef))
		Expect(meaning(w.object(configMaps, "a"))).To(Equal(patched(a, changeOf(d, "a"))))
		Expect(meaning(w.object(services, "web"))).To(Equal(patched(web, changeOf(d, "web"))))
		Expect(w.object(configMaps, "gone")).To(BeNil())
		Expect(w.object(configMaps, "new")).NotTo(BeNil())
		d = diffOf(w.admin("diff"))
		Expect(d.Changes).To(BeEmpty())
		Expect(d.From.RenderRef).To(Equal(d.To.RenderRef))
	})

	It("of a stored render shows what a rollback changes; the rollback is done, and the diff is empty", func() {
		w := newWorld()
		w.create()
		first := w.deploy(map[string]string{"a.yaml": configMap("a", "one"), "old.yaml": configMap("old", "x")})
		second := w.deploy(map[string]string{"a.yaml": configMap("a", "two")})
		before := w.object(configMaps, "a")
		d := diffOf(w.admin("diff?render=" + first))
		Expect(d.From.RenderRef).To(Equal(second))
		Expect(d.To).To(And(HaveField("RenderRef", first), HaveField("Origin", subresources.DiffFromStore), HaveField("Summary", ContainSubstring("@sha1:"))))
		Expect(actions(d)).To(Equal([]string{"update ConfigMap a", "create ConfigMap old"}))

		w.pin(first)
		pinned := diffOf(w.admin("diff"))
		Expect(pinned.To.Origin).To(Equal(subresources.DiffFromPin))
		Expect(pinned.Changes).To(Equal(d.Changes))
		w.settle()
		Expect(meaning(w.object(configMaps, "a"))).To(Equal(patched(before, changeOf(d, "a"))))
		Expect(w.object(configMaps, "old")).NotTo(BeNil())
		Expect(diffOf(w.admin("diff")).Changes).To(BeEmpty())
		Expect(diffOf(w.admin("diff?render=" + first)).Changes).To(BeEmpty())

		By("still showing the pinned render while the source is down")
		Expect(git.Stop()).To(Succeed())
		DeferCleanup(git.Resume)
		Expect(diffOf(w.admin("diff")).To.Origin).To(Equal(subresources.DiffFromPin))
	})

	It("shows what somebody changed and deleted by hand", func() {
		w := newWorld()
		w.create()
		w.deploy(map[string]string{"a.yaml": configMap("a", "one"), "b.yaml": configMap("b", "one")})
		changed := w.object(configMaps, "a")
		Expect(env.Client.Patch(context.Background(), changed, client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"mine","other":"x"}}`)))).To(Succeed())
		Expect(env.Client.Delete(context.Background(), w.object(configMaps, "b"))).To(Succeed())
		d := diffOf(w.admin("diff"))
		Expect(actions(d)).To(Equal([]string{"update ConfigMap a", "create ConfigMap b"}))
		Expect(changeOf(d, "a").Patch).To(HaveLen(1))
		Expect(changeOf(d, "a").Patch[0].Path).To(Equal("/data/key"))
	})

	It("sees a commit that was pushed a moment ago", func() {
		w := newWorld()
		w.create(manual)
		w.commit(map[string]string{"a.yaml": configMap("a", "one")})
		Expect(actions(diffOf(w.admin("diff")))).To(Equal([]string{"create ConfigMap a"}))
		w.commit(map[string]string{"b.yaml": configMap("b", "one")})
		started := time.Now()
		Eventually(func() []string { return actions(diffOf(w.admin("diff"))) }).WithTimeout(5 * time.Second).WithPolling(50 * time.Millisecond).
			Should(Equal([]string{"create ConfigMap b"}))
		AddReportEntry("seen after", time.Since(started).String())
	})

	It("of a Release that is being deleted shows what becomes of its objects", func() {
		w := newWorld()
		w.create()
		w.deploy(map[string]string{"a.yaml": configMap("a", "one")})
		Expect(env.Client.Delete(context.Background(), w.current())).To(Succeed())
		a := w.admin("diff")
		Expect(actions(diffOf(a))).To(Equal([]string{"delete ConfigMap a"}))
		Expect(diffOf(a).To).To(BeZero())
		Expect(a.header.Get("Warning")).To(ContainSubstring("is being deleted"))
	})

	It("of large objects takes no long time", func() {
		w := newWorld()
		w.create()
		var up, down []string
		for i := range 25_000 {
			up = append(up, fmt.Sprintf("      line %d of a long text\n", i%5_000))
		}
		down = slices.Clone(up)
		slices.Reverse(down)
		const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata:\n  key: |\n"
		w.deploy(map[string]string{"a.yaml": head + strings.Join(up, "")})
		w.toManual()
		w.commit(map[string]string{"a.yaml": head + strings.Join(down, "")})
		started := time.Now()
		Eventually(func() []string { return actions(diffOf(w.admin("diff"))) }).WithTimeout(20 * time.Second).Should(Equal([]string{"update ConfigMap large"}))
		AddReportEntry("took", time.Since(started).String())
	})
})

var _ = Describe("Without a render store", func() {
	It("the history and stored renders cannot be had, and the answer says how to set one", func() {
		w := newWorldWithStore("")
		w.create()
		for _, what := range []string{"history", "diff?render=" + refA, "render?render=" + refA} {
			a := w.admin(what)
			Expect(a.code).To(Equal(http.StatusServiceUnavailable), what)
			Expect(a.message).To(And(ContainSubstring("no render store is configured"), ContainSubstring("--render-store-url")))
		}
	})

	It("the diff compares with the source, also before the first sync of a Release in Manual mode, and with a pin that the source still renders", func() {
		w := newWorldWithStore("")
		w.commit(map[string]string{"a.yaml": configMap("a", "one")})
		w.create(manual)
		w.settle()
		d := diffOf(w.admin("diff"))
		Expect(d.From).To(BeZero())
		Expect(d.To.Origin).To(Equal(subresources.DiffFromSource))
		Expect(actions(d)).To(Equal([]string{"create ConfigMap a"}))
		w.sync()
		Expect(diffOf(w.admin("diff")).Changes).To(BeEmpty())

		w.pin(d.To.RenderRef)
		Expect(diffOf(w.admin("diff")).To).To(And(HaveField("Origin", subresources.DiffFromPin), HaveField("RenderRef", d.To.RenderRef)))

		By("warning of a pin that cannot be had, and comparing with the source")
		w.commit(map[string]string{"a.yaml": configMap("a", "two")})
		Eventually(func(g Gomega) {
			a := w.admin("diff")
			g.Expect(diffOf(a).To.Origin).To(Equal(subresources.DiffFromSource))
			g.Expect(a.header.Get("Warning")).To(And(ContainSubstring("which cannot be had"), ContainSubstring("no render store is configured")))
		}).WithTimeout(10 * time.Second).Should(Succeed())
	})
})
