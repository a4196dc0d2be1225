package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

func TestARefIsAllItsDigitsOrAtLeastTheFirstEight(t *testing.T) {
	digits := strings.TrimPrefix(refA, "sha256:")
	for typed, want := range map[string]refArgument{
		refA:                   refArgument(digits),
		digits:                 refArgument(digits),
		"sha256:3a5f0c9b":      "3a5f0c9b",
		"3a5f0c9be1d2":         "3a5f0c9be1d2",
		"":                     "",
		"3a5f0c9":              "", // seven digits
		"sha256:":              "",
		digits + "a":           "", // one too many
		"3A5F0C9BE1D2":         "", // upper case
		"sha512:3a5f0c9be1d2":  "",
		"latest":               "",
		"3a5f0c9be1d2/../../x": "",
		" 3a5f0c9be1d2":        "",
	} {
		got, err := parseRefArgument(typed)
		switch {
		case got != want:
			t.Errorf("%q was read as %q, want %q", typed, got, want)
		case want == "" && err == nil:
			t.Errorf("%q was accepted", typed)
		case want == "" && !strings.Contains(err.Error(), "a render is sha256: and 64 lower-case hex digits"):
			t.Errorf("%q: the error does not say what a render looks like: %v", typed, err)
		}
	}
}

func TestAPrefixNamesOneOfTheRendersThatTheReleaseKnows(t *testing.T) {
	type result struct {
		Ref   string
		Known bool
		Error string // a part of it
	}
	for name, tc := range map[string]struct {
		typed string
		known []string
		want  result
	}{
		"the beginning of one":        {"b7e1406f", []string{refA, refB}, result{refB, true, ""}},
		"the beginning of two":        {"3a5f0c9b", []string{refA, refB, refC}, result{"", false, "the beginning of 2 renders"}},
		"enough to tell them apart":   {"3a5f0c9be1f", []string{refA, refB, refC}, result{refC, true, ""}},
		"all digits of a known one":   {refA, []string{refA, refC}, result{refA, true, ""}},
		"all digits of an unknown":    {refA, []string{refB}, result{refA, false, ""}},
		"the beginning of an unknown": {"3a5f0c9b", []string{refB}, result{"", false, "no render that Release podinfo knows begins with 3a5f0c9b"}},
		"nothing is known":            {"3a5f0c9b", nil, result{"", false, "nothing was applied yet"}},
	} {
		t.Run(name, func(t *testing.T) {
			typed, err := parseRefArgument(tc.typed)
			if err != nil {
				t.Fatal(err)
			}
			got := result{}
			got.Ref, got.Known, err = typed.resolve("podinfo", knownRenders{refs: tc.known})
			if err != nil {
				if tc.want.Error == "" || !strings.Contains(err.Error(), tc.want.Error) {
					t.Fatalf("got the error %v, want one with %q", err, tc.want.Error)
				}
				got.Error = tc.want.Error
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheStatusNamesWhatTheReleaseKnows(t *testing.T) {
	status := v1alpha1.ReleaseStatus{LastAttempted: record(refB, "", 0), LastSuccessful: record(refA, "", 0), LastHealthy: record(refA, "", 0)}
	if diff := cmp.Diff([]string{refA, refB}, statusRefs(status)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := statusRefs(v1alpha1.ReleaseStatus{}); got != nil {
		t.Errorf("an empty status knows %v", got)
	}
}
