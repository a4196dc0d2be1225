package render

import (
	"bytes"
	"os"
	"testing"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// FuzzPlain renders a file: it never panics, and what it makes reads back as the same.
func FuzzPlain(f *testing.F) {
	for _, name := range []string{"plain/app.yaml", "plain/sub/config.yml", "plain/sub/thing.json", "kustomize/base/deployment.yaml"} {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, false)
		f.Add(content, true)
	}
	for _, bomb := range bombs {
		if len(bomb.document) < 10_000 {
			f.Add([]byte(bomb.document), false)
		}
	}
	for _, manifest := range brokenSecrets {
		f.Add([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"+manifest), false)
	}
	f.Add([]byte("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"a\":-0.0,\"b\":1e400}]}"), true)
	f.Fuzz(func(t *testing.T, content []byte, isJSON bool) {
		source := files{"a.yaml": string(content)}
		if isJSON {
			source = files{"a.json": string(content)}
		}
		first, err := source.build(t, v1alpha1.RenderPlain, "")
		if err != nil {
			return
		}
		if again := source.mustBuild(t, v1alpha1.RenderPlain, ""); again.Ref() != first.Ref() {
			t.Errorf("the second build made %s of what the first made %s", again.Bytes(), first.Bytes())
		}
		checkReadsBack(t, first)
	})
}

// FuzzKustomize builds a kustomization with a file of its own: it never panics, hangs or reaches out, and what it makes reads back.
func FuzzKustomize(f *testing.F) {
	for _, source := range []files{everything, patchedThing("")} {
		for _, content := range source {
			f.Add([]byte("resources: [a.yaml]\n"), []byte(content))
			f.Add([]byte(content), []byte(manifest("a")))
		}
	}
	f.Fuzz(func(t *testing.T, kustomization, content []byte) {
		source := files{"kustomization.yaml": string(kustomization), "a.yaml": string(content)}
		if r, err := source.build(t, v1alpha1.RenderAuto, ""); err == nil {
			checkReadsBack(t, r)
		}
	})
}

// checkReadsBack checks that the bytes of a render decode to the objects that make these bytes.
func checkReadsBack(t *testing.T, r Render) {
	t.Helper()
	read, err := Decode(r.Ref(), r.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := read.Objects()
	if err != nil {
		t.Fatal(err)
	}
	made, err := New(objects)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made.Bytes(), r.Bytes()) {
		t.Errorf("%s became %s", r.Bytes(), made.Bytes())
	}
}
