package convoy_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/convoy-dev/convoy"

// arrows says which packages of the module the code of a package may import, its tests aside. A package that ends in /... stands for
// the packages below it. What is not here may not be imported, so the arrows point one way only: no layer knows the one above it.
var arrows = map[string][]string{
	".": {}, // the tour, no code

	"api/v1alpha1":              {},
	"api/subresources/v1alpha1": {"api/v1alpha1"},

	"render": {"api/v1alpha1"},
	"source": {"api/v1alpha1"},

	"renderstore":            {"render"},
	"renderstore/faultstore": {"renderstore", "render"},
	"live":                   {"render", "api/v1alpha1"},
	"live/builtin":           {"live"}, // links Kubernetes itself: for the observer alone

	"inputs": {"source", "live", "render", "api/v1alpha1"},

	"apply": {"live", "render", "api/v1alpha1"},

	"controllers": {"apply", "inputs", "live", "renderstore", "source", "render", "api/v1alpha1"},

	"redact": {},

	"observer": {"live/builtin", "inputs", "live", "redact", "renderstore", "source", "render", "api/subresources/v1alpha1", "api/v1alpha1"},

	"apiserver":         {"apiserver/openapi", "api/subresources/v1alpha1", "api/v1alpha1"},
	"apiserver/openapi": {"api/subresources/v1alpha1"},
	"apiserver/apiservertest": {
		"apiserver", "observer", "inputs", "renderstore", "source", "webhooks", "internal/manifests", "internal/pki", "internal/testenv", "api/subresources/v1alpha1", "api/v1alpha1",
	},
	"webhooks": {"api/subresources/v1alpha1", "api/v1alpha1"},

	"cmd/convoy-controller-manager": {"controllers", "webhooks", "apply", "inputs", "live", "renderstore", "source", "render", "api/v1alpha1"},
	"cmd/convoy-apiserver":          {"apiserver"},
	"cmd/convoy-observer":           {"observer", "inputs", "renderstore", "source", "api/v1alpha1"},
	"cmd/kubectl-convoy":            {"inputs", "redact", "render", "source", "api/subresources/v1alpha1", "api/v1alpha1"},

	"internal/controlplane": {},
	"internal/gitserver":    {},
	"internal/manifests":    {"internal/controlplane"},
	"internal/pki":          {},
	"internal/testenv":      {"internal/controlplane", "internal/pki", "api/v1alpha1"},

	"hack/...": {"internal/controlplane", "internal/gitserver", "internal/manifests", "internal/pki"},
}

// testSupport are the packages that exist for tests. Only tests import them; hack may too, where the table says so.
var testSupport = []string{"internal/testenv", "internal/gitserver", "renderstore/faultstore", "apiserver/apiservertest"}

// clusterless are the packages that need no cluster: not even their dependencies may bring a Kubernetes client along.
var clusterless = []string{"api/v1alpha1", "redact", "render", "renderstore"}

// clients are the packages that talk to a Kubernetes API server.
var clients = []string{"k8s.io/client-go/rest", "k8s.io/client-go/kubernetes", "sigs.k8s.io/controller-runtime/pkg/client"}

func TestImportsFollowTheArrows(t *testing.T) {
	for _, pkg := range load(t) {
		name := nameOf(pkg.PkgPath)
		allowed, ok := allowedFor(name)
		if !ok {
			t.Errorf("package %s is not in the table: decide in which layer it lives, and add it to arrows in arch_test.go", name)
			continue
		}
		for _, imported := range ownImports(pkg) {
			switch {
			case slices.Contains(allowed, imported):
			case slices.Contains(testSupport, imported):
				t.Errorf("package %s imports %s, which exists for tests: import it from a _test.go file only", name, imported)
			default:
				t.Errorf("package %s imports %s, which its layer must not know; it may import %s: move the code to the layer that may, "+
					"or let the upper layer pass in what is needed", name, imported, orNothing(allowed))
			}
		}
	}
}

// ofHelm says whether a package is helm's. It brings a client along, for what templates look up and for versions, and gets no cluster to
// use it on.
func ofHelm(pkg *packages.Package) bool { return strings.HasPrefix(pkg.PkgPath, "helm.sh/helm/") }

func TestClusterlessPackagesReachNoKubernetesClient(t *testing.T) {
	for _, pkg := range load(t) {
		if !slices.Contains(clusterless, nameOf(pkg.PkgPath)) {
			continue
		}
		outsideHelm := func(dep *packages.Package) bool { return !ofHelm(dep) }
		packages.Visit([]*packages.Package{pkg}, outsideHelm, func(dep *packages.Package) {
			if ofHelm(dep) {
				return
			}
			for _, client := range clients {
				if _, ok := dep.Imports[client]; ok {
					t.Errorf("package %s reaches %s through %s: it must work, and be tested, without a cluster",
						nameOf(pkg.PkgPath), client, dep.PkgPath)
				}
			}
		})
	}
}

func TestOnlyTheObserverLinksKubernetesItself(t *testing.T) {
	allowed := append([]string{"live/builtin", "observer", "cmd/convoy-observer"}, testSupport...)
	for _, pkg := range load(t) {
		through := ""
		packages.Visit([]*packages.Package{pkg}, nil, func(dep *packages.Package) {
			for imported := range dep.Imports {
				if strings.HasPrefix(imported, "k8s.io/kubernetes/") && strings.HasPrefix(dep.PkgPath, module) {
					through = dep.PkgPath
				}
			}
		})
		if through != "" && !slices.Contains(allowed, nameOf(pkg.PkgPath)) {
			t.Errorf("package %s reaches k8s.io/kubernetes through %s: its types are large, and only who predicts an apply needs them",
				nameOf(pkg.PkgPath), through)
		}
	}
}

func TestEveryPackageHasADocComment(t *testing.T) {
	for _, pkg := range load(t) {
		if doc := docOf(t, pkg); len(strings.Fields(doc)) < 6 {
			t.Errorf("package %s has no doc comment that tells a reader what it hides (found %q): write it in %s", nameOf(pkg.PkgPath), doc,
				filepath.Join(nameOf(pkg.PkgPath), "doc.go"))
		}
	}
}

// load returns the packages of the module, without their tests, and with all their dependencies.
func load(t *testing.T) []*packages.Package {
	t.Helper()
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps}
	pkgs, err := packages.Load(cfg, "./...")
	if err != nil {
		t.Fatalf("list the packages of the module: %v", err)
	}
	for _, pkg := range pkgs {
		for _, err := range pkg.Errors {
			t.Errorf("list package %s: %v", pkg.PkgPath, err)
		}
	}
	if len(pkgs) < 2 {
		t.Fatalf("found %d packages in the module, want more: the rules below would hold for nothing", len(pkgs))
	}
	return pkgs
}

// nameOf is the path of a package in the module.
func nameOf(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// allowedFor finds the row of a package in the table, and whether there is one.
func allowedFor(name string) ([]string, bool) {
	if allowed, ok := arrows[name]; ok {
		return allowed, true
	}
	for row, allowed := range arrows {
		if above, ok := strings.CutSuffix(row, "..."); ok && strings.HasPrefix(name, above) {
			return allowed, true
		}
	}
	return nil, false
}

// ownImports are the packages of the module that a package imports.
func ownImports(pkg *packages.Package) []string {
	var own []string
	for _, path := range slices.Sorted(maps.Keys(pkg.Imports)) {
		if path == module || strings.HasPrefix(path, module+"/") {
			own = append(own, nameOf(path))
		}
	}
	return own
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing of the module"
	}
	return fmt.Sprintf("only %s", strings.Join(names, ", "))
}

// docOf reads the doc comment of a package.
func docOf(t *testing.T, pkg *packages.Package) string {
	t.Helper()
	var doc strings.Builder
	for _, name := range pkg.GoFiles {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("read package %s: %v", pkg.PkgPath, err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatalf("parse package %s: %v", pkg.PkgPath, err)
		}
		doc.WriteString(file.Doc.Text())
	}
	return doc.String()
}
