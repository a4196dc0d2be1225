package render

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const corpus = "../../shared/corpus"

// corpusFS opens the corpus as a root that no file can leave.
func corpusFS(t testing.TB) fs.FS {
	t.Helper()
	root, err := os.OpenRoot(corpus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root.FS()
}

// corpusObjects says how many objects each folder of the corpus holds, counted by hand.
var corpusObjects = map[string]int{
	"kube-prometheus/manifests":      131,
	"argo-cd/manifests":              34,
	"podinfo-6.14.0/kustomize":       3,
	"podinfo-6.14.0/deploy/webapp":   11,
	"podinfo-6.14.1/kustomize":       3,
	"podinfo-6.14.1/deploy/webapp":   11,
	"online-boutique/kustomize":      35,
	"online-boutique/kustomize/base": 35,
}

func TestCorpusBuilds(t *testing.T) {
	for dir, want := range corpusObjects {
		t.Run(dir, func(t *testing.T) {
			r, err := Build(t.Context(), corpusFS(t), dir, v1alpha1.RenderSpec{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Len() != want {
				t.Errorf("%d objects, want %d", r.Len(), want)
			}
			again, err := Build(t.Context(), corpusFS(t), dir, v1alpha1.RenderSpec{})
			if err != nil || again.Ref() != r.Ref() {
				t.Errorf("again: ref %s and error %v, want %s", again.Ref(), err, r.Ref())
			}
		})
	}
}

// byIdentity indexes objects, without what no render holds.
func byIdentity(objects ...*unstructured.Unstructured) map[ObjectID]map[string]any {
	index := map[ObjectID]map[string]any{}
	for _, obj := range objects {
		unstructured.RemoveNestedField(obj.Object, "status")
		unstructured.RemoveNestedField(obj.Object, "metadata", "creationTimestamp")
		index[IDOf(obj)] = obj.Object
	}
	return index
}

func renderByIdentity(t testing.TB, fsys fs.FS, dir string) map[ObjectID]map[string]any {
	t.Helper()
	r, err := Build(t.Context(), fsys, dir, v1alpha1.RenderSpec{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return byIdentity(objects...)
}

// kubectlReads decodes a manifest as kubectl does.
func kubectlReads(t testing.TB, content []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var raw runtime.RawExtension
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatal(err)
		case len(bytes.TrimSpace(raw.Raw)) == 0 || string(raw.Raw) == "null":
			continue
		}
		decoded, _, err := unstructured.UnstructuredJSONScheme.Decode(raw.Raw, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, isList := decoded.(*unstructured.UnstructuredList)
		if !isList {
			objects = append(objects, decoded.(*unstructured.Unstructured))
			continue
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
}

func TestPlainOfTheCorpusIsWhatKubectlReads(t *testing.T) {
	for _, dir := range []string{"kube-prometheus/manifests", "argo-cd/manifests", "podinfo-6.14.0/deploy/webapp", "podinfo-6.14.1/deploy/webapp"} {
		t.Run(dir, func(t *testing.T) {
			var want []*unstructured.Unstructured
			fsys := corpusFS(t)
			err := fs.WalkDir(fsys, dir, func(name string, _ fs.DirEntry, err error) error {
				if err != nil || path.Ext(name) != ".yaml" {
					return err
				}
				content, err := fs.ReadFile(fsys, name)
				want = append(want, kubectlReads(t, content)...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(byIdentity(want...), renderByIdentity(t, fsys, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// kustomizeMakes is what kustomize itself makes of a folder.
func kustomizeMakes(t testing.TB, fsys filesys.FileSystem, dir string) map[ObjectID]map[string]any {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	output, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return byIdentity(kubectlReads(t, output)...)
}

func TestKustomizeOfTheCorpusIsWhatKustomizeItselfMakes(t *testing.T) {
	var dirs []string
	err := filepath.WalkDir(corpus, func(name string, _ fs.DirEntry, err error) error {
		if filepath.Base(name) == "kustomization.yaml" && !strings.Contains(name, "/components/") {
			dirs = append(dirs, filepath.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) != 7 {
		t.Fatalf("the corpus has %d of the 7 kustomizations: %v", len(dirs), dirs)
	}
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			absolute, err := filepath.Abs(dir)
			if err != nil {
				t.Fatal(err)
			}
			inCorpus, err := filepath.Rel(corpus, dir)
			if err != nil {
				t.Fatal(err)
			}
			want := kustomizeMakes(t, filesys.MakeFsOnDisk(), absolute)
			if diff := cmp.Diff(want, renderByIdentity(t, corpusFS(t), inCorpus)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The components of the online boutique, alone and all that fit together.
func TestKustomizeComponentsAreWhatKustomizeItselfMakes(t *testing.T) {
	components, err := fs.Glob(corpusFS(t), "online-boutique/kustomize/components/*/kustomization.yaml")
	if err != nil || len(components) != 14 {
		t.Fatalf("the corpus has %d of the 14 components; error %v", len(components), err)
	}
	for _, component := range components {
		name := path.Base(path.Dir(component))
		t.Run(name, func(t *testing.T) {
			source := fstest.MapFS{}
			inMemory := filesys.MakeFsInMemory()
			overlay := "resources: [../online-boutique/kustomize/base]\ncomponents: [../online-boutique/kustomize/components/" + name + "]\n"
			source["overlay/kustomization.yaml"] = &fstest.MapFile{Data: []byte(overlay)}
			copyCorpus(t, "online-boutique/kustomize", source)
			for file, content := range source {
				if err := inMemory.WriteFile("/"+file, content.Data); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(kustomizeMakes(t, inMemory, "/overlay"), renderByIdentity(t, source, "overlay")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// copyCorpus copies a folder of the corpus into a source in memory.
func copyCorpus(t testing.TB, dir string, source fstest.MapFS) {
	t.Helper()
	fsys := corpusFS(t)
	err := fs.WalkDir(fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(fsys, name)
		source[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Kustomize parses YAML with another library than Plain. Over what people write, both must agree.
func TestKustomizeAndPlainAgreeOnTheCorpus(t *testing.T) {
	for _, dir := range []string{"kube-prometheus/manifests", "argo-cd/manifests", "podinfo-6.14.0/deploy/webapp"} {
		t.Run(dir, func(t *testing.T) {
			source := fstest.MapFS{}
			copyCorpus(t, dir, source)
			var resources strings.Builder
			resources.WriteString("resources:\n")
			for _, name := range slices.Sorted(maps.Keys(source)) {
				if path.Ext(name) == ".yaml" {
					resources.WriteString("- " + name + "\n")
				}
			}
			plain, err := Build(t.Context(), source, dir, v1alpha1.RenderSpec{})
			if err != nil {
				t.Fatal(err)
			}
			source["kustomization.yaml"] = &fstest.MapFile{Data: []byte(resources.String())}
			kustomized, err := Build(t.Context(), source, "", v1alpha1.RenderSpec{})
			if err != nil {
				t.Fatal(err)
			}
			if plain.Ref() == kustomized.Ref() {
				return
			}
			plainObjects, _ := plain.Objects()
			kustomizedObjects, _ := kustomized.Objects()
			t.Error(cmp.Diff(byIdentity(plainObjects...), byIdentity(kustomizedObjects...)))
		})
	}
}
