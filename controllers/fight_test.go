package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("A fight over an object", func() {
	var w *world
	operator := func() { patched("operator", `{"data":{"key":"theirs"}}`)(w.live("v1", "ConfigMap", "a")) }
	after := func(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }
	// strike lets the operator write and a pass answer, and says who won.
	strike := func(d time.Duration) string {
		GinkgoHelper()
		after(d)
		operator()
		w.pass("app")
		return w.value("a")
	}

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours"), "b.yaml": configMap("b", "ours")})
		w.settle("app")
		for range 3 {
			Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
			Expect(strike(10 * time.Second)).To(Equal("ours"))
		}
	})

	It("is said, with object, manager, field and what to do", func() {
		release := w.get("app")
		for _, name := range []string{v1alpha1.ConditionApplied, v1alpha1.ConditionReady} {
			Expect(condition(release, name)).To(Equal("False Contested"))
		}
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("True Succeeded"))
		Expect(condition(release, v1alpha1.ConditionStalled)).To(Equal("True Contested"))
		said := And(ContainSubstring("ConfigMap "+w.namespace+"/a was changed by operator (data.key)"),
			ContainSubstring("stop the other"), ContainSubstring(v1alpha1.IgnoreDriftAnnotation))
		Expect(message(release, v1alpha1.ConditionApplied)).To(said)
		Expect(w.events.All()).To(ContainElement(And(HavePrefix("Warning Contested "), said)))
	})

	It("is slowed down: the pauses double, and a pass is asked for when one ends", func() {
		for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			Expect(strike(pause/2)).To(Equal("theirs"), "half the pause of %s is over", pause)
			Expect(w.pass("app").RequeueAfter).To(BeNumerically("~", pause/2, 2*time.Second))
			after(pause / 2)
			w.pass("app")
			Expect(w.value("a")).To(Equal("ours"), "the pause of %s is over", pause)
		}
		Expect(w.get("app").Status.Conditions).To(ContainElement(HaveField("Reason", "Contested")))
		announced := 0
		for _, event := range w.events.All() {
			if reason := "Warning Contested "; len(event) > len(reason) && event[:len(reason)] == reason {
				announced++
			}
		}
		Expect(announced).To(Equal(1), "it is said once")
	})

	It("does not change what is done for other objects", func() {
		operator()
		merge(w.live("v1", "ConfigMap", "b"), `{"data":{"key":"theirs"}}`)
		w.pass("app")
		Expect(w.value("a")).To(Equal("theirs"))
		Expect(w.value("b")).To(Equal("ours"))
	})

	It("ends when the object stays as it is for ten minutes", func() {
		after(9 * time.Minute)
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionApplied)).To(Equal("False Contested"))
		Expect(w.pass("app").RequeueAfter).To(BeNumerically("<=", time.Minute+2*time.Second))
		after(time.Minute)
		w.pass("app")
		Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("ends when somebody asks for a sync", func() {
		Expect(strike(time.Second)).To(Equal("theirs"))
		w.sync("app")
		w.pass("app")
		Expect(w.value("a")).To(Equal("ours"))
		Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("ends with another render", func() {
		Expect(strike(time.Second)).To(Equal("theirs"))
		w.commit("two", map[string]string{"a.yaml": configMap("a", "ours"), "b.yaml": configMap("b", "two")})
		w.pass("app")
		Expect(w.value("a")).To(Equal("ours"))
		Expect(condition(w.get("app"), v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
	})

	It("ends with the deletion of the Release", func() {
		Expect(strike(time.Second)).To(Equal("theirs"))
		w.delete("app")
		Expect(w.live("v1", "ConfigMap", "a")).To(BeNil())
	})
})

var _ = Describe("A controller that writes against convoy without end", func() {
	It("is left alone after the third time", func() {
		w := newWorld()
		w.watch()
		w.commit("one", map[string]string{"a.yaml": configMap("a", "ours")})
		w.create("app")
		w.ready("app")
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		DeferCleanup(func() { cancel(); <-ended })
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				obj := w.live("v1", "ConfigMap", "a").DeepCopy()
				patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"theirs"}}`))
				_ = env.Client.Patch(ctx, obj, patch, client.FieldOwner("operator")) // the end breaks one off
				time.Sleep(50 * time.Millisecond)
			}
		}()
		Eventually(func() string { return condition(w.get("app"), v1alpha1.ConditionApplied) }).WithTimeout(30 * time.Second).Should(Equal("False Contested"))
		Expect(w.drifts("changed")).To(BeEquivalentTo(3))
		Eventually(func() string { return w.value("a") }).Should(Equal("theirs"))
		Consistently(func() string { return w.value("a") }).WithTimeout(3 * time.Second).Should(Equal("theirs"))
		Expect(w.drifts("changed")).To(BeEquivalentTo(3))
	})
})
