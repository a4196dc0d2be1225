package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

const (
	configMapJSON = `{"apiVersion":"v1","data":{"color":"blue","size":"1"},"kind":"ConfigMap","metadata":{"name":"podinfo"}}`
	secretJSON    = `{"apiVersion":"v1","data":{"password":"***"},"kind":"Secret","metadata":{"name":"podinfo"}}`
)

func renderOf(objects ...string) *subresources.ReleaseRender {
	r := &subresources.ReleaseRender{RenderRef: refA, Objects: []runtime.RawExtension{}}
	r.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleaseRender"))
	for _, object := range objects {
		r.Objects = append(r.Objects, runtime.RawExtension{Raw: []byte(object)})
	}
	return r
}

func TestShowPrintsTheObjectsOfARender(t *testing.T) {
	title := "# render " + refA + " of Release podinfo in namespace apps\n"
	for line, tc := range map[string]struct {
		objects        []string
		stdout, stderr string
	}{
		"release show podinfo": {[]string{configMapJSON, secretJSON}, title + `# Values of Secrets are masked: do not apply this.
apiVersion: v1
data:
  color: blue
  size: "1"
kind: ConfigMap
metadata:
  name: podinfo
---
apiVersion: v1
data:
  password: '***'
kind: Secret
metadata:
  name: podinfo
`, ""},
		"release show podinfo -o yaml": {[]string{configMapJSON}, title + `apiVersion: v1
data:
  color: blue
  size: "1"
kind: ConfigMap
metadata:
  name: podinfo
`, ""},
		"release show podinfo -o name":             {[]string{configMapJSON, secretJSON}, "configmap/podinfo\nsecret/podinfo\n", ""},
		"release show podinfo --render 3a5f0c9be1": {nil, title, ""},
	} {
		t.Run(line, func(t *testing.T) {
			got := (&answers{release: appliedRelease(), render: renderOf(tc.objects...)}).does(t, line)
			if diff := cmp.Diff(outcome{tc.stdout, tc.stderr, codeDone}, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestShowInJSONIsAList(t *testing.T) {
	got := (&answers{release: appliedRelease(), render: renderOf(configMapJSON, secretJSON)}).does(t, "release show podinfo -o json")
	if want := "Values of Secrets are masked: do not apply this.\n"; got.stderr != want {
		t.Errorf("stderr is %q, want %q", got.stderr, want)
	}
	var list metav1.List
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
		t.Fatal(err)
	}
	if list.APIVersion != "v1" || list.Kind != "List" || len(list.Items) != 2 || !strings.Contains(string(list.Items[1].Raw), `"***"`) {
		t.Errorf("got\n%s", got.stdout)
	}
}

func TestShowWithoutARenderShowsTheLastApplied(t *testing.T) {
	server := &answers{release: pinOn(appliedRelease(), refB), render: renderOf()}
	server.does(t, "release show podinfo")
	if diff := cmp.Diff([]string{"render?render=" + strings.ReplaceAll(refA, ":", "%3A")}, server.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	fresh := appliedRelease()
	fresh.Status.LastSuccessful = nil
	got := (&answers{release: fresh}).does(t, "release show podinfo")
	for _, want := range []string{"no render was applied in full yet", "kubectl convoy release diff podinfo -n apps"} {
		if got.code != codeError || !strings.Contains(got.stderr, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestWhatIsNoRenderIsAnError(t *testing.T) {
	got := (&answers{release: appliedRelease(), render: renderOf(configMapJSON, `"text"`)}).does(t, "release show podinfo")
	if got.code != codeError || got.stdout != "" || !strings.Contains(got.stderr, "objects[1] is no object") {
		t.Errorf("got %+v", got)
	}
}
