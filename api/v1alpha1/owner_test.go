package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

func TestAShortNameIsItsOwnLabelValue(t *testing.T) {
	for _, name := range []string{"a", "app", "app.v2", strings.Repeat("a", 63)} {
		if got := v1alpha1.OwnerLabelValue(name); got != name {
			t.Errorf("label value of %q: got %q", name, got)
		}
	}
}

func TestLabelValuesAreValidAndDistinct(t *testing.T) {
	long := strings.Repeat("a", 64)
	names := []string{
		"a", "app", "app-2", "app.2",
		strings.Repeat("a", 63), long, strings.Repeat("a", 253),
		long + "-b", long + ".b", long + "b", // the same beginning
		strings.Repeat("b", 51) + "-" + strings.Repeat("c", 12), // cut at a dash
		strings.Repeat("b", 51) + "." + strings.Repeat("c", 12), // cut at a dot
		strings.Repeat("d", 30) + strings.Repeat(".-", 10) + strings.Repeat("d", 203),
		strings.Repeat("0.", 126) + "0",
	}
	// No Release may have the value of another as its name.
	for _, name := range names {
		if value := v1alpha1.OwnerLabelValue(name); value != name && len(validation.IsDNS1123Subdomain(value)) == 0 {
			t.Errorf("the label value of %q is %q, which another Release may have as its name", name, value)
		}
	}
	seen := map[string]string{}
	for _, name := range names {
		value := v1alpha1.OwnerLabelValue(name)
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			t.Errorf("label value of %q: %q is invalid: %v", name, value, problems)
		}
		if other, ok := seen[value]; ok {
			t.Errorf("%q and %q have the same label value %q", name, other, value)
		}
		seen[value] = name
	}
}

func TestOwnerLabelsNameTheRelease(t *testing.T) {
	want := map[string]string{"convoy.dev/release-name": "app", "convoy.dev/release-namespace": "team"}
	if diff := cmp.Diff(want, v1alpha1.OwnerLabels("team", "app")); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
