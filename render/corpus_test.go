package render

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const corpus = "../../shared/corpus"

// buildCorpus renders a folder of the corpus, through a root that no file can leave.
func buildCorpus(t testing.TB, dir string) Render {
	t.Helper()
	root, err := os.OpenRoot(corpus)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r, err := Build(t.Context(), root.FS(), dir, v1alpha1.RenderSpec{Type: v1alpha1.RenderAuto})
	if err != nil {
		t.Fatalf("build %s: %v", dir, err)
	}
	return r
}

func TestCorpusBuilds(t *testing.T) {
	for dir, objects := range map[string]int{
		"kube-prometheus/manifests":                                  0,
		"argo-cd/manifests":                                          0,
		"podinfo-6.14.0/kustomize":                                   0,
		"podinfo-6.14.0/deploy/webapp":                               0,
		"podinfo-6.14.1/kustomize":                                   0,
		"podinfo-6.14.1/deploy/webapp":                               0,
		"online-boutique/kustomize":                                  0,
		"online-boutique/kustomize/base":                             0,
		"online-boutique/kustomize/tests/memorystore-with-all-components": 0,
	} {
		t.Run(dir, func(t *testing.T) {
			r := buildCorpus(t, dir)
			if r.Len() != objects {
				t.Errorf("%d objects, want %d", r.Len(), objects)
			}
		})
	}
}

// kustomizeOnDisk is what kustomize itself makes of a folder on disk, by identity.
func kustomizeOnDisk(t testing.TB, dir string) map[ObjectID]map[string]any {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join(corpus, dir))
	if err != nil {
		t.Fatal(err)
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), abs)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[ObjectID]map[string]any{}
	for _, res := range resources.Resources() {
		encoded, err := res.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var obj unstructured.Unstructured
		if err := obj.UnmarshalJSON(encoded); err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(obj.Object, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(obj.Object, "status")
		objects[IDOf(&obj)] = obj.Object
	}
	return objects
}

func TestKustomizeOfTheCorpusIsWhatKustomizeItselfMakes(t *testing.T) {
	var dirs []string
	for _, pattern := range []string{"podinfo-*/kustomize", "online-boutique/kustomize", "online-boutique/kustomize/base", "online-boutique/kustomize/tests/*"} {
		matches, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, matches...)
	}
	if len(dirs) != 7 {
		t.Fatalf("the corpus has %d of the 7 kustomizations: %v", len(dirs), dirs)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		dir, err := filepath.Rel(corpus, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(dir, func(t *testing.T) {
			objects, err := buildCorpus(t, dir).Objects()
			if err != nil {
				t.Fatal(err)
			}
			got := map[ObjectID]map[string]any{}
			for _, obj := range objects {
				got[IDOf(obj)] = obj.Object
			}
			if diff := cmp.Diff(kustomizeOnDisk(t, dir), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
