package apiserver_test

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("A sync", func() {
	var namespace string
	var alice caller
	BeforeEach(func() {
		namespace = env.Namespace(GinkgoTB())
		alice = pinner(namespace, "alice")
	})

	DescribeTable("stamps the Release, and answers what was asked for and what was handled last", func(body any) {
		release := applied(namespace)
		before := time.Now()
		a := alice.sync(release, body)
		Expect(a.code).To(Equal(http.StatusCreated), "%v", a.err)
		now := current(release)
		Expect(requestedAt(now)).To(BeTemporally(">=", before))
		Expect(requestedAt(now).Nanosecond()).NotTo(BeZero())
		sync := decoded[subresources.ReleaseSync](a)
		Expect(sync.Status).To(Equal(subresources.ReleaseSyncStatus{RequestedAt: now.Annotations[v1alpha1.SyncRequestedAtAnnotation]}))
		Expect(sync.Name).To(Equal(release.Name))
		Expect(sync.UID).To(Equal(release.UID))
		Expect(sync.ResourceVersion).To(Equal(now.ResourceVersion))

		handled := now.Annotations[v1alpha1.SyncRequestedAtAnnotation]
		setStatus(now, func(s *v1alpha1.ReleaseStatus) { s.LastHandledSyncAt = handled })
		sync = decoded[subresources.ReleaseSync](alice.sync(release, body))
		Expect(sync.Status.LastHandledSyncAt).To(Equal(handled))
		Expect(sync.Status.RequestedAt).NotTo(Equal(handled))
	},
		Entry("an empty object", "{}"),
		Entry("a whole one", subresources.ReleaseSync{TypeMeta: metav1.TypeMeta{APIVersion: subresources.GroupVersion.String(), Kind: "ReleaseSync"}}),
		Entry("one with what the caller made up", subresources.ReleaseSync{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.SyncRequestedAtAnnotation: "never"}},
			Status:     subresources.ReleaseSyncStatus{RequestedAt: "never", LastHandledSyncAt: "always"},
		}),
	)

	It("works before the first successful render, and while the Release is pinned", func() {
		Expect(alice.sync(newRelease(namespace), "{}").code).To(Equal(http.StatusCreated))
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		Expect(alice.sync(release, "{}").code).To(Equal(http.StatusCreated))
		Expect(current(release).Pin.RenderRef).To(Equal(refB))
	})

	It("changes nothing in a dry run", func() {
		release := applied(namespace)
		Expect(alice.sync(release, "{}", "dryRun=All").code).To(Equal(http.StatusCreated))
		Expect(current(release)).To(Equal(release))
	})

	It("for another Release than that of the URL is a bad request", func() {
		release := applied(namespace)
		a := alice.sync(release, `{"metadata":{"name":"other"}}`)
		Expect(a.code).To(Equal(http.StatusBadRequest))
		Expect(a.status().Message).To(ContainSubstring("metadata.name"))
		Expect(alice.sync(release, `{"metadata":{"namespace":"other"}}`).code).To(Equal(http.StatusBadRequest))
		Expect(current(release)).To(Equal(release))
	})
})
