package manifests_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// build builds a kustomization.
func build(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Build(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 {
		t.Fatalf("config/%s has no objects", name)
	}
	return objects
}

// installCertManager installs the CRDs of cert-manager, from its module.
func installCertManager(t *testing.T, env *testenv.Environment) {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/cert-manager/cert-manager")
	cmd.Dir = filepath.Join(root, "hack", "certmanager")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	options := envtest.CRDInstallOptions{Paths: []string{filepath.Join(module.Dir, "deploy", "crds")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(env.Config, options); err != nil {
		t.Fatal(err)
	}
}

// named are the objects of a kind by name.
func named(objects []*unstructured.Unstructured, kind string) map[string]*unstructured.Unstructured {
	found := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		if object.GetKind() == kind {
			found[object.GetName()] = object
		}
	}
	return found
}

// typed reads an object into a Go type.
func typed[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	into := new(T)
	content, err := object.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return into
}
