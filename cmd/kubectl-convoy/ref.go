package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// among are the refs that were meant.
func (a refArgument) among(refs []string) []string {
	return slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return !strings.HasPrefix(ref, refScheme+string(a)) })
}

// resolve finds the render that was meant, and whether the Release knows it. A full ref need not be known.
func (a refArgument) resolve(name string, known knownRenders) (ref string, isKnown bool, err error) {
	meant := a.among(known.refs)
	switch {
	case len(meant) == 1:
		return meant[0], true, nil
	case len(meant) > 1:
		return "", false, fmt.Errorf("%s is the beginning of %d renders that Release %s knows; type more of it:\n  %s",
			a, len(meant), name, strings.Join(meant, "\n  "))
	case a.full():
		return refScheme + string(a), false, nil
	case known.hidden != nil:
		return "", false, fmt.Errorf("no render that Release %s knows begins with %s; %s\nType all %d digits of an older one, since its history cannot "+
			"be read: %w", name, a, known.newest("its status names"), refDigits, known.hidden)
	case len(known.refs) == 0:
		return "", false, fmt.Errorf("no render that Release %s knows begins with %s: nothing was applied yet", name, a)
	default:
		return "", false, fmt.Errorf("no render that Release %s knows begins with %s; %s", name, a, known.newest("it knows"))
	}
}
