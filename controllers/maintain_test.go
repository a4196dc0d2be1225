package controllers_test

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

var _ = Describe("What runs", func() {
	var w *world

	BeforeEach(func() { w = newWorld() })

	broken := map[string]string{"a.yaml": "broken: [\n"}
	refused := map[string]string{
		"a.yaml": configMap("a", "2"), "s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n",
	}
	for name, tc := range map[string]struct {
		breaks func()
		about  string // the condition
		says   string
	}{
		"the source is down":                   {func() { w.source.Fail(errors.New("no route to host")) }, v1alpha1.ConditionRendered, "False SourceFailed"},
		"the source does not render":           {func() { w.commit("v2", broken) }, v1alpha1.ConditionRendered, "False RenderFailed"},
		"the server refuses the new render":    {func() { w.commit("v2", refused) }, v1alpha1.ConditionApplied, "False DryRunFailed"},
		"the new render would delete too much": {func() { w.commit("v2", configMaps("b")) }, v1alpha1.ConditionApplied, "False PruneRefused"},
	} {
		It("is kept from drifting out of the store while "+name, func() {
			w.create("app", func(r *v1alpha1.Release) { r.Spec.PrunePolicy.MaxDeletes = new(intstr.FromInt32(0)) })
			applied := w.deploy("app", "1")
			tc.breaks()
			release := w.settle("app")
			Expect(condition(release, tc.about)).To(Equal(tc.says))
			Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty(), "nothing drifted")
			w.restart()
			w.change("a", "drifted")
			release = w.settle("app")
			Expect(w.value("a")).To(Equal("1"))
			Expect(condition(release, tc.about)).To(Equal(tc.says))
			Expect(condition(release, v1alpha1.ConditionReady)).To(Equal(tc.says))
			Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("True Succeeded"))
			Expect(release.Status.LastSuccessful).To(Equal(applied.Status.LastSuccessful))
			Expect(release.Status.LastAttempted).To(Equal(applied.Status.LastAttempted))
			Expect(w.history("app")).To(HaveLen(1))
			Expect(w.driftEvents()).To(HaveLen(1))
		})
	}

	It("is kept from drifting in Manual mode while a new render waits for its sync", func() {
		w.create("app", manual)
		w.commit("v1", configMaps("a"))
		w.settle("app")
		w.sync("app")
		w.settle("app")
		release := w.deploy("app", "2")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown WaitingForSync"))
		before := w.history("app")
		w.change("a", "drifted")
		release = w.settle("app")
		Expect(w.value("a")).To(Equal("one"))
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("Unknown WaitingForSync"))
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("True Succeeded"))
		Expect(w.history("app")).To(Equal(before))
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
		w.sync("app")
		w.settle("app")
		Expect(w.value("a")).To(Equal("2"))
	})

	It("is of the last commit that rendered as it is, whatever was kept in mind of it before", func() {
		w.create("app")
		w.commit("v1", configMaps("a"))
		w.settle("app")
		w.source.Fail(errors.New("no route to host"))
		w.settle("app")
		w.commit("v2", configMaps("a"))
		w.pause(time.Hour)
		Expect(w.settle("app").Status.LastSuccessful.Revision).To(Equal("v2"))
		w.pin("app", w.get("app").Status.LastSuccessful.RenderRef)
		w.commit("v3", configMaps("b"))
		w.pause(time.Hour)
		release := w.settle("app")
		Expect(release.Status.LastSuccessful.Revision).To(Equal("v2"))
		Expect(release.Status.LastAttempted.Revision).To(Equal("v2"))
	})

	It("is not fought over without end while the server refuses the new render", func() {
		w.create("app")
		w.deploy("app", "1")
		w.commit("v2", refused)
		w.settle("app")
		for range 4 {
			w.change("a", "drifted")
			w.pause(time.Second)
			w.pass("app")
		}
		Expect(w.value("a")).To(Equal("drifted"))
		w.pause(time.Minute)
		w.pass("app")
		Expect(w.value("a")).To(Equal("1"))
	})

	It("is left alone while the Release is suspended, whatever the source does", func() {
		w.create("app")
		w.deploy("app", "1")
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.Suspend = true })
		w.source.Fail(errors.New("no route to host"))
		w.settle("app")
		w.change("a", "drifted")
		w.settle("app")
		Expect(w.value("a")).To(Equal("drifted"))
	})

	It("is left alone while another render was begun, which the source may still have", func() {
		w.create("app")
		w.deploy("app", "1")
		w.commit("v2", map[string]string{"a.yaml": configMap("a", "2"), "web.yaml": deployment("web", "v1"), "z.yaml": inWave(1, configMap("z", "2"))})
		w.pass("app")
		w.source.Fail(errors.New("no route to host"))
		w.pass("app")
		Expect(w.value("a")).To(Equal("2"))
	})

	It("is left alone without a store that has it", func() {
		without := newWorldWithStore("")
		down := newWorld()
		for _, w := range []*world{without, down} {
			w.create("app")
			w.deploy("app", "1")
			w.restart()
			if w == down {
				w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Err: errors.New("connection refused")})
			}
			w.source.Fail(errors.New("no route to host"))
			w.settle("app")
			w.change("a", "drifted")
			release := w.settle("app")
			Expect(w.value("a")).To(Equal("drifted"))
			Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False SourceFailed"))
		}
		down.faults.Clear()
		down.pause(time.Minute)
		down.settle("app")
		Expect(down.value("a")).To(Equal("1"))
	})

	It("that cannot be put back is said beside what the source says", func() {
		w.create("app")
		w.deploy("app", "1")
		w.source.Fail(errors.New("no route to host"))
		w.settle("app")
		w.change("a", "drifted")
		w.edit("app", func(r *v1alpha1.Release) { r.Spec.ServiceAccountName = "without-rights" })
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("False SourceFailed"))
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
	})
})
