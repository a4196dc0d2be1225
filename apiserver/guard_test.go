package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// controller is the field manager of convoy-controller-manager.
const controller = client.FieldOwner("convoy-controller-manager")

var _ = Describe("The guard", func() {
	var namespace string
	var alice caller
	BeforeEach(func() {
		namespace = env.Namespace(GinkgoTB())
		alice = pinner(namespace, "alice")
	})

	// pinned is a Release that alice has pinned on render A.
	pinned := func() *v1alpha1.Release {
		GinkgoHelper()
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refA)).code).To(Equal(http.StatusOK))
		return current(release)
	}

	for name, user := range map[string]func() testenv.User{
		"an administrator": func() testenv.User { return env.User },
		"who may write Releases": func() testenv.User {
			return granted(namespace, "editor", "convoy-view", "convoy-write", "convoy-pin")
		},
		"convoy's own ServiceAccount": func() testenv.User { return env.AddUser(GinkgoTB(), manifests.ControllerManagerUser) },
	} {
		DescribeTable("keeps "+name+" from the pin", func(road func(testenv.User, *v1alpha1.Release) (string, bool)) {
			release := pinned()
			said, ok := road(user(), release)
			Expect(ok).To(BeFalse(), said)
			Expect(said).To(And(MatchRegexp("(?i)forbidden"), ContainSubstring("kubectl convoy release pin "),
				ContainSubstring("kubectl convoy release unpin ")))
			Expect(said).To(ContainSubstring(" -n " + namespace))
			Expect(current(release)).To(Equal(release))
		},
			Entry("create", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, manifest(r, withPin(refA), renamed), "create", "-f", "-")
			}),
			Entry("apply", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, manifest(r, withPin(refB)), "apply", "-f", "-")
			}),
			Entry("server-side apply with force", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, manifest(r, withPin(refB)), "apply", "--server-side", "--force-conflicts", "-f", "-")
			}),
			Entry("server-side apply as the field manager of the pin", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, manifest(r, withPin(refB)), "apply", "--server-side", "--force-conflicts", "--field-manager=convoy-apiserver", "-f", "-")
			}),
			Entry("replace by another one", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, manifest(r, withPin(refB)), "replace", "-f", "-")
			}),
			Entry("replace without it", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, manifest(r), "replace", "-f", "-")
			}),
			Entry("merge patch", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, "", "-n", r.Namespace, "patch", "releases", r.Name, "--type=merge", "-p", `{"pin":{"reason":"mine"}}`)
			}),
			Entry("json patch that drops it", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, "", "-n", r.Namespace, "patch", "releases", r.Name, "--type=json", "-p", `[{"op":"remove","path":"/pin"}]`)
			}),
			Entry("edit", func(u testenv.User, r *v1alpha1.Release) (string, bool) {
				return kubectl(u, "", "-n", r.Namespace, "edit", "releases", r.Name)
			}),
		)
	}

	It("keeps everybody from setting a pin where there is none", func() {
		release := applied(namespace)
		said, ok := kubectl(env.User, manifest(release, withPin(refA)), "apply", "-f", "-")
		Expect(ok).To(BeFalse(), said)
		Expect(said).To(ContainSubstring("kubectl convoy release pin " + release.Name + " -n " + namespace))
		Expect(current(release)).To(Equal(release))
	})

	DescribeTable("keeps everybody from the annotations that go with a pin", func(annotation string) {
		release := pinned()
		for _, change := range []string{`"mine"`, `null`} {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, annotation, change)
			err := env.Client.Patch(context.Background(), release.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
			if change == `null` && release.Annotations[annotation] == "" {
				Expect(err).NotTo(HaveOccurred(), "nothing is changed")
				continue
			}
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(And(ContainSubstring(annotation), ContainSubstring("kubectl convoy release sync "+release.Name+" -n "+namespace))))
		}
		release.Annotations = map[string]string{annotation: "mine"}
		release.ResourceVersion, release.Name, release.Pin = "", "another", nil
		Expect(apierrors.IsForbidden(env.Client.Create(context.Background(), release))).To(BeTrue())
	},
		Entry("the request to sync", v1alpha1.SyncRequestedAtAnnotation),
		Entry("who unpinned", v1alpha1.UnpinnedByAnnotation),
	)

	DescribeTable("lets an apply pass that leaves the pin out, which keeps it", func(args ...string) {
		release := newRelease(namespace)
		said, ok := kubectl(env.User, manifest(release), append([]string{"apply", "-f", "-"}, args...)...)
		Expect(ok).To(BeTrue(), said)
		release = setApplied(current(release), refA)
		Expect(alice.put(release, pinOn(release, refA)).code).To(Equal(http.StatusOK))
		said, ok = kubectl(env.User, manifest(release, labelled), append([]string{"apply", "-f", "-"}, args...)...)
		Expect(ok).To(BeTrue(), said)
		now := current(release)
		Expect(now.Labels).To(HaveKeyWithValue("team", "a"))
		Expect(now.Pin.PinnedBy).To(Equal("alice"))
		Expect(requestedAt(now)).To(BeTemporally("~", time.Now(), time.Minute))
	},
		Entry("by the client"),
		Entry("by the server", "--server-side", "--force-conflicts"),
	)

	It("does not hinder status, finalizers, labels and deletion", func() {
		release := pinned()
		manager := env.AddUser(GinkgoTB(), manifests.ControllerManagerUser)
		writer, err := client.New(manager.Config, client.Options{Scheme: testenv.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		base := release.DeepCopy()
		release.Finalizers = []string{v1alpha1.Finalizer}
		release.Labels = map[string]string{"team": "a"}
		Expect(writer.Patch(context.Background(), release, client.MergeFrom(base), controller)).To(Succeed())
		base = release.DeepCopy()
		release.Status.LastHandledSyncAt = "then"
		Expect(writer.Status().Patch(context.Background(), release, client.MergeFrom(base), controller)).To(Succeed())
		Expect(writer.Delete(context.Background(), release)).To(Succeed())
		release = current(release)
		Expect(release.Pin).NotTo(BeNil())
		release.Finalizers = nil
		Expect(writer.Update(context.Background(), release, controller)).To(Succeed())
	})

	It("takes no pin through the status", func() {
		release := applied(namespace)
		changed := release.DeepCopy()
		changed.Pin = &v1alpha1.Pin{RenderRef: refB, PinnedBy: "mallory", PinnedAt: metav1.Now()}
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, "mine")
		Expect(env.Client.Status().Update(context.Background(), changed)).To(Succeed())
		now := current(release)
		Expect(now.Pin).To(BeNil())
		Expect(now.Annotations).To(BeEmpty())
	})
})

var _ = Describe("The end of an expired pin", func() {
	var namespace string
	var writer, other client.Client
	BeforeEach(func() {
		namespace = env.Namespace(GinkgoTB())
		var err error
		writer, err = client.New(env.AddUser(GinkgoTB(), manifests.ControllerManagerUser).Config, client.Options{Scheme: testenv.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		other = env.Client
	})

	// pinnedFor is a Release with a pin that expires after a while; 0 is never.
	pinnedFor := func(d time.Duration) *v1alpha1.Release {
		GinkgoHelper()
		release := applied(namespace)
		body := pinOn(release, refA)
		if d > 0 {
			body.Spec.ExpiresAt = new(metav1.NewTime(time.Now().Add(d)))
		}
		Expect(admin().put(release, body).code).To(Equal(http.StatusOK))
		return current(release)
	}
	// end takes a pin off as convoy does.
	end := func(c client.Client, release *v1alpha1.Release, owner client.FieldOwner, change ...func(*v1alpha1.Release)) error {
		base := release.DeepCopy()
		ended := release.DeepCopy()
		ended.Pin = nil
		metav1.SetMetaDataAnnotation(&ended.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, v1alpha1.SyncRequest(time.Now()))
		for _, c := range change {
			c(ended)
		}
		return c.Patch(context.Background(), ended, client.MergeFrom(base), owner)
	}

	It("is convoy's, from the second on in which it expires", func() {
		release := pinnedFor(3 * time.Second)
		expires := release.Pin.ExpiresAt.Time
		Expect(apierrors.IsForbidden(end(writer, release, controller))).To(BeTrue(), "it has not expired")

		Eventually(func() error { return end(writer, release, controller) }).WithTimeout(time.Minute).Should(Succeed())
		Expect(current(release).Pin).To(BeNil())
		Expect(time.Now()).To(BeTemporally(">=", expires))
	})

	It("is nobody else's, and convoy may do nothing else with it", func() {
		release := pinnedFor(time.Second)
		Eventually(func() error {
			return writer.Patch(context.Background(), ended(release), client.MergeFrom(release), controller, client.DryRunAll)
		}).
			WithTimeout(time.Minute).Should(Succeed())

		metav1.SetMetaDataAnnotation(&release.ObjectMeta, "unrelated", "")
		for name, err := range map[string]error{
			"another user":             end(other, release, controller),
			"another field manager":    end(writer, release, "convoy"),
			"without a request":        end(writer, release, controller, func(r *v1alpha1.Release) { r.Annotations = release.Annotations }),
			"without the annotation":   end(writer, release, controller, func(r *v1alpha1.Release) { r.Annotations = nil }),
			"another author":           end(writer, release, controller, func(r *v1alpha1.Release) { r.Annotations[v1alpha1.UnpinnedByAnnotation] = "x" }),
			"another pin":              end(writer, release, controller, func(r *v1alpha1.Release) { r.Pin = release.Pin.DeepCopy(); r.Pin.RenderRef = refB }),
			"a longer pin":             end(writer, release, controller, func(r *v1alpha1.Release) { r.Pin = release.Pin.DeepCopy(); r.Pin.ExpiresAt = nil }),
			"a request without more":   end(writer, release, controller, func(r *v1alpha1.Release) { r.Pin = release.Pin }),
			"a pin that never expires": end(writer, pinnedFor(0), controller),
			"a pin that expires later": end(writer, pinnedFor(time.Hour), controller),
		} {
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", name, err)
		}
		Expect(current(release).Pin).NotTo(BeNil())
	})

	It("is refused where the API server does not note any more who writes what; an unpin works", func() {
		release := pinnedFor(time.Second)
		expires := release.Pin.ExpiresAt.Time
		reset := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
		Expect(env.Client.Patch(context.Background(), release, reset)).To(Succeed())
		Eventually(time.Now).WithTimeout(time.Minute).Should(BeTemporally(">", expires.Add(time.Second)))
		Expect(apierrors.IsForbidden(end(writer, current(release), controller))).To(BeTrue())
		Expect(admin().remove(release, nil).code).To(Equal(http.StatusOK))
		Expect(current(release).Pin).To(BeNil())
	})

	It("cannot be brought forward by a time that convoy makes up", func() {
		release := pinnedFor(time.Hour)
		later := metav1.NewTime(time.Now().Add(24 * time.Hour))
		owned := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + v1alpha1.SyncRequestedAtAnnotation + `":{}}}}`)
		forged := metav1.ManagedFieldsEntry{
			Manager: string(controller), Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1alpha1.GroupVersion.String(),
			Time: &later, FieldsType: "FieldsV1", FieldsV1: owned,
		}
		applied := forged
		applied.Operation = metav1.ManagedFieldsOperationApply
		stale := forged
		stale.APIVersion = "convoy.dev/v1"
		for name, entries := range map[string][]metav1.ManagedFieldsEntry{
			"its own": {forged}, "an apply": {applied}, "both": {forged, applied}, "another version": {forged, stale}, "none": {{}},
		} {
			for _, owner := range []client.FieldOwner{controller, "somebody"} {
				now := ended(current(release))
				now.ManagedFields = entries
				err := writer.Update(context.Background(), now, owner)
				Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s by %s: %v", name, owner, err)
			}
		}

		By("in two steps: first the time, then the end")
		now := current(release)
		now.ManagedFields = []metav1.ManagedFieldsEntry{forged, applied}
		Expect(writer.Update(context.Background(), now, client.FieldOwner("somebody"))).To(Succeed())
		Expect(apierrors.IsForbidden(writer.Update(context.Background(), ended(current(release)), controller))).To(BeTrue())
		Expect(apierrors.IsForbidden(writer.Update(context.Background(), ended(current(release)), client.FieldOwner("x")))).To(BeTrue())
		object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
			"name": release.Name, "namespace": namespace, "annotations": map[string]any{v1alpha1.SyncRequestedAtAnnotation: "now"},
		}, "spec": map[string]any{"source": map[string]any{"from": map[string]any{"kind": "ConfigMap", "name": "files"}}}}}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Release"))
		err := writer.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(object), controller, client.ForceOwnership)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(current(release).Pin).NotTo(BeNil())
	})
})

// ended is a Release whose pin convoy takes off.
func ended(release *v1alpha1.Release) *v1alpha1.Release {
	release = release.DeepCopy()
	release.Pin = nil
	metav1.SetMetaDataAnnotation(&release.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, v1alpha1.SyncRequest(time.Now()))
	return release
}

// manifest is what a user has in a file of a Release.
func manifest(release *v1alpha1.Release, change ...func(map[string]any)) string {
	GinkgoHelper()
	object := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Release",
		"metadata": map[string]any{"name": release.Name, "namespace": release.Namespace},
		"spec":     map[string]any{"source": map[string]any{"from": map[string]any{"kind": "ConfigMap", "name": "files"}}},
	}
	for _, c := range change {
		c(object)
	}
	content, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

func withPin(ref string) func(map[string]any) {
	return func(object map[string]any) {
		object["pin"] = map[string]any{"renderRef": ref, "pinnedBy": "mallory", "pinnedAt": "2026-11-29T16:10:48Z"}
	}
}

func renamed(object map[string]any) { metadata(object)["name"] = "another" }

func labelled(object map[string]any) { metadata(object)["labels"] = map[string]any{"team": "a"} }

func metadata(object map[string]any) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	return meta
}
