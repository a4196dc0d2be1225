package manifests_test

import (
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/render"
)

// A pod that takes more than its limit is killed with all its processes, so a hostile chart or kustomization must stay below it.
func TestPodsHaveMemoryForWhatTheyRender(t *testing.T) {
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	const own = 1 << 30 // of the program itself
	for _, name := range []string{"manager", "observer"} {
		content, err := os.ReadFile(filepath.Join(root, "config", name, "deployment.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var deployment appsv1.Deployment
		if err := yaml.UnmarshalStrict(content, &deployment); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		limit := deployment.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().Value()
		if limit < render.ProcessMemory+own {
			t.Errorf("config/%s: the memory limit is %d MiB, want at least %d MiB", name, limit>>20, (render.ProcessMemory+own)>>20)
		}
	}
}
