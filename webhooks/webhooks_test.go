package webhooks_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/webhooks"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	stamp = "/mutate-releases-pin"
	check = "/validate-releases-pin"
)

var ref = "sha256:" + strings.Repeat("a", 64)

// newRelease creates a Release that has applied a render in full, unless the render is empty.
func newRelease(t *testing.T, env *testenv.Environment, applied string) *v1alpha1.Release {
	t.Helper()
	release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace(t), Name: "app"}}
	release.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}
	if err := env.Client.Create(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	if applied != "" {
		base := release.DeepCopy()
		release.Status.LastSuccessful = &v1alpha1.RenderRecord{RenderRef: applied, Time: metav1.Now()}
		if err := env.Client.Status().Patch(t.Context(), release, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}
	}
	return release
}

// ask sends a webhook the update of a pin by alice, as an API server does.
func ask(t *testing.T, live client.Reader, path string, release *v1alpha1.Release, spec *subresources.ReleasePinSpec) (*admissionv1.AdmissionResponse, []byte) {
	t.Helper()
	pin := subresources.PinOf(release)
	pin.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleasePin"))
	old := encode(t, pin)
	pin.Spec = spec
	review := &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, Namespace: release.Namespace, Name: release.Name, SubResource: "pin",
		Kind:      metav1.GroupVersionKind(subresources.GroupVersion.WithKind("ReleasePin")),
		Resource:  metav1.GroupVersionResource(subresources.GroupVersion.WithResource("releases")),
		UserInfo:  authenticationv1.UserInfo{Username: "alice"},
		Object:    runtime.RawExtension{Raw: encode(t, pin)},
		OldObject: runtime.RawExtension{Raw: old},
	}}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(encode(t, review)))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	webhooks.Handlers(live)[path].ServeHTTP(recorder, request)
	answer := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(recorder.Body.Bytes(), answer); err != nil {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	return answer.Response, review.Request.Object.Raw
}

func encode(t *testing.T, object any) []byte {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestTheMutatingWebhookStampsAPin(t *testing.T) {
	env := testenv.Shared(t)
	answer, sent := ask(t, env.Client, stamp, newRelease(t, env, ref), &subresources.ReleasePinSpec{Reason: "INC-1234"})
	pin := patched(t, answer, sent)
	if pin.Status.PinnedBy != "alice" || time.Since(pin.Status.PinnedAt.Time) > time.Minute || pin.Status.Intent != v1alpha1.PinFreeze {
		t.Errorf("the status is %+v", pin.Status)
	}
	if pin.Spec.RenderRef != ref || pin.Spec.Reason != "INC-1234" {
		t.Errorf("the spec is %+v, want the last applied render", pin.Spec)
	}
	if _, err := time.Parse(time.RFC3339Nano, pin.Annotations[v1alpha1.SyncRequestedAtAnnotation]); err != nil {
		t.Errorf("the annotations are %v: %v", pin.Annotations, err)
	}
}

func TestTheMutatingWebhookStampsAnUnpin(t *testing.T) {
	env := testenv.Shared(t)
	answer, sent := ask(t, env.Client, stamp, newRelease(t, env, ref), nil)
	pin := patched(t, answer, sent)
	if pin.Spec != nil || pin.Annotations[v1alpha1.UnpinnedByAnnotation] != "alice" || pin.Annotations[v1alpha1.SyncRequestedAtAnnotation] == "" {
		t.Errorf("got %+v", pin)
	}
}

// patched is what an answer makes of a pin.
func patched(t *testing.T, answer *admissionv1.AdmissionResponse, sent []byte) *subresources.ReleasePin {
	t.Helper()
	if !answer.Allowed {
		t.Fatalf("refused: %+v", answer.Result)
	}
	patch, err := jsonpatch.DecodePatch(answer.Patch)
	if err != nil {
		t.Fatal(err)
	}
	content, err := patch.Apply(sent)
	if err != nil {
		t.Fatal(err)
	}
	pin := &subresources.ReleasePin{}
	if err := json.Unmarshal(content, pin); err != nil {
		t.Fatal(err)
	}
	return pin
}

func TestTheValidatingWebhookRefusesWithTheCodeAndTheField(t *testing.T) {
	env := testenv.Shared(t)
	applied, fresh := newRelease(t, env, ref), newRelease(t, env, "")
	past := metav1.NewTime(time.Now().Add(-time.Second))
	for name, tc := range map[string]struct {
		release *v1alpha1.Release
		spec    *subresources.ReleasePinSpec
		field   string // empty if it is allowed
	}{
		"right":                                {applied, &subresources.ReleasePinSpec{RenderRef: ref}, ""},
		"an unpin":                             {applied, nil, ""},
		"an unpin before the first":            {fresh, nil, ""},
		"before the first successful render":   {fresh, &subresources.ReleasePinSpec{RenderRef: ref}, "spec.renderRef"},
		"malformed":                            {applied, &subresources.ReleasePinSpec{RenderRef: "latest"}, "spec.renderRef"},
		"expired":                              {applied, &subresources.ReleasePinSpec{RenderRef: ref, ExpiresAt: &past}, "spec.expiresAt"},
		"a render that nobody has ever stored": {applied, &subresources.ReleasePinSpec{RenderRef: "sha256:" + strings.Repeat("0", 64)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer, _ := ask(t, env.Client, check, tc.release, tc.spec)
			if answer.Allowed != (tc.field == "") {
				t.Fatalf("allowed: %t, %+v", answer.Allowed, answer.Result)
			}
			if tc.field == "" {
				return
			}
			result := answer.Result
			if result.Code != http.StatusUnprocessableEntity || result.Details == nil || len(result.Details.Causes) != 1 || result.Details.Causes[0].Field != tc.field {
				t.Errorf("got %+v, want 422 for %s", result, tc.field)
			}
		})
	}
}

func TestWhatCannotBeReadIsNotAllowed(t *testing.T) {
	env := testenv.Shared(t)
	release := newRelease(t, env, ref)
	nobody, err := client.New(env.AddUser(t, "nobody").Config, client.Options{Scheme: testenv.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	unreachable := env.AddUser(t, "unreachable").Config
	unreachable.Host = "https://127.0.0.1:1"
	nowhere, err := client.New(unreachable, client.Options{Scheme: testenv.Scheme(), Mapper: env.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	gone := release.DeepCopy()
	gone.Name = "gone"
	for name, tc := range map[string]struct {
		live    client.Reader
		release *v1alpha1.Release
		code    int32
		message string
	}{
		"forbidden":     {nobody, release, http.StatusForbidden, `User "nobody" cannot get resource "releases"`},
		"no API server": {nowhere, release, http.StatusInternalServerError, "read Release " + release.Namespace + "/app"},
		"gone":          {env.Client, gone, http.StatusNotFound, `"gone" not found`},
	} {
		for _, path := range []string{stamp, check} {
			answer, _ := ask(t, tc.live, path, tc.release, &subresources.ReleasePinSpec{RenderRef: ref})
			if answer.Allowed || answer.Result.Code != tc.code || !strings.Contains(answer.Result.Message, tc.message) {
				t.Errorf("%s, %s: allowed: %t, %+v; want code %d with %q", name, path, answer.Allowed, answer.Result, tc.code, tc.message)
			}
		}
	}
}
