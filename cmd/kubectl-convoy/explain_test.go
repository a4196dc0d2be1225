package main

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestErrorsOfWhatTheObserverAnswersNameTheNextMove(t *testing.T) {
	apiserver := "convoy-apiserver, which serves subresources.convoy.dev, is not reachable"
	unavailable := func(message string) error { return refused(503, metav1.StatusReasonServiceUnavailable, message) }
	forbidden := func(subresource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "subresources.convoy.dev", Resource: "releases/" + subresource}, "podinfo", nil)
	}
	commands := map[string]string{
		"history": "release history podinfo", "diff": "release diff podinfo --render " + refB, "render": "release show podinfo --render " + refB,
	}
	for name, tc := range map[string]struct {
		failure func(subresource string) error
		says    func(subresource string) []string
		not     string
	}{
		"no store": {
			func(string) error { return unavailable("no render store: give both the same --render-store-url") },
			func(s string) []string {
				return []string{"get the " + s + " of Release podinfo in namespace apps: no render store: give both the same --render-store-url"}
			}, apiserver,
		},
		"no convoy-observer": {
			func(string) error { return unavailable("convoy-observer cannot be asked: see whether it runs") },
			func(string) []string { return []string{"convoy-observer cannot be asked: see whether it runs"} }, apiserver,
		},
		"no convoy-apiserver": {
			func(string) error { return errors.New("error trying to reach service") },
			func(string) []string {
				return []string{apiserver, "kubectl get apiservice v1alpha1.subresources.convoy.dev"}
			}, "\x00",
		},
		"no such render": {
			func(string) error { return refused(404, metav1.StatusReasonNotFound, "the store does not have it") },
			func(string) []string { return []string{"the store does not have it"} }, "There is no Release",
		},
		"no such Release": {
			func(string) error {
				return apierrors.NewNotFound(schema.GroupResource{Group: "convoy.dev", Resource: "releases"}, "podinfo")
			},
			func(string) []string {
				return []string{"There is no Release podinfo in namespace apps", "kubectl convoy release list -n apps"}
			}, "\x00",
		},
		"no right": {
			forbidden,
			func(s string) []string {
				return []string{"You need the verb get on releases/" + s + " of subresources.convoy.dev in namespace apps. The ClusterRole convoy-view grants it."}
			}, apiserver,
		},
		"too slow": {
			func(string) error {
				return apierrors.NewTimeoutError("convoy-observer did not answer within 55s: try again", 0)
			},
			func(string) []string { return []string{"did not answer within 55s: try again"} }, apiserver,
		},
	} {
		for subresource, line := range commands {
			t.Run(name+"/"+subresource, func(t *testing.T) {
				server := &answers{release: appliedRelease(), failures: map[string]error{subresource: tc.failure(subresource)}}
				got := server.does(t, line)
				want := codeError
				if subresource == "diff" {
					want = codeTrouble
				}
				if got.code != want || got.stdout != "" || strings.Contains(got.stderr, tc.not) {
					t.Errorf("got %+v, want code %d, and nothing of %q", got, want, tc.not)
				}
				for _, want := range tc.says(subresource) {
					if !strings.Contains(got.stderr, want) {
						t.Errorf("%q is missing in\n%s", want, got.stderr)
					}
				}
			})
		}
	}
}
