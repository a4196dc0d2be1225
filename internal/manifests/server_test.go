package manifests_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/internal/testenv"
)

// warnings gathers what an API server warns of.
type warnings []string

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	*w = append(*w, text)
}

// tryAll applies objects in a dry run, and fails for what the API server refuses or warns of.
func tryAll(t *testing.T, env *testenv.Environment, objects []*unstructured.Unstructured) {
	t.Helper()
	var warned warnings
	config := rest.CopyConfig(env.Config)
	config.WarningHandlerWithContext = &warned
	c, err := client.New(config, client.Options{Scheme: testenv.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		warned = nil
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership,
			client.DryRunAll)
		if err != nil || len(warned) > 0 {
			t.Errorf("%s %s: %v %q", object.GetKind(), object.GetName(), err, []string(warned))
		}
	}
}

func TestTheInstallationPassesAServerSideDryRun(t *testing.T) {
	env := testenv.Shared(t)
	installCertManager(t, env)
	objects := build(t, "default")
	// What is in a namespace can only be tried once it is there.
	namespace := named(objects, "Namespace")["convoy-system"]
	if err := env.Client.Create(t.Context(), namespace.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	tryAll(t, env, objects)
}

func TestTheSamplesPassAServerSideDryRun(t *testing.T) {
	tryAll(t, testenv.Shared(t), build(t, "samples"))
}
