package render

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The stored bytes are a promise: a change of a golden file gives every render that is made from now on another ref.
func TestTheStoredBytesNeverChange(t *testing.T) {
	for golden, tc := range map[string]struct{ dir, ref string }{
		"testdata/plain.golden":     {"plain", "sha256:49220982aabacfe5034fae14cc0e44c023f55f020193ab50e5665c909ab1fa94"},
		"testdata/kustomize.golden": {"kustomize/overlay", "sha256:2f4037e87ef75ee933053221904591ff1c542723a40dbc7543f683d83acf3cd8"},
	} {
		t.Run(tc.dir, func(t *testing.T) {
			r, err := Build(t.Context(), os.DirFS("testdata"), tc.dir, v1alpha1.RenderSpec{})
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(golden, r.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(r.Bytes())); diff != "" {
				t.Error(diff)
			}
			if r.Ref().String() != tc.ref {
				t.Errorf("ref %s, want %s", r.Ref(), tc.ref)
			}
		})
	}
}
