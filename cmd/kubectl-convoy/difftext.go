package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// actions are the actions of a diff in the order in which a summary counts them, how it calls them, and their colors.
var actions = []struct {
	action  subresources.ChangeAction
	counted string
	color   color
}{
	{subresources.ChangeCreate, "to create", green},
	{subresources.ChangeUpdate, "to update", yellow},
	{subresources.ChangeDelete, "to delete", red},
	{subresources.ChangeKeep, "to keep", plain},
	{subresources.ChangeRefuse, "refused", red},
}

// writeDiff writes a diff for people.
func writeDiff(w io.Writer, diff *subresources.ReleaseDiff, p painter) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.paint(plain, "from "+fromSide(diff.From)+" to "+toSide(diff.To)))
	for i := range diff.Changes {
		b.WriteString("\n" + changeText(&diff.Changes[i], p))
	}
	summary := summaryOf(diff.Changes)
	fmt.Fprintf(&b, "\n%s\n", p.paint(summary.color, summary.text))
	_, err := io.WriteString(w, b.String())
	return err
}

// fromSide says what was last applied in full.
func fromSide(side subresources.DiffRender) string {
	if side.RenderRef == "" {
		return "nothing (no render was applied in full yet)"
	}
	return short(side.RenderRef) + " (current)"
}

// toSide says what would be applied, and where that comes from.
func toSide(side subresources.DiffRender) string {
	origin := map[subresources.DiffOrigin]string{
		subresources.DiffFromSource: "source", subresources.DiffFromPin: "pinned", subresources.DiffFromStore: "stored",
	}[side.Origin]
	about := joinNonEmpty(" ", cmp.Or(origin, string(side.Origin)), side.Summary)
	if about != "" {
		about = "(" + about + ")"
	}
	return joinNonEmpty(" ", cmp.Or(short(side.RenderRef), "nothing"), about)
}

// changeText is what would happen to an object: a line that says it, the notes, and the diff.
func changeText(change *subresources.ReleaseChange, p painter) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.paint(colorOfAction(change.Action), string(change.Action)+" "+nameOf(change)))
	for _, note := range change.Notes {
		fmt.Fprintf(&b, "%s\n", p.paint(plain, "  note: "+strings.ReplaceAll(note, "\n", "\n        ")))
	}
	inside := false // of the first hunk, before which there may be a header
	for line := range strings.Lines(change.Unified) {
		line = strings.TrimSuffix(line, "\n")
		inside = inside || strings.HasPrefix(line, "@@")
		fmt.Fprintf(&b, "%s\n", p.paint(colorOfLine(line, inside), line))
	}
	return b.String()
}

// nameOf is an object as the messages of convoy show it: Kind.group namespace/name.
func nameOf(change *subresources.ReleaseChange) string {
	kind := schema.FromAPIVersionAndKind(change.APIVersion, change.Kind).GroupKind().String()
	return kind + " " + joinNonEmpty("/", change.Namespace, change.Name)
}

func colorOfAction(action subresources.ChangeAction) color {
	for _, a := range actions {
		if a.action == action {
			return a.color
		}
	}
	return plain
}

// colorOfLine is the color of a line of a unified diff.
func colorOfLine(line string, inHunk bool) color {
	switch {
	case strings.HasPrefix(line, "@@"):
		return cyan
	case inHunk && strings.HasPrefix(line, "+"):
		return green
	case inHunk && strings.HasPrefix(line, "-"):
		return red
	}
	return plain
}

// summaryOf counts the changes.
func summaryOf(changes []subresources.ReleaseChange) line {
	count := map[subresources.ChangeAction]int{}
	for _, change := range changes {
		count[change.Action]++
	}
	refused := count[subresources.ChangeRefuse]
	var parts []string
	for _, a := range actions {
		if n := count[a.action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, a.counted))
		}
		delete(count, a.action)
	}
	for _, unknown := range slices.Sorted(maps.Keys(count)) { // to this version of the plugin
		parts = append(parts, fmt.Sprintf("%d to %s", count[unknown], unknown))
	}
	counts := strings.Join(parts, ", ")
	switch {
	case refused > 0:
		return line{red, fmt.Sprintf("%s\nThe apply would be refused because of %s, and nothing would change", counts, objects(refused))}
	case !slices.ContainsFunc(changes, differs):
		return line{plain, joinNonEmpty(": ", "Nothing would change", counts)}
	}
	return line{plain, counts}
}

// objects counts objects.
func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
