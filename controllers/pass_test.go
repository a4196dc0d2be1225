package controllers_test

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

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
		w := newWorldWithStore("") // with one, it is put back
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

	It("renders again what could not be read from the disk, though the source did not change", func() {
		w := newWorld()
		w.create("app")
		files := filesOf(map[string]string{"a.yaml": configMap("a", "one")})
		w.source.Set("v1", brokenDisk{files})
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("False RenderFailed"))
		Expect(message(release, v1alpha1.ConditionRendered)).To(ContainSubstring("cannot be read"))
		Expect(condition(release, v1alpha1.ConditionReconciling)).To(Equal("True RenderFailed"), "it is tried again by itself")
		w.source.Set("v1", files)
		Expect(condition(w.settle("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("counts, once all is applied, what was done in all passes since the render came", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", map[string]string{"a.yaml": inWave(0, aDeployment), "b.yaml": inWave(1, configMap("b", "one")), "c.yaml": inWave(2, configMap("c", "one"))})
		w.pass("app")
		Expect(w.events.All()).NotTo(ContainElement(HavePrefix("Normal Applied")))
		w.becomeHealthy("a")
		w.settle("app")
		Expect(w.events.All()).To(ContainElement(And(HavePrefix("Normal Applied"), HaveSuffix(": 3 created, 0 configured, 0 deleted"))))
		merge(w.live("v1", "ConfigMap", "b"), `{"data":{"key":"theirs"}}`)
		w.pass("app")
		Expect(w.events.All()).To(ContainElement(And(HavePrefix("Normal Applied"), HaveSuffix(": 0 created, 1 configured, 0 deleted"))))
	})

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

// brokenDisk holds files and gives none of them out.
type brokenDisk struct{ fs.FS }

func (d brokenDisk) Open(name string) (fs.File, error) {
	if name == "." {
		return d.FS.Open(name)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
}

func (d brokenDisk) ReadFile(name string) ([]byte, error) {
	return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EIO}
}
