package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// someEntries are entries with all marks.
func someEntries() []subresources.ReleaseHistoryEntry {
	bad, good, old := entry(refB, "9f00", 5*time.Minute), entry(refA, "0b4c1d5e", 2*time.Hour), entry(refC, "77aa01f3", 72*time.Hour)
	bad.Current = true
	good.Pinned, good.Healthy = true, true
	old.Size = nil
	old.Summary = "ConfigMap/files@\x1b[31msha256:00"
	return []subresources.ReleaseHistoryEntry{bad, good, old}
}

func TestTableOfAHistory(t *testing.T) {
	for name, tc := range map[string]struct {
		wide bool
		want string
	}{
		"as it is": {false, `
RENDER         SYNCED AT              SUMMARY                                                       MARKS
b7e1406f9c33   2026-11-29T11:55:00Z   https://git.example.com/team/podinfo.git@main@sha1:9f00       current
3a5f0c9be1d2   2026-11-29T10:00:00Z   https://git.example.com/team/podinfo.git@main@sha1:0b4c1d5e   pinned,healthy
3a5f0c9be1ff   2026-11-26T12:00:00Z   ConfigMap/files@^[[31msha256:00                               gone
`},
		"wide": {true, `
RENDER         SYNCED AT              SUMMARY                                                       MARKS            AGE    SIZE      REF
b7e1406f9c33   2026-11-29T11:55:00Z   https://git.example.com/team/podinfo.git@main@sha1:9f00       current          5m     12.1KiB   REF_B
3a5f0c9be1d2   2026-11-29T10:00:00Z   https://git.example.com/team/podinfo.git@main@sha1:0b4c1d5e   pinned,healthy   120m   12.1KiB   REF_A
3a5f0c9be1ff   2026-11-26T12:00:00Z   ConfigMap/files@^[[31msha256:00                               gone             3d     <none>    REF_C
`},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := writeRows(&got, historyColumns, historyRows(someEntries(), noon), tableOptions{wide: tc.wide}); err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("REF_A", refA, "REF_B", refB, "REF_C", refC).Replace(strings.TrimPrefix(tc.want, "\n"))
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAColoredHistoryShowsWhatRunsAndWhatIsGone(t *testing.T) {
	var got []color
	for _, row := range historyRows(someEntries(), noon) {
		got = append(got, row.color)
	}
	if diff := cmp.Diff([]color{green, plain, yellow}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASizeIsShownInUnitsOf1024(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0B", 1023: "1023B", 1024: "1.0KiB", 12345: "12.1KiB", 5 << 20: "5.0MiB", 3 << 30: "3.0GiB", 4096 << 30: "4096.0GiB",
	} {
		if got := sizeOf(bytes); got != want {
			t.Errorf("%d is shown as %s, want %s", bytes, got, want)
		}
	}
}

func TestHistoryReadsPageAfterPageUntilItHasWhatIsWanted(t *testing.T) {
	for line, tc := range map[string]struct {
		shown int
		asked []string
		note  string
	}{
		"release history podinfo": {20, []string{"history?limit=20"}, "1180 older entries are not shown. --limit 0 shows all.\n"},
		"release history podinfo --limit 1199": {1199, []string{"history?limit=500", "history?continue=500&limit=500", "history?continue=1000&limit=199"},
			"1 older entry is not shown. --limit 0 shows all.\n"},
		"release history podinfo --limit 0":    {1200, []string{"history?limit=500", "history?continue=500&limit=500", "history?continue=1000&limit=500"}, ""},
		"release history podinfo --limit 2000": {1200, []string{"history?limit=500", "history?continue=500&limit=500", "history?continue=1000&limit=500"}, ""},
	} {
		t.Run(line, func(t *testing.T) {
			server := &answers{history: many(1200)}
			got := server.does(t, line+" -o name")
			if got.code != codeDone || got.stderr != tc.note {
				t.Errorf("code %d, stderr %q; want %q", got.code, got.stderr, tc.note)
			}
			refs := strings.Fields(got.stdout)
			for i, ref := range refs {
				if !strings.HasPrefix(ref, fmt.Sprintf("sha256:%08d", i)) {
					t.Fatalf("line %d is %s", i, ref)
				}
			}
			if len(refs) != tc.shown {
				t.Errorf("%d entries, want %d", len(refs), tc.shown)
			}
			if diff := cmp.Diff(tc.asked, server.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheHistoryInJSONIsOnePageOfAllThatWasRead(t *testing.T) {
	server := &answers{history: many(1200)}
	for line, want := range map[string]struct {
		items int
		more  string
		left  int64
	}{
		"release history podinfo --limit 700 -o json": {700, "700", 500},
		"release history podinfo --limit 0 -o json":   {1200, "", 0},
	} {
		got := server.does(t, line)
		var history subresources.ReleaseHistory
		if err := json.Unmarshal([]byte(got.stdout), &history); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var left int64
		if history.RemainingItemCount != nil {
			left = *history.RemainingItemCount
		}
		if history.Kind != "ReleaseHistory" || len(history.Items) != want.items || history.Continue != want.more || left != want.left {
			t.Errorf("%s: %s with %d items, continue %q, %d left; want %+v", line, history.Kind, len(history.Items), history.Continue, left, want)
		}
		if diff := cmp.Diff(server.history[:want.items], history.Items); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestAnEmptyHistorySaysWhy(t *testing.T) {
	server := &answers{warning: "with mem:// each process has a render store of its own"}
	got := server.does(t, "release history podinfo")
	want := "Warning: with mem:// each process has a render store of its own\n" +
		"The history of Release podinfo in namespace apps is empty. A render gets into it when it is applied in full.\n"
	if got.code != codeDone || got.stdout != "" || got.stderr != want {
		t.Errorf("got %+v, want %q on stderr only", got, want)
	}
	got = server.does(t, "release history podinfo -o name")
	if got.code != codeDone || got.stdout != "" {
		t.Errorf("-o name: got %+v, want nothing", got)
	}
}
