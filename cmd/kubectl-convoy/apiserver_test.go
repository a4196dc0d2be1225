package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apiserver/apiservertest"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// world is a cluster with convoy-apiserver, and the people who use it.
type world struct {
	*testenv.Environment
	observer *apiservertest.Observer
	alice    testenv.User // an operator everywhere
	bob      testenv.User // another one
	vera     testenv.User // may look, and nothing else
	paul     testenv.User // may pin, and nothing else
}

// TestThroughTheAPIServer runs what needs convoy-apiserver, behind a real kube-apiserver.
func TestThroughTheAPIServer(t *testing.T) {
	log.SetLogger(logr.Discard())
	env := testenv.Start(t, testenv.WithAggregation())
	observer := apiservertest.StartObserver(t, env)
	apiservertest.Start(t, env, observer.Behind(t))
	w := &world{env, observer, env.AddUser(t, "alice"), env.AddUser(t, "bob"), env.AddUser(t, "vera"), env.AddUser(t, "paul")}
	w.bind(t, "convoy-view", "alice", "bob", "vera")
	w.bind(t, "convoy-pin", "alice", "bob", "paul")
	for name, test := range map[string]func(*testing.T, *world){
		"PinWithoutARenderFreezes":                    pinWithoutARenderFreezes,
		"PinOfAnotherRenderRollsBack":                 pinOfAnotherRenderRollsBack,
		"PinReplacesAPinAsAWhole":                     pinReplacesAPinAsAWhole,
		"AnUnknownRenderIsAskedAbout":                 anUnknownRenderIsAskedAbout,
		"ADryRunChangesNothing":                       aDryRunChangesNothing,
		"OutputOfPinAndSyncIsWhatTheServerAnswers":    outputIsWhatTheServerAnswers,
		"UnpinFollowsTheSourceAgain":                  unpinFollowsTheSourceAgain,
		"SyncStampsARequest":                          syncStampsARequest,
		"RefusalsAreShownInFull":                      refusalsAreShownInFull,
		"APolicyThatForbidsIsNoMissingRole":           aPolicyThatForbidsIsNoMissingRole,
		"WhoMayOnlyPinCanPin":                         whoMayOnlyPinCanPin,
		"OfTwoWhoPinAtOnceTheSecondIsTold":            ofTwoWhoPinAtOnceTheSecondIsTold,
		"APinGetsThroughWhileTheStatusIsWrittenOften": aPinGetsThroughStatusWrites,
		"WaitUntilApplied":                            waitUntilApplied,
		"WaitTellsWhyItCannotBe":                      waitTellsWhyItCannotBe,
		"WaitGoesOnWhileConvoyTriesOn":                waitGoesOnWhileConvoyTriesOn,
		"WaitEndsWhenTheTimeIsUp":                     waitEndsWhenTheTimeIsUp,
		"WaitEndsWhenThePinIsChanged":                 waitEndsWhenThePinIsChanged,
		"WaitSurvivesALostConnection":                 waitSurvivesALostConnection,
		"CtrlCLeavesThePin":                           ctrlCLeavesThePin,
		"HistoryIsThatOfTheStore":                     historyIsThatOfTheStore,
		"DiffPreviewsARollback":                       diffPreviewsARollback,
		"NoValueOfASecretIsPrinted":                   noValueOfASecretIsPrinted,
		"ShowPrintsAStoredRender":                     showPrintsAStoredRender,
		"WhatTheObserverRefusesIsTold":                whatTheObserverRefusesIsTold,
		"WhoMayNotLookIsToldWhatToAskFor":             whoMayNotLookIsToldWhatToAskFor,
		"WithoutAStoreThereIsADiffOfTheSource":        withoutAStoreThereIsADiffOfTheSource,
		"PinTakesARenderOfTheHistory":                 pinTakesARenderOfTheHistory,
		"RendersAreCompletedFromTheHistory":           rendersAreCompletedFromTheHistory,
		"AStoreInMemoryHasNoHistory":                  aStoreInMemoryHasNoHistory,
		"TheObserverMayBeDown":                        theObserverMayBeDown,
		"RenderGivesTheRenderRefOfTheCluster":         renderGivesTheRenderRefOfTheCluster,
		"RenderFromTheClusterHasTheRightsOfTheUser":   renderFromTheClusterTakesTheFilesFirstAndHasTheRightsOfTheUser,
	} {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
}

// bind gives users a ClusterRole everywhere.
func (w *world) bind(t *testing.T, role string, users ...string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, user := range users {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	if err := w.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}

// release creates podinfo in a namespace of its own. It runs refA, was last healthy with refB, and last tried refC.
func (w *world) release(t *testing.T) (namespace string) {
	t.Helper()
	namespace = w.Namespace(t)
	r := named("podinfo")
	r.Status.LastHealthy, r.Status.LastAttempted = record(refB, "", 0), record(refC, "", 0)
	create(t, w.Environment, namespace, r)
	return namespace
}

// now reads podinfo.
func (w *world) now(t *testing.T, namespace string) *v1alpha1.Release {
	t.Helper()
	r := &v1alpha1.Release{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "podinfo"}, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// expect says whether a command did what it should, and printed all of that.
func expect(t *testing.T, got outcome, code int, stdout, stderr []string) {
	t.Helper()
	if got.code != code {
		t.Errorf("code %d, want %d", got.code, code)
	}
	for _, stream := range []struct {
		name, text string
		want       []string
	}{{"stdout", got.stdout, stdout}, {"stderr", got.stderr, stderr}} {
		for _, want := range stream.want {
			if !strings.Contains(stream.text, want) {
				t.Errorf("%s lacks %q", stream.name, want)
			}
		}
		if len(stream.want) == 0 && stream.text != "" {
			t.Errorf("%s is not empty", stream.name)
		}
	}
	if t.Failed() {
		t.Fatalf("stdout:\n%s\nstderr:\n%s", got.stdout, got.stderr)
	}
}

func pinWithoutARenderFreezes(t *testing.T, w *world) {
	namespace := w.release(t)
	got := execute(t.Context(), "rel", "pin", "podinfo", "--reason", "INC 1234", "--expires-in", "7d", "-n", namespace, "--kubeconfig", w.alice.Kubeconfig)
	expect(t, got, codeDone, []string{
		"Release podinfo is pinned on render 3a5f0c9be1d2, a freeze", "The pin ends by itself in 7d", "To undo it: kubectl convoy release unpin podinfo -n " + namespace,
	}, nil)
	pin := w.now(t, namespace).Pin
	if pin.RenderRef != refA || pin.PinnedBy != "alice" || pin.Reason != "INC 1234" {
		t.Errorf("the pin is %+v", pin)
	}
	if left := time.Until(pin.ExpiresAt.Time); left > 7*24*time.Hour+time.Second || left < 7*24*time.Hour-time.Minute {
		t.Errorf("the pin ends in %s, want 7 days", left)
	}
}

func pinOfAnotherRenderRollsBack(t *testing.T, w *world) {
	for typed, want := range map[string]string{"b7e1406f9c33": refB, refB: refB, "sha256:3a5f0c9be1ff": refC} {
		namespace := w.release(t)
		got := as(t.Context(), w.alice, namespace, "release pin podinfo --render-ref "+typed)
		expect(t, got, codeDone, []string{"is pinned on render " + short(want) + ", a rollback"}, nil)
		if pin := w.now(t, namespace).Pin; pin.RenderRef != want {
			t.Errorf("%s pinned %s, want %s", typed, pin.RenderRef, want)
		}
	}
	namespace := w.release(t)
	got := as(t.Context(), w.alice, namespace, "release pin podinfo --render-ref 3a5f0c9be1")
	expect(t, got, codeError, nil, []string{"is the beginning of 2 renders", refA, refC})
	got = as(t.Context(), w.alice, namespace, "release pin podinfo --render-ref 00000000")
	expect(t, got, codeError, nil, []string{"no render that Release podinfo knows begins with 00000000", refA})
	if pin := w.now(t, namespace).Pin; pin != nil {
		t.Errorf("a render that nobody can tell was pinned: %+v", pin)
	}
}

func pinReplacesAPinAsAWhole(t *testing.T, w *world) {
	namespace := w.release(t)
	expect(t, as(t.Context(), w.bob, namespace, "release pin podinfo --reason INC-1 --expires-in 1h"), codeDone, []string{"a freeze"}, nil)
	got := as(t.Context(), w.alice, namespace, "release pin podinfo --render-ref b7e1406f")
	expect(t, got, codeDone, []string{"a rollback"}, []string{"This replaces a pin: bob pinned it on render 3a5f0c9be1d2: INC-1"})
	if pin := w.now(t, namespace).Pin; pin.RenderRef != refB || pin.PinnedBy != "alice" || pin.Reason != "" || pin.ExpiresAt != nil {
		t.Errorf("something of the old pin is left: %+v", pin)
	}
}

func anUnknownRenderIsAskedAbout(t *testing.T, w *world) {
	unknown := "sha256:" + strings.Repeat("0", 64)
	namespace := w.release(t)
	got := as(t.Context(), w.alice, namespace, "release pin podinfo --render-ref "+unknown)
	expect(t, got, codeError, nil, []string{"the input is no terminal", "add --yes"})
	if pin := w.now(t, namespace).Pin; pin != nil {
		t.Errorf("it was pinned without an answer: %+v", pin)
	}
	expect(t, as(t.Context(), w.alice, namespace, "release pin podinfo --yes --render-ref "+unknown), codeDone, []string{"a rollback"}, nil)
	if pin := w.now(t, namespace).Pin; pin == nil || pin.RenderRef != unknown {
		t.Errorf("the pin is %+v, want %s", pin, unknown)
	}
}

func aDryRunChangesNothing(t *testing.T, w *world) {
	namespace := w.release(t)
	for _, line := range []string{"release pin podinfo --dry-run=server", "release pin podinfo --dry-run server --render-ref " + strings.Repeat("0", 64)} {
		expect(t, as(t.Context(), w.alice, namespace, line), codeDone, []string{"would be pinned", "Nothing was changed (server dry run)"}, nil)
	}
	if r := w.now(t, namespace); r.Pin != nil || r.Annotations != nil {
		t.Errorf("a dry run left the pin %+v and the annotations %v", r.Pin, r.Annotations)
	}
}

func outputIsWhatTheServerAnswers(t *testing.T, w *world) {
	namespace := w.release(t)
	var pin subresources.ReleasePin
	got := as(t.Context(), w.alice, namespace, "release pin podinfo -o json")
	if err := json.Unmarshal([]byte(got.stdout), &pin); err != nil || pin.Kind != "ReleasePin" || pin.Spec.RenderRef != refA || pin.Status.Intent != "freeze" {
		t.Errorf("pin -o json: %v, %+v", err, got)
	}
	var sync subresources.ReleaseSync
	got = as(t.Context(), w.alice, namespace, "release sync podinfo -o json")
	if err := json.Unmarshal([]byte(got.stdout), &sync); err != nil || sync.Kind != "ReleaseSync" || sync.Status.RequestedAt == "" {
		t.Errorf("sync -o json: %v, %+v", err, got)
	}
	expect(t, as(t.Context(), w.alice, namespace, "release pin podinfo -o name"), codeDone,
		[]string{"releasepin.subresources.convoy.dev/podinfo\n"}, []string{"This replaces a pin"})
}

func unpinFollowsTheSourceAgain(t *testing.T, w *world) {
	namespace := w.release(t)
	expect(t, as(t.Context(), w.alice, namespace, "release unpin podinfo"), codeDone, []string{"Release podinfo is not pinned."}, nil)
	expect(t, as(t.Context(), w.bob, namespace, "release pin podinfo --reason INC-1"), codeDone, []string{"a freeze"}, nil)
	got := as(t.Context(), w.alice, namespace, "release unpin podinfo")
	expect(t, got, codeDone, []string{"is unpinned, and follows its source again. Before, bob pinned it on render 3a5f0c9be1d2: INC-1"}, nil)
	if r := w.now(t, namespace); r.Pin != nil || r.Annotations[v1alpha1.UnpinnedByAnnotation] != "alice" {
		t.Errorf("after the unpin: pin %+v, annotations %v", r.Pin, r.Annotations)
	}
}

func syncStampsARequest(t *testing.T, w *world) {
	namespace := w.release(t)
	expect(t, as(t.Context(), w.alice, namespace, "release sync podinfo"), codeDone, []string{"Release podinfo is asked to sync."}, nil)
	at, err := time.Parse(time.RFC3339Nano, w.now(t, namespace).Annotations[v1alpha1.SyncRequestedAtAnnotation])
	if err != nil || time.Since(at) > time.Minute {
		t.Errorf("the request is of %s (error %v), want one of just now", at, err)
	}
}

func refusalsAreShownInFull(t *testing.T, w *world) {
	namespace := w.release(t)
	fresh := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fresh"}}
	fresh.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}
	if err := w.Client.Create(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		user testenv.User
		line string
		want []string
	}{
		"before the first successful render": {w.alice, "release pin fresh", []string{
			"patch the pin of Release fresh in namespace " + namespace, "spec.renderRef", "no render of this Release was applied in full yet",
		}},
		"a reason that is too long": {w.alice, "release pin podinfo --reason " + strings.Repeat("x", 1025), []string{"spec.reason: Too long"}},
		"a Release that is not there": {w.alice, "release pin nope", []string{
			`releases.convoy.dev "nope" not found`, "There is no Release nope in namespace " + namespace, "kubectl convoy release list -n " + namespace,
		}},
		"the same, for an unpin": {w.alice, "release unpin nope", []string{"There is no Release nope"}},
		"the same, for a sync":   {w.alice, "release sync nope", []string{"There is no Release nope"}},
		"without the right to pin": {w.vera, "release pin podinfo", []string{
			`User "vera" cannot get resource "releases/pin"`,
			"You need the verb get on releases/pin of subresources.convoy.dev in namespace " + namespace + ". The ClusterRole convoy-operator grants it.",
		}},
		"without the right to sync": {w.vera, "release sync podinfo", []string{"You need the verb create on releases/sync of subresources.convoy.dev"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, as(t.Context(), tc.user, namespace, tc.line), codeError, nil, tc.want)
		})
	}
}

func aPolicyThatForbidsIsNoMissingRole(t *testing.T, w *world) {
	namespace := w.release(t)
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "no-pins-on-fridays"}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{"subresources.convoy.dev"}, APIVersions: []string{"*"}, Resources: []string{"releases/pin"}},
		},
	}}}
	policy.Spec.Validations = []admissionv1.Validation{{
		Expression: `request.namespace != "` + namespace + `"`, Message: "nobody pins on Fridays", Reason: ptr.To(metav1.StatusReasonForbidden),
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}
	for _, obj := range []client.Object{policy, binding} {
		if err := w.Client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.Client.Delete(context.Background(), obj); err != nil {
				t.Error(err)
			}
		})
	}
	var got outcome
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		got = as(ctx, w.alice, namespace, "release pin podinfo --dry-run=server")
		return got.code != codeDone, nil
	})
	if err != nil {
		t.Fatalf("the policy does not hold: %v", err)
	}
	expect(t, got, codeError, nil, []string{"nobody pins on Fridays"})
	if strings.Contains(got.stderr, "ClusterRole") {
		t.Errorf("a role is offered for what a policy forbids:\n%s", got.stderr)
	}
}

func whoMayOnlyPinCanPin(t *testing.T, w *world) {
	namespace := w.release(t)
	expect(t, as(t.Context(), w.paul, namespace, "release pin podinfo"), codeDone, []string{"a freeze"}, nil)
	expect(t, as(t.Context(), w.paul, namespace, "release unpin podinfo"), codeDone, []string{"is unpinned"}, nil)
	expect(t, as(t.Context(), w.paul, namespace, "release sync podinfo"), codeDone, []string{"asked to sync"}, nil)
	// What the Release knows is hidden, so every render is an unknown one.
	expect(t, as(t.Context(), w.paul, namespace, "release pin podinfo --render-ref "+refB), codeError, nil, []string{"add --yes"})
	expect(t, as(t.Context(), w.paul, namespace, "release pin podinfo --yes --render-ref "+refB), codeDone, []string{"a rollback"}, nil)
	got := as(t.Context(), w.paul, namespace, "release pin podinfo --render-ref b7e1406f9c33")
	expect(t, got, codeError, nil, []string{"You need the verb get on releases of convoy.dev in namespace " + namespace, "convoy-view"})
	got = as(t.Context(), w.paul, namespace, "release pin podinfo --wait")
	expect(t, got, codeWaitEnded, []string{"a freeze"}, []string{"You need the verb list on releases of convoy.dev", "The pin stays in place"})
}
