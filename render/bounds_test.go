package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// buildTime is far more than any of the builds here takes, and far less than they would take without limits.
const buildTime = time.Minute

// aliasBomb grows tenfold with each level.
func aliasBomb(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 lol\n")
	for level := 1; level <= levels; level++ {
		alias := fmt.Sprintf("*a%d", level-1)
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", level, level, strings.TrimSuffix(strings.Repeat(alias+", ", 10), ", "))
	}
	return b.String()
}

// bombs are documents, without a trailing separator, that grow without bounds or cost more than their length.
var bombs = map[string]struct{ document, want string }{
	"aliases": {
		manifest("x") + aliasBomb(30),
		"line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it",
	},
	"few aliases of a long text": {
		manifest("x") + "long: &a \"" + strings.Repeat("x", 1<<20) + "\"\ndata: [" + strings.Repeat("*a, b, c, d, ", 100) + "]\n",
		"line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it",
	},
	"merges": {
		manifest("x") + "m0: &m0 {a: b}\n" + func() string {
			var b strings.Builder
			for i := 1; i <= 40; i++ {
				fmt.Fprintf(&b, "m%d: &m%d {<<: *m%d, x%d: *m%d, y%d: *m%d}\n", i, i, i-1, i, i-1, i, i-1)
			}
			return b.String()
		}(),
		"line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it",
	},
	"an anchor in itself": {
		manifest("x") + "data: &a\n  b: *a\n",
		"line 5: an anchor contains itself",
	},
	"depth in braces": {
		manifest("x") + "data: " + strings.Repeat("{a: ", 5000) + "1" + strings.Repeat("}", 5000) + "\n",
		"line 1: mappings and lists are nested deeper than 128 levels",
	},
	"depth in brackets": {
		manifest("x") + "data: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
		"line 1: mappings and lists are nested deeper than 128 levels",
	},
	"depth without end": {
		manifest("x") + "data: " + strings.Repeat("[", 1<<20) + "\n",
		"line 5: exceeded max depth of 10000",
	},
	"depth by indentation": {
		manifest("x") + "data:\n" + func() string {
			var b strings.Builder
			for i := range 1000 {
				b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
			}
			return b.String()
		}(),
		"line 1: mappings and lists are nested deeper than 128 levels",
	},
	"depth by aliases": {
		manifest("x") + "d0: &d0 []\n" + func() string {
			var b strings.Builder
			for i := 1; i <= 200; i++ {
				fmt.Fprintf(&b, "d%d: &d%d [*d%d]\n", i, i, i-1)
			}
			return b.String()
		}(),
		"line 1: mappings and lists are nested deeper than 128 levels",
	},
	"one long document": {
		manifest("x") + "data: {a: \"" + strings.Repeat("x", maxDocumentBytes) + "\"}\n",
		"line 1: the document has more bytes than the limit of 4 MiB for one document: split it",
	},
}

func TestBombsAreRefusedInBoundedTime(t *testing.T) {
	for name, bomb := range bombs {
		for kind, source := range map[string]files{
			"Plain":     {"a.yaml": bomb.document},
			"Kustomize": {"a.yaml": bomb.document, "kustomization.yaml": "resources: [a.yaml]\n"},
		} {
			t.Run(name+" in "+kind, func(t *testing.T) {
				start := time.Now()
				_, err := source.build(t, v1alpha1.RenderAuto, "")
				if took := time.Since(start); took > buildTime {
					t.Errorf("took %s", took)
				}
				wantError(t, err, "a.yaml: "+bomb.want)
			})
		}
	}
}

func TestBombsInAKustomizationFileAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		kustomization string
		want          string
	}{
		"in the file":           {"namePrefix: x\n" + aliasBomb(30), "kustomization.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"in an inline patch":    {"patches:\n- patch: |\n    " + strings.ReplaceAll(aliasBomb(30), "\n", "\n    ") + "\n", "kustomization.yaml: patches[0]: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"in an inline plugin":   {"generators:\n- |\n  " + strings.ReplaceAll(aliasBomb(30), "\n", "\n  ") + "\n", "kustomization.yaml: generators[0]: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"in a schema":           {"openapi: {path: bomb.yaml}\n", "bomb.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"in custom definitions": {"crds: [bomb.yaml]\n", "bomb.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"in configurations":     {"configurations: [bomb.yaml]\n", "bomb.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"in replacements":       {"replacements: [{path: bomb.yaml}]\n", "bomb.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"behind a plugin":       {"transformers:\n- |\n  {apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: bomb.yaml}\n", "bomb.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"after a separator":     {"transformers:\n- |\n  {apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: separator.yaml}\n", "separator.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
		"in a strategic patch":  {"patchesStrategicMerge: [bomb.yaml]\n", "bomb.yaml: line 1: with its aliases written out, the document has more bytes than the limit of 4 MiB for one document: split it"},
	} {
		t.Run(name, func(t *testing.T) {
			source := files{"kustomization.yaml": tc.kustomization, "bomb.yaml": manifest("x") + aliasBomb(30)}
			source["separator.yaml"] = "--- {" + strings.ReplaceAll(aliasBomb(30), "\n", ", ") + "}"
			_, err := source.build(t, v1alpha1.RenderAuto, "")
			wantError(t, err, tc.want)
		})
	}
}

func TestASourceThatIsTooLargeIsRefused(t *testing.T) {
	t.Run("Plain", func(t *testing.T) {
		source := files{}
		for i := range 17 {
			source[fmt.Sprintf("%02d.yaml", i)] = "# " + strings.Repeat("x", 4<<20)
		}
		_, err := source.build(t, v1alpha1.RenderPlain, "")
		wantError(t, err, "15.yaml: the build reads more than the limit of 64 MiB: split the Release")
	})
	t.Run("a render", func(t *testing.T) {
		source := files{}
		for i := range 12 {
			source[fmt.Sprintf("%02d.yaml", i)] = manifest(fmt.Sprintf("c%d", i)) + "data: {a: \"" + strings.Repeat("x", 3<<20) + "\"}\n"
		}
		_, err := source.build(t, v1alpha1.RenderPlain, "")
		if !errors.Is(err, errByteLimit) {
			t.Errorf("got %v, want %v", err, errByteLimit)
		}
	})
	t.Run("kustomizations that double", func(t *testing.T) {
		source := files{"app/kustomization.yaml": "resources: [../l0/a, ../l0/b]\n"}
		const levels = 40
		for level := range levels {
			for _, side := range []string{"a", "b"} {
				kustomization := fmt.Sprintf("resources: [../../l%d/a, ../../l%d/b]\n", level+1, level+1)
				source[fmt.Sprintf("l%d/%s/kustomization.yaml", level, side)] = kustomization
			}
		}
		source[fmt.Sprintf("l%d/a/kustomization.yaml", levels)] = "namePrefix: a\n"
		source[fmt.Sprintf("l%d/b/kustomization.yaml", levels)] = "namePrefix: b\n"
		start := time.Now()
		_, err := source.build(t, v1alpha1.RenderAuto, "app")
		if took := time.Since(start); took > buildTime {
			t.Errorf("took %s", took)
		}
		if !errors.Is(err, errKustomizationLimit) {
			t.Errorf("got %v, want %v", err, errKustomizationLimit)
		}
	})
}

// doubling is a list of JSON patch operations, each of which doubles an object.
func doubling(n int) string {
	var operations []string
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"op": "copy", "from": "/spec", "path": "/spec/x%d"}`, i))
	}
	return "[" + strings.Join(operations, ", ") + "]"
}

func TestBombsInMutationsAreRefused(t *testing.T) {
	widget := `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {a: "${a} ${a//x/${b}}"}}`
	many := `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "` + strings.Repeat("${a}", 3000) + `"}}`
	patch := func(text string) v1alpha1.Mutation {
		return v1alpha1.Mutation{Patch: &v1alpha1.PatchMutation{Target: &v1alpha1.PatchTarget{Kind: "Widget"}, Patch: text}}
	}
	long := strings.Repeat("x", 1<<20)
	substitute := v1alpha1.Mutation{Substitute: &v1alpha1.SubstituteMutation{Vars: map[string]string{"a": long, "b": long}}}
	for name, tc := range map[string]struct {
		object   string
		mutation v1alpha1.Mutation
		want     string
	}{
		"copies that double":                     {widget, patch(doubling(30)), "mutations[0].patch: Widget.example.com w: "},
		"aliases in a JSON patch":                {widget, patch("- {op: add, path: /spec/x, value: {" + strings.ReplaceAll(aliasBomb(20), "\n", ", ") + "}}"), "mutations[0].patch: patch: not YAML: "},
		"aliases in a merge patch":               {widget, patch("kind: Widget\nmetadata: {name: w}\n" + aliasBomb(20)), "mutations[0].patch: patch: not YAML: "},
		"a long value in many places":            {many, substitute, "data.a: " + errByteLimit.Error()},
		"a long value in the place of each byte": {widget, substitute, "spec.a: " + errByteLimit.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			source := renderOf(t, tc.object)
			start := time.Now()
			got, err := Mutate(t.Context(), source, []v1alpha1.Mutation{tc.mutation}, nil)
			if took := time.Since(start); took > buildTime {
				t.Errorf("took %s", took)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !got.IsZero() {
				t.Errorf("render %s and error %.500v, want %q", got.Ref(), err, tc.want)
			}
		})
	}
}

func TestCopiesThatDoubleInAKustomizationAreRefused(t *testing.T) {
	source := files{
		"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: Widget}, patch: '" + doubling(30) + "'}]\n",
		"a.yaml":             "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {a: b}}",
	}
	if _, err := source.build(t, v1alpha1.RenderAuto, ""); err == nil || !strings.Contains(err.Error(), "copy") {
		t.Errorf("error %.500v", err)
	}
	source["kustomization.yaml"] = "resources: [a.yaml]\npatches: [{target: {kind: Widget}, patch: '" + doubling(10) + "'}]\n"
	if _, err := source.build(t, v1alpha1.RenderAuto, ""); err != nil {
		t.Errorf("a few copies: error %v", err)
	}
}

// Each replacement copies all that the ones before have copied, and no file says how much that is.
func TestReplacementsThatDoubleEndWithTheirProcess(t *testing.T) {
	doubled := func(times int) files {
		var replacements strings.Builder
		for i := range times {
			fmt.Fprintf(&replacements, "- source: {kind: Widget, fieldPath: spec}\n  targets: [{select: {kind: Widget}, fieldPaths: [spec.c%d], options: {create: true}}]\n", i)
		}
		return files{
			"kustomization.yaml": "resources: [a.yaml]\nreplacements:\n" + replacements.String(),
			"a.yaml":             "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {a: b}}",
		}
	}
	started := time.Now()
	_, err := doubled(60).build(t, v1alpha1.RenderAuto, "")
	if !errors.Is(err, ErrUnfinished) || !strings.HasPrefix(err.Error(), "kustomization in the root: it did not end within ") {
		t.Errorf("error %.500v", err)
	}
	if took := time.Since(started); took > kustomizeBuild.time+10*time.Second {
		t.Errorf("it took %s", took)
	}
	if _, err := doubled(5).build(t, v1alpha1.RenderAuto, ""); err != nil {
		t.Errorf("a few: error %v", err)
	}
}
