package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// diffOf is a diff with some actions.
func diffOf(actions ...subresources.ChangeAction) *subresources.ReleaseDiff {
	d := everyAction()
	d.Changes = []subresources.ReleaseChange{}
	for _, action := range actions {
		d.Changes = append(d.Changes, change(action, "v1", "ConfigMap", "apps", "podinfo"))
	}
	return d
}

func TestDiffExitsLikeKubectlDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		server *answers
		line   string
		code   int
		stdout string
		stderr string
	}{
		"the same":              {&answers{diff: diffOf()}, "release diff podinfo", 0, "Nothing would change\n", ""},
		"kept is no difference": {&answers{diff: diffOf("keep")}, "release diff podinfo", 0, "Nothing would change: 1 to keep\n", ""},
		"something to create":   {&answers{diff: diffOf("create")}, "release diff podinfo", 1, "1 to create\n", ""},
		"something to update":   {&answers{diff: diffOf("update")}, "release diff podinfo", 1, "1 to update\n", ""},
		"something to delete":   {&answers{diff: diffOf("keep", "delete")}, "release diff podinfo", 1, "1 to delete, 1 to keep\n", ""},
		"refused":               {&answers{diff: diffOf("refuse")}, "release diff podinfo", 1, "The apply would be refused", ""},
		"the same in JSON":      {&answers{diff: diffOf()}, "release diff podinfo -o json", 0, `"changes": []`, ""},
		"different in YAML":     {&answers{diff: diffOf("create")}, "release diff podinfo -o yaml", 1, "action: create", ""},
		"an error of the server": {
			&answers{failures: map[string]error{"diff": refused(503, metav1.StatusReasonServiceUnavailable, "there is no render store")}},
			"release diff podinfo", 2, "", "there is no render store",
		},
		"no such render": {&answers{release: appliedRelease()}, "release diff podinfo --render 00000000", 2, "", "begins with 00000000"},
		"no cluster":     {&answers{}, "release diff podinfo --server http://127.0.0.1:1", 2, "", "connection refused"},
		"no name":        {&answers{}, "release diff", 2, "", "needs the name of a Release"},
		"no render":      {&answers{}, "release diff podinfo --render latest", 2, "", "a render is sha256: and 64 lower-case hex digits"},
		"an empty one":   {&answers{}, "release diff podinfo --render=", 2, "", "a render is sha256: and 64 lower-case hex digits"},
		"no such format": {&answers{}, "release diff podinfo -o wide", 2, "", "there is no format"},
	} {
		t.Run(name, func(t *testing.T) {
			args := tc.server.start(t)
			got := execute(t.Context(), append(args, strings.Fields(tc.line)...)...)
			if got.code != tc.code || !strings.Contains(got.stdout, tc.stdout) || !strings.Contains(got.stderr, tc.stderr) {
				t.Errorf("got %+v, want code %d, %q on stdout, %q on stderr", got, tc.code, tc.stdout, tc.stderr)
			}
			if (tc.stdout == "") != (got.stdout == "") || (tc.stderr == "") != (got.stderr == "") {
				t.Errorf("got %+v, want nothing where nothing is to be", got)
			}
		})
	}
}

func TestDiffIsTheTextWithoutColorsWhereThereIsNoTerminal(t *testing.T) {
	colorTerminal(t)
	got := (&answers{diff: everyAction()}).does(t, "release diff podinfo")
	var want bytes.Buffer
	if err := writeDiff(&want, everyAction(), false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), got.stdout); diff != "" || strings.Contains(got.stdout, "\x1b") {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffOnATerminalHasColorsAndTellsThatItIsAtWork(t *testing.T) {
	colorTerminal(t)
	out, progress := newTerminal(t), newTerminal(t)
	server := &answers{diff: everyAction(), warning: "look out", gate: make(chan struct{})}
	args := append([]string{"release", "diff", "podinfo"}, server.start(t)...)
	code := make(chan int)
	go func() {
		code <- run(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: out.File, ErrOut: progress.File}, args)
	}()
	progress.awaits(t, "\r\x1b[KComparing podinfo with the cluster (1s)")
	close(server.gate)
	if got := <-code; got != codeDiffers {
		t.Errorf("code %d, want %d", got, codeDiffers)
	}
	if text := colors.Replace(out.text(t)); !strings.Contains(text, "{yellow}update Deployment.apps apps/podinfo{}") {
		t.Errorf("no colors in %q", text)
	}
	text := progress.text(t)
	for _, want := range []string{"\r\x1b[KComparing podinfo with the cluster\r", "\r\x1b[K\x1b[33;1mWarning:\x1b[0m look out\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("shown is %q, want %q", text, want)
		}
	}
	if !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("shown is %q, and something is left of it", text)
	}
}

func TestDiffInJSONAndYAMLIsWhatTheServerAnswers(t *testing.T) {
	for format, read := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(b []byte, into any) error { return yaml.Unmarshal(b, into) },
	} {
		got := (&answers{diff: everyAction()}).does(t, "release diff podinfo -o "+format)
		var diff subresources.ReleaseDiff
		if err := read([]byte(got.stdout), &diff); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if d := cmp.Diff(everyAction(), &diff); d != "" {
			t.Errorf("%s (-want +got):\n%s", format, d)
		}
	}
}

func TestTheRenderOfADiffMayBeTheBeginningOfAKnownOne(t *testing.T) {
	known := func() *answers {
		return &answers{release: appliedRelease(), diff: diffOf(), history: append(someEntries(), many(600)...)}
	}
	hidden := known()
	hidden.release = nil
	unreadable := known()
	unreadable.failures = map[string]error{"history": refused(503, metav1.StatusReasonServiceUnavailable, "there is no render store")}
	old := many(600)[550].RenderRef
	ask := func(ref string) []string { return []string{"diff?render=" + strings.ReplaceAll(ref, ":", "%3A")} }
	pages := []string{"history?limit=500", "history?continue=500&limit=500"}
	for name, tc := range map[string]struct {
		server *answers
		typed  string
		asked  []string
		says   []string // on stderr, if it fails
	}{
		"all digits, whether known or not":     {known(), "sha256:" + strings.Repeat("0", 64), ask("sha256:" + strings.Repeat("0", 64)), nil},
		"of one in the status":                 {known(), "3a5f0c9be1d2", ask(refA), nil},
		"of one on the second page":            {known(), "sha256:00000550", append(pages, ask(old)...), nil},
		"of one of a Release that is hidden":   {hidden, "b7e1406f", append(pages, ask(refB)...), nil},
		"of two":                               {hidden, "3a5f0c9be1", pages, []string{"is the beginning of 2 renders", refA, refC}},
		"of none":                              {known(), "12345678", pages, []string{"it knows these:", refA, refB, "and 593 older ones"}},
		"of one in the status, without store":  {unreadable, "3a5f0c9be1d2", ask(refA), nil},
		"of one in the history, without store": {unreadable, "b7e1406f", pages[:1], []string{"Type all 64 digits", "there is no render store"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.server.asked = nil
			got := tc.server.does(t, "release diff podinfo --render "+tc.typed)
			if diff := cmp.Diff(tc.asked, tc.server.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if failed := got.code != codeDone; failed != (tc.says != nil) {
				t.Fatalf("got %+v", got)
			}
			for _, want := range tc.says {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%q is missing in\n%s", want, got.stderr)
				}
			}
		})
	}
}
