package render

import (
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"
)

// isTest says whether a chart's object is run by helm test alone.
func isTest(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[release.HookAnnotation].(string)
	if value == "" {
		return false
	}
	for event := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.TrimSpace(event)) {
		case release.HookTest.String(), "test-success":
		default:
			return false
		}
	}
	return true
}
