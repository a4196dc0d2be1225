package render

import (
	"fmt"
	"slices"
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"
)

// hooksOf are the events of a chart's object, as its annotation names them; none if it is no hook.
func hooksOf(object map[string]any) []string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[release.HookAnnotation].(string)
	if value == "" {
		return nil
	}
	var events []string
	for event := range strings.SplitSeq(value, ",") {
		events = append(events, strings.ToLower(strings.TrimSpace(event)))
	}
	return events
}

// unsupported says whether a sync would have to run a hook at an event.
func unsupported(event string) bool {
	return !slices.Contains([]string{release.HookTest.String(), "test-success"}, event)
}

func errHooks(object map[string]any) error {
	return fmt.Errorf("%s is a hook, which convoy does not run: turn it off in the values of the chart, or make it an object of its own", object["kind"])
}
