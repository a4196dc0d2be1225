package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// writeStatus writes the status of a Release at a rate, until the context ends. It returns how often it did.
func writeStatus(ctx context.Context, release *v1alpha1.Release, every time.Duration) int {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for written := 0; ; written++ {
		select {
		case <-ctx.Done():
			return written
		case <-ticker.C:
		}
		patch := fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, written+1)
		err := env.Client.Status().Patch(context.WithoutCancel(ctx), release.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
		Expect(err).NotTo(HaveOccurred())
	}
}

var _ = Describe("A pin in a race", func() {
	var namespace string
	BeforeEach(func() { namespace = env.Namespace(GinkgoTB()) })

	DescribeTable("with the status is no conflict for a caller who named no resourceVersion", func(every time.Duration) {
		release := applied(namespace)
		alice := pinner(namespace, "alice")
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		written := make(chan int, 1)
		go func() {
			defer GinkgoRecover()
			written <- writeStatus(ctx, release, every)
		}()
		pins := 0
		for ; ctx.Err() == nil; pins++ {
			var a answer
			switch pins % 3 {
			case 0:
				a = alice.put(release, pinOn(release, refB))
			case 1:
				a = alice.patch(release, types.MergePatchType, `{"spec":{"renderRef":"`+refA+`"}}`)
			case 2:
				a = alice.remove(release, nil)
			}
			Expect(a.code).To(Equal(http.StatusOK), "pin %d: %v", pins, a.err)
		}
		writes := <-written
		AddReportEntry("race", fmt.Sprintf("%d pins among %d writes of the status", pins, writes))
		Expect(pins).To(BeNumerically(">", 0))
		Expect(writes).To(BeNumerically(">", 10))
		Expect(current(release).Status.ObservedGeneration).To(BeEquivalentTo(writes), "no write of the status is lost")
	},
		Entry("50 times a second", 20*time.Millisecond),
		Entry("as fast as it can be written", time.Microsecond),
	)

	It("with another one that knows the same state: one wins, the other is told", func() {
		release := applied(namespace)
		users := []caller{pinner(namespace, "alice"), pinner(namespace, "bob")}
		for range 20 {
			known := current(release).ResourceVersion
			codes := atOnce(users, func(user int, c caller) int {
				body := pinOn(release, []string{refA, refB}[user])
				body.ResourceVersion = known
				return c.put(release, body).code
			})
			Expect(codes).To(ConsistOf(http.StatusOK, http.StatusConflict))
		}
	})

	It("with another one that names no state: the last one wins, and an event tells of the other", func() {
		release := applied(namespace)
		names := []string{"alice", "bob"}
		users := []caller{pinner(namespace, "alice"), pinner(namespace, "bob")}
		Expect(users[0].put(release, pinOn(release, refA)).code).To(Equal(http.StatusOK))
		for round := 1; round <= 10; round++ {
			codes := atOnce(users, func(user int, c caller) int {
				body := pinOn(release, refB)
				body.Spec.Reason = fmt.Sprintf("round %d by %s", round, names[user])
				return c.put(release, body).code
			})
			Expect(codes).To(Equal([]int{http.StatusOK, http.StatusOK}))
		}
		var notes []string
		for _, event := range eventsOf(release) {
			Expect(event.Reason).To(Equal(v1alpha1.EventPinReplaced))
			notes = append(notes, event.Note)
		}
		Expect(notes).To(HaveLen(20), "every pin replaced one")
		last := current(release).Pin.Reason
		for round := 1; round <= 10; round++ {
			for _, name := range names {
				reason := fmt.Sprintf("round %d by %s", round, name)
				if reason != last {
					Expect(notes).To(ContainElement(MatchRegexp("; before, " + name + " pinned .*: " + reason + "$")))
				}
			}
		}
	})

	It("with an unpin: what is written is one of the two, whole", func() {
		release := applied(namespace)
		users := []caller{pinner(namespace, "alice"), pinner(namespace, "bob")}
		for range 10 {
			codes := atOnce(users, func(user int, c caller) int {
				if user == 0 {
					return c.put(release, pinOn(release, refB)).code
				}
				return c.remove(release, nil).code
			})
			Expect(codes).To(Equal([]int{http.StatusOK, http.StatusOK}))
			if pin := current(release).Pin; pin != nil {
				Expect(pin).To(And(HaveField("PinnedBy", "alice"), HaveField("RenderRef", refB), HaveField("Reason", "INC-1234")))
			}
		}
	})
})

// atOnce lets all callers do something at the same time.
func atOnce(callers []caller, do func(int, caller) int) []int {
	GinkgoHelper()
	codes := make([]int, len(callers))
	start := make(chan struct{})
	var group sync.WaitGroup
	for i, c := range callers {
		group.Go(func() {
			defer GinkgoRecover()
			<-start
			codes[i] = do(i, c)
		})
	}
	close(start)
	group.Wait()
	return codes
}
