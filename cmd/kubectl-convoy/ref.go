package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const (
	refScheme   = "sha256:"
	refDigits   = 64
	shortDigits = 12 // how many people see
	leastDigits = 8  // how many must be typed
)

var hexDigits = regexp.MustCompile(`^[0-9a-f]+$`)

// short is a ref as people see it.
func short(ref string) string {
	digits := strings.TrimPrefix(ref, refScheme)
	return digits[:min(len(digits), shortDigits)]
}

// refArgument is a --render-ref as it was typed: hex digits, all or the first ones.
type refArgument string

// parseRefArgument reads a --render-ref.
func parseRefArgument(typed string) (refArgument, error) {
	digits := strings.TrimPrefix(typed, refScheme)
	if !hexDigits.MatchString(digits) || len(digits) < leastDigits || len(digits) > refDigits {
		return "", fmt.Errorf("%q is no render: a render is sha256: and %d lower-case hex digits, of which the first %d or more will do "+
			"if the Release knows it", typed, refDigits, leastDigits)
	}
	return refArgument(digits), nil
}

// full says whether all digits were typed.
func (a refArgument) full() bool { return len(a) == refDigits }

// resolve finds the render that was meant, and whether the Release knows it. A full ref need not be known.
func (a refArgument) resolve(name string, known []string) (ref string, isKnown bool, err error) {
	meant := slices.DeleteFunc(slices.Clone(known), func(ref string) bool { return !strings.HasPrefix(ref, refScheme+string(a)) })
	switch {
	case len(meant) == 1:
		return meant[0], true, nil
	case len(meant) > 1:
		return "", false, fmt.Errorf("%s is the beginning of %d renders that Release %s knows; type more of it:\n  %s",
			a, len(meant), name, strings.Join(meant, "\n  "))
	case a.full():
		return refScheme + string(a), false, nil
	case len(known) == 0:
		return "", false, fmt.Errorf("no render that Release %s knows begins with %s: nothing was applied yet", name, a)
	default:
		return "", false, fmt.Errorf("no render that Release %s knows begins with %s; it knows those below. Type all %d digits of an older one.\n  %s",
			name, a, refDigits, strings.Join(known, "\n  "))
	}
}

// knownRefs are the renders that the status of a Release names, each once. The render store has them, if there is one.
func knownRefs(status v1alpha1.ReleaseStatus) []string {
	var refs []string
	for _, record := range []*v1alpha1.RenderRecord{status.LastSuccessful, status.LastHealthy, status.LastAttempted} {
		if record != nil && !slices.Contains(refs, record.RenderRef) {
			refs = append(refs, record.RenderRef)
		}
	}
	return refs
}
