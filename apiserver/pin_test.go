package apiserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("A pin", func() {
	var namespace string
	var alice caller
	BeforeEach(func() {
		namespace = env.Namespace(GinkgoTB())
		alice = pinner(namespace, "alice")
	})

	It("holds a Release on a render, says who, when and why, and asks for a sync", func() {
		release := applied(namespace)
		before := time.Now().Truncate(time.Second)
		expires := metav1.NewTime(before.Add(time.Hour))
		body := pinOn(release, refB)
		body.Spec.ExpiresAt = &expires
		a := alice.put(release, body)
		Expect(a.code).To(Equal(http.StatusOK))

		now := current(release)
		Expect(now.Pin).To(BeComparableTo(&v1alpha1.Pin{
			RenderRef: refB, Reason: "INC-1234", PinnedBy: "alice", PinnedAt: now.Pin.PinnedAt, ExpiresAt: &expires,
		}))
		Expect(now.Pin.PinnedAt.Time).To(BeTemporally("~", time.Now(), 10*time.Second))
		Expect(now.Pin.PinnedAt.Time).To(BeTemporally(">=", before))
		Expect(requestedAt(now)).To(BeTemporally(">=", before))
		Expect(a.pin()).To(haveMetadataOf(now))
		Expect(a.pin().Status).To(Equal(alice.get(release).pin().Status))
		Expect(a.pin().Status.Intent).To(Equal(v1alpha1.PinRollback))
	})

	It("without a renderRef holds the last applied render, which is a freeze", func() {
		release := applied(namespace)
		Expect(alice.patch(release, types.MergePatchType, `{"spec":{}}`).code).To(Equal(http.StatusOK))
		Expect(current(release).Pin.RenderRef).To(Equal(refA))
		Expect(alice.get(release).pin().Status.Intent).To(Equal(v1alpha1.PinFreeze))
	})

	It("is there for every Release, without spec where nobody pinned it", func() {
		release := newRelease(namespace)
		a := alice.get(release)
		Expect(a.code).To(Equal(http.StatusOK))
		Expect(a.pin()).To(haveMetadataOf(release))
		Expect(a.pin().Spec).To(BeNil())
		Expect(a.pin().Status).To(BeZero())
	})

	DescribeTable("is rejected with a reason that names the field", func(field, detail string, release func(string) *v1alpha1.Release,
		change func(*subresources.ReleasePinSpec),
	) {
		r := release(namespace)
		body := pinOn(r, refB)
		change(body.Spec)
		a := alice.put(r, body)
		Expect(a.code).To(Equal(http.StatusUnprocessableEntity))
		status := a.status()
		Expect(status.Reason).To(Equal(metav1.StatusReasonInvalid))
		Expect(status.Details.Causes).To(ConsistOf(HaveField("Field", field)))
		Expect(status.Message).To(ContainSubstring(detail))
		Expect(current(r)).To(Equal(r), "nothing is changed")
	},
		Entry("before the first successful render", "spec.renderRef", "no render of this Release was applied in full yet", newRelease,
			func(*subresources.ReleasePinSpec) {}),
		Entry("no digest", "spec.renderRef", "64 lower-case hex digits", applied, func(s *subresources.ReleasePinSpec) { s.RenderRef = "latest" }),
		Entry("upper case", "spec.renderRef", "64 lower-case hex digits", applied,
			func(s *subresources.ReleasePinSpec) { s.RenderRef = "sha256:" + strings.Repeat("A", 64) }),
		Entry("too short", "spec.renderRef", "64 lower-case hex digits", applied, func(s *subresources.ReleasePinSpec) { s.RenderRef = refA[:70] }),
		Entry("another hash", "spec.renderRef", "64 lower-case hex digits", applied,
			func(s *subresources.ReleasePinSpec) { s.RenderRef = "sha512:" + strings.Repeat("a", 64) }),
		Entry("a line break", "spec.renderRef", "64 lower-case hex digits", applied, func(s *subresources.ReleasePinSpec) { s.RenderRef = refA + "\n" }),
		Entry("expired", "spec.expiresAt", "must be in the future", applied,
			func(s *subresources.ReleasePinSpec) { s.ExpiresAt = new(metav1.NewTime(time.Now().Add(-time.Second))) }),
		Entry("a long reason", "spec.reason", "1024", applied, func(s *subresources.ReleasePinSpec) { s.Reason = strings.Repeat("é", 1025) }),
	)

	It("may have a reason of 1024 characters, however many bytes those are", func() {
		release := applied(namespace)
		body := pinOn(release, refB)
		body.Spec.Reason = strings.Repeat("é", 1024)
		Expect(alice.put(release, body).code).To(Equal(http.StatusOK))
		Expect(alice.put(release, body).code).To(Equal(http.StatusOK), "also where an event has to tell of it")
	})

	It("is not looked up in the store", func() {
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, "sha256:"+strings.Repeat("0", 64))).code).To(Equal(http.StatusOK))
	})

	It("says nothing that the caller made up", func() {
		release := applied(namespace)
		body := pinOn(release, refB)
		body.Status = subresources.ReleasePinStatus{PinnedBy: "mallory", PinnedAt: new(metav1.Unix(0, 0)), Intent: v1alpha1.PinFreeze}
		body.Annotations = map[string]string{
			v1alpha1.SyncRequestedAtAnnotation: "never", v1alpha1.UnpinnedByAnnotation: "mallory", "team": "mallory", v1alpha1.PruneAnnotation: "disabled",
		}
		body.Labels = map[string]string{"team": "mallory"}
		body.Finalizers = []string{"example.com/mallory"}
		Expect(alice.put(release, body).code).To(Equal(http.StatusOK))
		now := current(release)
		Expect(now.Pin.PinnedBy).To(Equal("alice"))
		Expect(now.Pin.PinnedAt.Time).To(BeTemporally("~", time.Now(), time.Minute))
		Expect(now.Annotations).To(HaveLen(1))
		Expect(requestedAt(now)).To(BeTemporally("~", time.Now(), time.Minute))
		Expect(now.Labels).To(BeEmpty())
		Expect(now.Finalizers).To(BeEmpty())
	})

	It("names the user behind an impersonation", func() {
		release := applied(namespace)
		config := impersonating(env.User, "alice")
		Expect(as(config).put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		Expect(current(release).Pin.PinnedBy).To(Equal("alice"))
		Expect(as(impersonating(env.User, "nobody")).put(release, pinOn(release, refB)).code).To(Equal(http.StatusForbidden))
	})

	DescribeTable("is patched", func(kind types.PatchType, body string) {
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		a := alice.patch(release, kind, body)
		Expect(a.code).To(Equal(http.StatusOK), "%v", a.err)
		Expect(current(release).Pin).To(And(HaveField("RenderRef", refA), HaveField("Reason", "INC-1234")))
	},
		Entry("merge", types.MergePatchType, `{"spec":{"renderRef":"`+refA+`"}}`),
		Entry("json", types.JSONPatchType, `[{"op":"replace","path":"/spec/renderRef","value":"`+refA+`"}]`),
		Entry("strategic merge", types.StrategicMergePatchType, `{"spec":{"renderRef":"`+refA+`"}}`),
	)

	It("is applied by the server with force, since nobody owns its fields", func() {
		release := applied(namespace)
		a := alice.patch(release, types.ApplyYAMLPatchType, pinOn(release, refA), "fieldManager=test")
		Expect(a.code).To(Equal(http.StatusOK), "%v", a.err)
		a = alice.patch(release, types.ApplyYAMLPatchType, pinOn(release, refB), "fieldManager=test")
		Expect(a.code).To(Equal(http.StatusConflict))
		Expect(a.status().Message).To(ContainSubstring("before-first-apply"))
		a = alice.patch(release, types.ApplyYAMLPatchType, pinOn(release, refB), "fieldManager=test", "force=true")
		Expect(a.code).To(Equal(http.StatusOK), "%v", a.err)
		Expect(current(release).Pin.RenderRef).To(Equal(refB))
	})

	It("with an unknown field is rejected where the caller wants that", func() {
		release := applied(namespace)
		body := `{"spec":{"renderRef":"` + refA + `","until":"tomorrow"}}`
		a := alice.patch(release, types.MergePatchType, body, "fieldValidation=Strict")
		Expect(a.code).To(Equal(http.StatusUnprocessableEntity))
		Expect(a.status().Message).To(ContainSubstring(`unknown field "spec.until"`))
		Expect(alice.patch(release, types.MergePatchType, body).code).To(Equal(http.StatusOK))
	})

	It("changes nothing in a dry run, and says what it would", func() {
		release := applied(namespace)
		a := alice.put(release, pinOn(release, refB), "dryRun=All")
		Expect(a.code).To(Equal(http.StatusOK))
		Expect(a.pin().Spec.RenderRef).To(Equal(refB))
		Expect(a.pin().Status.PinnedBy).To(Equal("alice"))
		Expect(current(release)).To(Equal(release))
		Expect(alice.put(release, pinOn(release, "latest"), "dryRun=All").code).To(Equal(http.StatusUnprocessableEntity))
	})

	It("is refused if the caller knows an older state of the Release", func() {
		release := applied(namespace)
		body := pinOn(release, refB)
		body.ResourceVersion = release.ResourceVersion
		Expect(alice.put(release, body).code).To(Equal(http.StatusOK))
		a := alice.put(release, body)
		Expect(a.code).To(Equal(http.StatusConflict))
		Expect(a.status().Message).To(ContainSubstring("changed since resourceVersion " + release.ResourceVersion))
		stale := `{"metadata":{"resourceVersion":"` + release.ResourceVersion + `"},"spec":{"renderRef":"` + refA + `"}}`
		Expect(alice.patch(release, types.MergePatchType, stale).code).To(Equal(http.StatusConflict))
		Expect(current(release).Pin.RenderRef).To(Equal(refB))
	})

	It("is refused if it is meant for another Release", func() {
		release := applied(namespace)
		body := pinOn(release, refB)
		body.UID = "00000000-0000-0000-0000-000000000000"
		Expect(alice.put(release, body).code).To(Equal(http.StatusConflict))
		Expect(alice.patch(release, types.MergePatchType, `{"metadata":{"uid":"0"},"spec":{}}`).code).To(Equal(http.StatusConflict))
		body = pinOn(release, refB)
		body.Name = "other"
		Expect(alice.put(release, body).code).To(Equal(http.StatusBadRequest))
		body = pinOn(release, refB)
		body.Namespace = "other"
		Expect(alice.put(release, body).code).To(Equal(http.StatusBadRequest))
		Expect(current(release)).To(Equal(release))
	})

	It("of a Release that is not there is not found", func() {
		gone := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nope"}}
		for _, a := range []answer{
			alice.get(gone), alice.put(gone, pinOn(gone, refA)), alice.patch(gone, types.MergePatchType, `{"spec":{}}`), alice.remove(gone, nil),
			alice.sync(gone, "{}"),
		} {
			Expect(a.code).To(Equal(http.StatusNotFound))
			Expect(a.status().Message).To(Equal(`releases.convoy.dev "nope" not found`))
		}
	})

	It("replaces another one, and an event tells of both", func() {
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refA)).code).To(Equal(http.StatusOK))
		second := pinOn(release, refB)
		second.Spec.Reason = ""
		Expect(pinner(namespace, "bob").put(release, second).code).To(Equal(http.StatusOK))
		Expect(current(release).Pin).To(And(HaveField("PinnedBy", "bob"), HaveField("Reason", "")))
		Expect(eventsOf(release)).To(ConsistOf(And(
			HaveField("Reason", v1alpha1.EventPinReplaced),
			HaveField("Regarding.UID", release.UID),
			HaveField("Note", MatchRegexp(`^bob pinned render bbbbbbbbbbbb at \S+: no reason given; before, alice pinned render aaaaaaaaaaaa at \S+: INC-1234$`)),
		)))
	})

	It("keeps fields of the Release that this version does not know", func() {
		crd := &metav1.PartialObjectMetadata{}
		crd.SetGroupVersionKind(crdKind)
		crd.Name = "releases.convoy.dev"
		open := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-preserve-unknown-fields","value":true}]`
		shut := `[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-preserve-unknown-fields"}]`
		Expect(env.Client.Patch(context.Background(), crd, client.RawPatch(types.JSONPatchType, []byte(open)))).To(Succeed())
		DeferCleanup(func(ctx context.Context) error {
			return env.Client.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, []byte(shut)))
		})

		release := applied(namespace)
		raw := releaseObject(release)
		Eventually(func(g Gomega) {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"ofTomorrow":{"a":1}}}`))
			g.Expect(env.Client.Patch(context.Background(), raw, patch)).To(Succeed())
			g.Expect(raw.Object).To(HaveKeyWithValue("spec", HaveKey("ofTomorrow")))
		}).WithTimeout(time.Minute).Should(Succeed())
		Expect(alice.put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		raw = releaseObject(release)
		Expect(raw.Object).To(HaveKeyWithValue("spec", HaveKeyWithValue("ofTomorrow", HaveKey("a"))))
		Expect(raw.Object).To(HaveKey("pin"))
	})
})

var _ = Describe("An unpin", func() {
	var namespace string
	var alice, bob caller
	BeforeEach(func() {
		namespace = env.Namespace(GinkgoTB())
		alice, bob = pinner(namespace, "alice"), pinner(namespace, "bob")
	})

	DescribeTable("takes the pin off, says who, and asks for a sync", func(unpin func(*v1alpha1.Release) answer) {
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		pinned := current(release)
		a := unpin(release)
		Expect(a.code).To(Equal(http.StatusOK), "%v", a.err)
		now := current(release)
		Expect(now.Pin).To(BeNil())
		Expect(now.Annotations).To(HaveKeyWithValue(v1alpha1.UnpinnedByAnnotation, "bob"))
		Expect(requestedAt(now)).To(BeTemporally(">", requestedAt(pinned)))
		Expect(now.Spec).To(Equal(release.Spec))

		By("not changing a Release that is not pinned")
		Expect(unpin(release).code).To(Equal(http.StatusOK))
		Expect(current(release)).To(Equal(now))
	},
		Entry("delete", func(r *v1alpha1.Release) answer { return bob.remove(r, nil) }),
		Entry("an update without spec", func(r *v1alpha1.Release) answer {
			body := pinOn(r, "")
			body.Spec = nil
			return bob.put(r, body)
		}),
		Entry("a merge patch", func(r *v1alpha1.Release) answer { return bob.patch(r, types.MergePatchType, `{"spec":null}`) }),
		Entry("a strategic merge patch", func(r *v1alpha1.Release) answer {
			return bob.patch(r, types.StrategicMergePatchType, `{"spec":null}`)
		}),
		Entry("an apply by the server", func(r *v1alpha1.Release) answer {
			return bob.patch(r, types.MergePatchType, `{"spec":null,"status":null}`)
		}),
	)

	It("by delete answers with the pin that it took off", func() {
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		Expect(bob.remove(release, nil).pin()).To(And(HaveField("Spec.RenderRef", refB), HaveField("Status.PinnedBy", "alice")))
	})

	It("by delete changes nothing in a dry run, or if its preconditions do not hold", func() {
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		pinned := current(release)
		stale := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &release.ResourceVersion}}
		other := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("0")}
		Expect(alice.remove(release, nil, "dryRun=All").code).To(Equal(http.StatusOK))
		Expect(alice.remove(release, stale).code).To(Equal(http.StatusConflict))
		Expect(alice.remove(release, other).code).To(Equal(http.StatusConflict))
		Expect(current(release)).To(Equal(pinned))
		right := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &pinned.ResourceVersion, UID: &pinned.UID}}
		Expect(alice.remove(release, right).code).To(Equal(http.StatusOK))
		Expect(current(release).Pin).To(BeNil())
	})

	It("works before the first successful render", func() {
		release := newRelease(namespace)
		Expect(alice.patch(release, types.MergePatchType, `{"spec":null}`).code).To(Equal(http.StatusOK))
		Expect(alice.remove(release, nil).code).To(Equal(http.StatusOK))
	})
})

// requestedAt is when somebody asked for a sync of a Release.
func requestedAt(release *v1alpha1.Release) time.Time {
	GinkgoHelper()
	at, err := time.Parse(time.RFC3339Nano, release.Annotations[v1alpha1.SyncRequestedAtAnnotation])
	Expect(err).NotTo(HaveOccurred())
	return at
}

// eventsOf are the events on a Release.
func eventsOf(release *v1alpha1.Release) []eventsv1.Event {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(env.Client.List(context.Background(), &list, client.InNamespace(release.Namespace))).To(Succeed())
	var events []eventsv1.Event
	for _, event := range list.Items {
		if event.Regarding.UID == release.UID {
			events = append(events, event)
		}
	}
	return events
}

// encoded is an object as JSON.
func encoded(object any) string {
	GinkgoHelper()
	content, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}
