package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// some are Releases in all states of a pin.
func some() []*v1alpha1.Release {
	frozen := pinOn(appliedRelease(), refA)
	frozen.Name = "frozen"
	ends := metav1.NewTime(noon.Add(23 * time.Hour))
	frozen.Pin.ExpiresAt = &ends
	back := pinOn(appliedRelease(), refB)
	back.Name, back.Namespace = "back", "web"
	with(back, condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPinned, "Nothing is applied\nsince \x1b[31mred"))
	with(back, condition(v1alpha1.ConditionApplied, metav1.ConditionFalse, v1alpha1.ReasonPinned, "Nothing is applied"))
	fresh := &v1alpha1.Release{}
	fresh.Name, fresh.Namespace, fresh.CreationTimestamp = "fresh", "web", before(10*time.Second)
	return []*v1alpha1.Release{appliedRelease(), frozen, back, fresh}
}

func TestTableOfReleases(t *testing.T) {
	for name, tc := range map[string]struct {
		options tableOptions
		want    string
	}{
		"of a namespace": {tableOptions{}, `
NAME      READY     APPLIED   RENDER         REVISION             PIN        AGE
podinfo   True      True      3a5f0c9be1d2   main@sha1:0b4c1d5e   <none>     2d
frozen    True      True      3a5f0c9be1d2   main@sha1:0b4c1d5e   freeze     2d
back      False     False     3a5f0c9be1d2   main@sha1:0b4c1d5e   rollback   2d
fresh     Unknown   Unknown   <none>         <none>               <none>     10s
`},
		"of all namespaces": {tableOptions{namespaces: true}, `
NAMESPACE   NAME      READY     APPLIED   RENDER         REVISION             PIN        AGE
apps        podinfo   True      True      3a5f0c9be1d2   main@sha1:0b4c1d5e   <none>     2d
apps        frozen    True      True      3a5f0c9be1d2   main@sha1:0b4c1d5e   freeze     2d
web         back      False     False     3a5f0c9be1d2   main@sha1:0b4c1d5e   rollback   2d
web         fresh     Unknown   Unknown   <none>         <none>               <none>     10s
`},
		"wide": {tableOptions{wide: true}, `
NAME      READY     APPLIED   RENDER         REVISION             PIN        AGE   PINNED BY   REASON     EXPIRES   MESSAGE
podinfo   True      True      3a5f0c9be1d2   main@sha1:0b4c1d5e   <none>     2d    <none>      <none>     <none>    Applied 2 objects of render 3a5f0c9be1d2, and all are healthy
frozen    True      True      3a5f0c9be1d2   main@sha1:0b4c1d5e   freeze     2d    alice       INC-1234   in 23h    Applied 2 objects of render 3a5f0c9be1d2, and all are healthy
back      False     False     3a5f0c9be1d2   main@sha1:0b4c1d5e   rollback   2d    alice       INC-1234   never     Nothing is applied...
fresh     Unknown   Unknown   <none>         <none>               <none>     10s   <none>      <none>     <none>    <none>
`},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.now = noon
			var got bytes.Buffer
			if err := writeTable(&got, some(), tc.options); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAColoredTableShowsWhatIsNotReady(t *testing.T) {
	var got bytes.Buffer
	if err := writeTable(&got, some(), tableOptions{now: noon, painter: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	for i, want := range []color{plain, plain, plain, red, yellow} {
		colored := strings.HasPrefix(lines[i], "\x1b[")
		if colored != (want != plain) || !strings.HasPrefix(lines[i], string(want)) {
			t.Errorf("line %d is %q, want it in %q", i, lines[i], want)
		}
	}
}

func TestWhatIsAskedForIsWhatIsTold(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	const late = 1300 * time.Millisecond // between the request and the answer
	for want, at := range map[string]time.Duration{
		"in 7d": 7*24*time.Hour - late, "in 24h": 24*time.Hour - late, "in 90m": 90*time.Minute - late, "in 5s": 5*time.Second - 300*time.Millisecond,
		"3m1s ago": -3*time.Minute - late,
	} {
		if got := relative(now.Add(at), now); got != want {
			t.Errorf("%s from now: %q, want %q", at, got, want)
		}
	}
}
