package controllers_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

var _ = Describe("A bad render store", func() {
	DescribeTable("is named in a condition and an event, nothing is applied, and convoy goes on by itself when it is mended",
		func(fault faultstore.Fault, word string) {
			d := newDeployed()
			d.faults.Inject(fault)
			d.commit("next", map[string]string{"a.yaml": configMap("a", "next"), "b.yaml": configMap("b", "next")})
			result := d.pass("app")
			Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Minute)))
			d.expectRefused(v1alpha1.ConditionApplied, "False DeployFailed", "the render cannot be stored", d.namespace+"/app", word)
			d.faults.Clear()
			d.expectMended("next")
			Expect(d.value("b")).To(Equal("next"))
			Expect(d.history("app")).To(HaveLen(2))
		},
		Entry("one that answers errors", faultstore.Fault{Err: errors.New("the object store answered 500 InternalError")}, "500 InternalError"),
		Entry("one that answers errors to writes", faultstore.Fault{Op: renderstore.OpWrite, Err: errors.New("the object store answered 403 AccessDenied")}, "403 AccessDenied"),
		// An operation that hangs ends by its own deadline, which is no end of the pass.
		Entry("one that hangs", faultstore.Fault{Err: context.DeadlineExceeded}, "deadline exceeded"),
		Entry("one that answers half", faultstore.Fault{Effect: faultstore.Half, Err: errors.New("unexpected EOF")}, "unexpected EOF"),
	)

	It("that stores the render and loses its answer: nothing is applied, until it is stored for sure", func() {
		d := newDeployed()
		d.faults.Inject(faultstore.Fault{Op: renderstore.OpWrite, Key: "/blobs/", Effect: faultstore.LoseAnswer})
		d.commit("next", file("a.yaml", configMap("a", "next")))
		release := d.settle("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DeployFailed"))
		Expect(d.value("a")).To(Equal("good"))
		d.faults.Clear()
		d.expectMended("next")
		Expect(d.has("app", d.get("app").Status.LastSuccessful.RenderRef)).To(BeTrue())
	})

	DescribeTable("that fails after the apply: the apply stays successful, and the history is made up for", func(fault faultstore.Fault) {
		d := newDeployed()
		fault.Key = "/history/"
		d.faults.Inject(fault)
		d.commit("next", file("a.yaml", configMap("a", "next")))
		release := d.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(d.value("a")).To(Equal("next"))
		Expect(d.events.All()).To(ContainElement(HavePrefix("Warning HistoryFailed ")))
		d.faults.Clear()
		d.pass("app")
		Expect(d.history("app")).To(HaveLen(2))
		Expect(d.get("app").Status.ResolvedRetentionPolicy.HistoryCount).To(Equal(int32(2)))
	},
		Entry("with errors", faultstore.Fault{}),
		Entry("with errors to listings", faultstore.Fault{Op: renderstore.OpList}),
		Entry("with a deadline", faultstore.Fault{Err: context.DeadlineExceeded}),
	)

	It("that lists half: the history has each render once all the same", func() {
		d := newDeployed()
		d.faults.Inject(faultstore.Fault{Op: renderstore.OpList, Key: "/history/", Effect: faultstore.Half})
		d.clock.SetTime(d.clock.Now().Add(time.Hour))
		for range 3 {
			d.pass("app")
		}
		d.faults.Clear()
		entries, err := d.archive("app").History(context.Background())
		Expect(err).NotTo(HaveOccurred())
		Expect(entries).To(HaveLen(1))
		Expect(entries[0].SyncedAt).To(BeTemporally("<", d.clock.Now()), "the first apply counts")
	})
})
