package manifests_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/testenv"
)

var yamlBlock = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")

// example is an object in a page.
type example struct {
	where string // file, line
	*unstructured.Unstructured
}

// pages are the files below docs, with the README.
func pages(t *testing.T) []string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{filepath.Join(root, "README.md")}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// examples are the objects in the YAML blocks of the pages.
func examples(t *testing.T) []example {
	t.Helper()
	var all []example
	for _, name := range pages(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range yamlBlock.FindAllSubmatchIndex(text, -1) {
			where := fmt.Sprintf("%s:%d", filepath.Base(name), 1+strings.Count(string(text[:match[0]]), "\n"))
			for document := range strings.SplitSeq(string(text[match[2]:match[3]]), "\n---\n") {
				object := &unstructured.Unstructured{}
				if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
					t.Errorf("%s: %v", where, err)
					continue
				}
				all = append(all, example{where, object})
			}
		}
	}
	if len(all) < 10 {
		t.Fatalf("the pages have %d examples: they are not found", len(all))
	}
	return all
}

// complete makes a Release of an excerpt, which has some fields of a spec.
func (e example) complete() error {
	if e.GetKind() != "" {
		return nil
	}
	e.SetAPIVersion("convoy.dev/v1alpha1")
	e.SetKind("Release")
	e.SetName("app")
	if _, found, err := unstructured.NestedMap(e.Object, "spec", "source"); found || err != nil {
		return err
	}
	return unstructured.SetNestedField(e.Object, "https://git.example.com/team/app.git", "spec", "source", "git", "url")
}

// TestTheReleasesOfThePagesAreWhatTheAPIServerTakes validates strictly: a field that does not exist is an error.
func TestTheReleasesOfThePagesAreWhatTheAPIServerTakes(t *testing.T) {
	env := testenv.Shared(t)
	releases := 0
	for _, e := range examples(t) {
		if err := e.complete(); err != nil {
			t.Errorf("%s: %v", e.where, err)
			continue
		}
		if e.GetKind() != "Release" {
			continue
		}
		releases++
		e.SetNamespace(namespaceOf(t, env, e.GetNamespace()))
		err := env.Client.Create(t.Context(), e.Unstructured, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		if err != nil {
			t.Errorf("%s: %v", e.where, err)
		}
	}
	if releases < 10 {
		t.Errorf("%d Releases: they are not found", releases)
	}
}

// namespaceOf makes a namespace unless it is there.
func namespaceOf(t *testing.T, env *testenv.Environment, name string) string {
	t.Helper()
	if name == "" {
		return metav1.NamespaceDefault
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(env.Client.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	return name
}

var (
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchors are what a page's headings are called in a link.
func anchors(text []byte) map[string]bool {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	found := map[string]bool{}
	for _, match := range heading.FindAllSubmatch(text, -1) {
		found[strings.ReplaceAll(strings.ToLower(dropped.ReplaceAllString(string(match[1]), "")), " ", "-")] = true
	}
	return found
}

func TestTheLinksOfThePagesLeadToWhatIsThere(t *testing.T) {
	links := 0
	for _, name := range pages(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
			to, anchor, _ := strings.Cut(string(match[1]), "#")
			if strings.Contains(to, "://") {
				continue
			}
			links++
			target := name
			if to != "" {
				target = filepath.Join(filepath.Dir(name), to)
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
			}
			if anchor == "" {
				continue
			}
			content, err := os.ReadFile(target)
			if err != nil || !anchors(content)[anchor] {
				t.Errorf("%s: %s has no heading %q: error %v", name, target, anchor, err)
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links: they are not found", links)
	}
}
