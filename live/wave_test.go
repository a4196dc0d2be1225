package live

import (
	"strings"
	"testing"
)

func TestTheWaveIsConvoysOrArgos(t *testing.T) {
	for annotations, want := range map[string]struct {
		wave int32
		err  string
	}{
		``:                                   {0, ""},
		`convoy.dev/sync-wave: "3"`:          {3, ""},
		`argocd.argoproj.io/sync-wave: "-2"`: {-2, ""},
		`argocd.argoproj.io/sync-wave: "1", convoy.dev/sync-wave: "2"`: {2, ""},
		`argocd.argoproj.io/sync-wave: first`:                          {0, `annotation argocd.argoproj.io/sync-wave: "first" is not an integer of 32 bits`},
		`convoy.dev/sync-wave: "3000000000"`:                           {0, "annotation convoy.dev/sync-wave"},
	} {
		got, err := WaveOf(object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {`+annotations+`}}}`))
		if got != want.wave || (err == nil) != (want.err == "") || (err != nil && !strings.Contains(err.Error(), want.err)) {
			t.Errorf("%s: wave %d and error %v, want %d and %q", annotations, got, err, want.wave, want.err)
		}
	}
}
