package render

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"
	"testing"
	"testing/fstest"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// BenchmarkPlain renders kube-prometheus. Its peer is the least that anyone must do: parse the same documents with kubectl's libraries.
func BenchmarkPlain(b *testing.B) {
	const dir = "kube-prometheus/manifests"
	source := fstest.MapFS{}
	copyCorpus(b, dir, source)
	compare(b, func() error {
		_, err := Build(b.Context(), source, dir, v1alpha1.RenderSpec{Type: v1alpha1.RenderPlain})
		return err
	}, func() error { return parseAll(source) })
}

// parseAll parses every manifest with kubectl's libraries.
func parseAll(source fstest.MapFS) error {
	for name, file := range source {
		if path.Ext(name) != ".yaml" {
			continue
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file.Data)))
		for {
			text, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			encoded, err := yaml.YAMLToJSONStrict(text)
			if err != nil {
				return err
			}
			var value any
			if err := utiljson.Unmarshal(encoded, &value); err != nil {
				return err
			}
		}
	}
	return nil
}

// BenchmarkKustomize builds the online boutique with many of its components. Its peer is kustomize itself.
func BenchmarkKustomize(b *testing.B) {
	const dir = "online-boutique/kustomize/tests/memorystore-with-all-components"
	source, peer := fstest.MapFS{}, filesys.MakeFsInMemory()
	copyCorpus(b, "online-boutique/kustomize", source)
	for name, file := range source {
		if err := peer.WriteFile("/"+name, file.Data); err != nil {
			b.Fatal(err)
		}
	}
	compare(b, func() error {
		_, err := Build(b.Context(), source, dir, v1alpha1.RenderSpec{Type: v1alpha1.RenderKustomize})
		return err
	}, func() error {
		resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(peer, "/"+dir)
		if err == nil {
			_, err = resources.AsYaml()
		}
		return err
	})
}

// compare measures run, and reports how many times as long as its peer it takes. Both take turns, so that a busy machine is busy for
// both.
func compare(b *testing.B, run, peer func() error) {
	b.Helper()
	b.ReportAllocs()
	var own, others time.Duration
	for b.Loop() {
		start := time.Now()
		err := run()
		own += time.Since(start)
		b.StopTimer()
		start = time.Now()
		err = errors.Join(err, peer())
		others += time.Since(start)
		b.StartTimer()
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(own)/float64(others), "peer-ratio")
}
