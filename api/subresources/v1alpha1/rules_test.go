package v1alpha1_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var (
	refA = "sha256:" + strings.Repeat("a", 64)
	refB = "sha256:" + strings.Repeat("b", 64)
	noon = time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.UTC)
)

// release has applied render A in full, some time after it was annotated.
func release() *v1alpha1.Release {
	r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "app", UID: "1", ResourceVersion: "7", Annotations: map[string]string{"team": "a"}, Labels: map[string]string{"l": "l"},
	}}
	r.Status.LastSuccessful = &v1alpha1.RenderRecord{RenderRef: refA}
	return r
}

func TestAPinThatIsWrittenIsThePinThatIsRead(t *testing.T) {
	expires := metav1.NewTime(noon.Add(time.Hour)).Rfc3339Copy()
	for name, spec := range map[string]*subresources.ReleasePinSpec{
		"everything": {RenderRef: refB, Reason: "INC-1234", ExpiresAt: &expires},
		"no more":    {RenderRef: refA},
		"none":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := release()
			written := subresources.PinOf(r)
			written.Spec = spec
			written.Stamp(r, "alice", noon)
			written.Pinned(r)
			if diff := cmp.Diff(written, subresources.PinOf(r)); diff != "" {
				t.Errorf("written (-), read (+):\n%s", diff)
			}
		})
	}
}

func TestPinOfShowsTheMetadataThatItPromises(t *testing.T) {
	want := metav1.ObjectMeta{Namespace: "team", Name: "app", UID: "1", ResourceVersion: "7", Annotations: map[string]string{"team": "a"}}
	if diff := cmp.Diff(want, subresources.PinOf(release()).ObjectMeta); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	pin := subresources.PinOf(release())
	pin.Annotations["team"] = "b"
	if r := release(); r.Annotations["team"] != "a" {
		t.Error("a change of the pin changes the Release")
	}
}

func TestStampLeavesNothingToTheCaller(t *testing.T) {
	r := release()
	pin := subresources.PinOf(r)
	pin.Spec = &subresources.ReleasePinSpec{}
	pin.Annotations = map[string]string{v1alpha1.SyncRequestedAtAnnotation: "never", v1alpha1.UnpinnedByAnnotation: "mallory"}
	pin.Status = subresources.ReleasePinStatus{PinnedBy: "mallory", Intent: v1alpha1.PinRollback}
	pin.Stamp(r, "alice", noon)
	at := metav1.NewTime(noon.Truncate(time.Second))
	want := &subresources.ReleasePin{
		ObjectMeta: subresources.PinOf(r).ObjectMeta,
		Spec:       &subresources.ReleasePinSpec{RenderRef: refA}, // the last applied render
		Status:     subresources.ReleasePinStatus{Intent: v1alpha1.PinFreeze, PinnedBy: "alice", PinnedAt: &at},
	}
	want.Annotations = map[string]string{"team": "a", v1alpha1.SyncRequestedAtAnnotation: "2026-11-29T12:00:00.123456789Z"}
	if diff := cmp.Diff(want, pin); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestStampOfAnUnpinSaysWhoUnpinned(t *testing.T) {
	r := release()
	pin := subresources.PinOf(r)
	pin.Stamp(r, "bob", noon)
	want := map[string]string{
		"team": "a", v1alpha1.SyncRequestedAtAnnotation: "2026-11-29T12:00:00.123456789Z", v1alpha1.UnpinnedByAnnotation: "bob",
	}
	if diff := cmp.Diff(want, pin.Annotations); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if pin.Status != (subresources.ReleasePinStatus{}) {
		t.Errorf("the status of an unpin is %+v, want none", pin.Status)
	}
}

func TestIntentIsFreezeOnTheLastAppliedRenderAndElseRollback(t *testing.T) {
	for ref, want := range map[string]v1alpha1.PinIntent{refA: v1alpha1.PinFreeze, refB: v1alpha1.PinRollback} {
		r := release()
		r.Pin = &v1alpha1.Pin{RenderRef: ref}
		if got := subresources.PinOf(r).Status.Intent; got != want {
			t.Errorf("pinned on %s: intent %s, want %s", ref, got, want)
		}
	}
}

func TestCheckNamesEveryFieldThatIsWrong(t *testing.T) {
	at := metav1.NewTime(noon)
	pin := &subresources.ReleasePin{Spec: &subresources.ReleasePinSpec{RenderRef: "latest", Reason: strings.Repeat("x", 1025), ExpiresAt: &at}}
	err := pin.Check(release(), noon)
	status, ok := err.(apierrors.APIStatus)
	if !ok || !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want an Invalid error", err)
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	if diff := cmp.Diff([]string{"spec.renderRef", "spec.reason", "spec.expiresAt"}, fields); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestCheckLetsEveryUnpinPass(t *testing.T) {
	if err := (&subresources.ReleasePin{}).Check(&v1alpha1.Release{}, noon); err != nil {
		t.Errorf("an unpin before the first render: %v", err)
	}
}
