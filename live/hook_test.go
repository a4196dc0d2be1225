package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// annotatedJob is a Job with annotations, given as key, value, key, value.
func annotatedJob(pairs ...string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "j", "namespace": "apps"}}}
	annotations := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		annotations[pairs[i]] = pairs[i+1]
	}
	obj.SetAnnotations(annotations)
	return obj
}

func TestHooksAreReadFromTheAnnotationsOfEachTool(t *testing.T) {
	const own, argo, helm = v1alpha1.HookAnnotation, v1alpha1.ArgoHookAnnotation, v1alpha1.HelmHookAnnotation
	for name, tc := range map[string]struct {
		annotations []string
		want        string // the events of an install, an upgrade and a rollback, the weight, and whether it is deleted; empty for no hook
	}{
		"none":                         {nil, ""},
		"another annotation":           {[]string{"a", "b"}, ""},
		"PreSync":                      {[]string{own, "PreSync"}, "PreSync|PreSync|PreSync|0|false"},
		"two events":                   {[]string{own, "PreSync, PostSync"}, "PreSync PostSync|PreSync PostSync|PreSync PostSync|0|false"},
		"SyncFail":                     {[]string{own, "SyncFail"}, "SyncFail|SyncFail|SyncFail|0|false"},
		"of a deletion":                {[]string{own, "PreDelete,PostDelete"}, "PreDelete PostDelete|PreDelete PostDelete|PreDelete PostDelete|0|false"},
		"of a deletion, Argo CD":       {[]string{argo, "PreDelete"}, "PreDelete|PreDelete|PreDelete|0|false"},
		"of a deletion, Helm":          {[]string{helm, "pre-install,post-delete"}, "PreSync PostDelete|PostDelete|PostDelete|0|false"},
		"a wave":                       {[]string{own, "PreSync", v1alpha1.SyncWaveAnnotation, "-3"}, "PreSync|PreSync|PreSync|-3|false"},
		"Argo CD":                      {[]string{argo, "PostSync", v1alpha1.ArgoSyncWaveAnnotation, "4"}, "PostSync|PostSync|PostSync|4|false"},
		"Argo CD's Sync":               {[]string{argo, "Sync"}, ""},
		"Argo CD's Skip":               {[]string{argo, "Skip"}, "|||0|false"},
		"Helm, first":                  {[]string{helm, "pre-install"}, "PreSync|||0|false"},
		"Helm, later":                  {[]string{helm, "pre-upgrade"}, "|PreSync||0|false"},
		"Helm, both":                   {[]string{helm, "Post-Install, post-upgrade"}, "PostSync|PostSync||0|false"},
		"Helm, after and before":       {[]string{helm, "post-install,pre-upgrade"}, "PostSync|PreSync||0|false"},
		"Helm, not run":                {[]string{helm, "test,test-success,crd-install"}, "|||0|false"},
		"Helm, a rollback":             {[]string{helm, "pre-rollback, post-rollback"}, "||PreSync PostSync|0|false"},
		"a weight":                     {[]string{helm, "pre-install", v1alpha1.HelmHookWeightAnnotation, "-5"}, "PreSync|||-5|false"},
		"a weight and a wave":          {[]string{helm, "pre-install", v1alpha1.HelmHookWeightAnnotation, "-5", v1alpha1.SyncWaveAnnotation, "2"}, "PreSync|||2|false"},
		"a weight that is none's":      {[]string{own, "PreSync", v1alpha1.HelmHookWeightAnnotation, "-5"}, "PreSync|PreSync|PreSync|0|false"},
		"own over Argo CD over Helm":   {[]string{own, "PostSync", argo, "Sync", helm, "pre-install"}, "PostSync|PostSync|PostSync|0|false"},
		"Argo CD over Helm":            {[]string{argo, "SyncFail", helm, "pre-install"}, "SyncFail|SyncFail|SyncFail|0|false"},
		"deleted":                      {[]string{own, "PreSync", v1alpha1.HookDeletePolicyAnnotation, "BeforeHookCreation, HookSucceeded"}, "PreSync|PreSync|PreSync|0|true"},
		"deleted, Argo CD":             {[]string{argo, "PreSync", v1alpha1.ArgoHookDeletePolicyAnnotation, "HookSucceeded"}, "PreSync|PreSync|PreSync|0|true"},
		"deleted, Helm":                {[]string{helm, "pre-install", v1alpha1.HelmHookDeletePolicyAnnotation, "hook-succeeded"}, "PreSync|||0|true"},
		"own policy over that of Helm": {[]string{helm, "pre-install", v1alpha1.HelmHookDeletePolicyAnnotation, "hook-succeeded", v1alpha1.HookDeletePolicyAnnotation, "HookFailed"}, "PreSync|||0|false"},
	} {
		t.Run(name, func(t *testing.T) {
			hook, err := HookOf(annotatedJob(tc.annotations...))
			if err != nil {
				t.Fatal(err)
			}
			if got := describeHook(hook); got != tc.want {
				t.Errorf("hook %q, want %q", got, tc.want)
			}
		})
	}
}

func describeHook(hook *Hook) string {
	if hook == nil {
		return ""
	}
	var parts []string
	for _, rollout := range []Rollout{Install, Upgrade, Rollback} {
		var runs []string
		for _, event := range hookEvents {
			if hook.Runs(event, rollout) {
				runs = append(runs, event)
			}
		}
		parts = append(parts, strings.Join(runs, " "))
	}
	return strings.Join(append(parts, fmt.Sprint(hook.Weight), fmt.Sprint(hook.DeleteWhenDone)), "|")
}

func TestMalformedHooksNameTheirAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations []string
		want        string
	}{
		"an unknown event":       {[]string{v1alpha1.HookAnnotation, "PreSync,presync"}, `annotation convoy.dev/hook: "presync" is none of PostDelete, PostSync, PreDelete, PreSync, SyncFail`},
		"no event":               {[]string{v1alpha1.HookAnnotation, ""}, `annotation convoy.dev/hook: "" is none of`},
		"Argo CD's Sync, joined": {[]string{v1alpha1.ArgoHookAnnotation, "Sync,PreSync"}, `annotation argocd.argoproj.io/hook: "Sync" is none of`},
		"of Helm":                {[]string{v1alpha1.HelmHookAnnotation, "pre-sync"}, `annotation helm.sh/hook: "pre-sync" is none of`},
		"SyncFail and another":   {[]string{v1alpha1.HookAnnotation, "SyncFail,PreSync"}, "annotation convoy.dev/hook: SyncFail cannot be joined with another event"},
		"a wave":                 {[]string{v1alpha1.HookAnnotation, "PreSync", v1alpha1.SyncWaveAnnotation, "x"}, "annotation convoy.dev/sync-wave"},
		"a weight":               {[]string{v1alpha1.HelmHookAnnotation, "pre-install", v1alpha1.HelmHookWeightAnnotation, "x"}, `annotation helm.sh/hook-weight: "x" is not an integer`},
		"a policy":               {[]string{v1alpha1.HookAnnotation, "PreSync", v1alpha1.HookDeletePolicyAnnotation, "Never"}, `annotation convoy.dev/hook-delete-policy: "Never" is none of`},
		"a policy of Helm":       {[]string{v1alpha1.HelmHookAnnotation, "test", v1alpha1.HelmHookDeletePolicyAnnotation, "HookFailed"}, `annotation helm.sh/hook-delete-policy: "hookfailed" is none of`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := HookOf(annotatedJob(tc.annotations...)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAHookOfARunIsKnownByTheBeginningOfItsName(t *testing.T) {
	long := strings.Repeat("a", 80)
	generated := func(prefix string) *unstructured.Unstructured {
		obj := annotatedJob()
		obj.SetName("")
		obj.SetGenerateName(prefix)
		return obj
	}
	var hooks HookSet
	for _, obj := range []*unstructured.Unstructured{annotatedJob(), generated("migrate-"), generated(long)} {
		hooks.Add(obj)
	}
	got := map[string]bool{}
	names := []string{"j", "k", HookName("migrate-", "0123456789"), "migrate-", "migrate-012345678", "migrate-0123456789a", "migrate-not-hex-00", HookName(long, "0123456789")}
	for _, name := range names {
		got[name] = hooks.Has(render.ObjectID{Group: "batch", Kind: "Job", Namespace: "apps", Name: name})
		if len(name) > 63 {
			t.Errorf("%s has more than 63 characters", name)
		}
	}
	want := map[string]bool{
		"j": true, "k": false, "migrate-0123456789": true, "migrate-": false, "migrate-012345678": false, "migrate-0123456789a": false,
		"migrate-not-hex-00": false, strings.Repeat("a", 53) + "0123456789": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if hooks.Has(render.ObjectID{Group: "batch", Kind: "Job", Namespace: "other", Name: "j"}) {
		t.Error("an object of another namespace is a hook")
	}
}

func TestAPodThatIsAHookHasToEnd(t *testing.T) {
	for phase, want := range map[string]Verdict{"": Progressing, "Pending": Progressing, "Running": Progressing, "Succeeded": Healthy, "Failed": Failed} {
		pod := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
			"status": map[string]any{"phase": phase, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
		}}
		if got := AssessHook(pod); got.Verdict != want {
			t.Errorf("phase %q: %v, want %v", phase, got.Verdict, want)
		}
	}
}
