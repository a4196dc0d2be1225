package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// chartFile marks the folder of a chart.
const chartFile = "Chart.yaml"

// maxReleaseName is how long helm lets the name of a release be.
const maxReleaseName = 53

// addChart adds what helm template makes of the chart in dir: its templates, hooks included, and the CRDs of it and its subcharts. Tests,
// and hooks that helm does not know, are left out, as no sync ever runs them.
func addChart(ctx context.Context, t *tree, dir string, spec *v1alpha1.HelmRender, in Inputs, c *collection) error {
	if spec == nil {
		spec = &v1alpha1.HelmRender{}
	}
	request, redacted, err := chartRequestOf(ctx, t, dir, spec, in)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(dir, chartFile), err)
	}
	manifests, err := templateChart(ctx, request)
	switch {
	case errors.Is(err, ErrUnfinished):
		return fmt.Errorf("%s: %w", path.Join(dir, chartFile), err)
	case err != nil:
		return fmt.Errorf("%s: %s", path.Join(dir, chartFile), redacted.redact(err.Error()))
	}
	for _, manifest := range manifests {
		if err := manifest.add(redacted, c); err != nil {
			return err
		}
	}
	return nil
}

// chartRequestOf gathers what the templates see, and what their errors must not show.
func chartRequestOf(
	ctx context.Context, t *tree, dir string, spec *v1alpha1.HelmRender, in Inputs,
) (request chartRequest, redacted redactor, err error) {
	request = chartRequest{
		Name: spec.ReleaseName, Namespace: in.Namespace, Capabilities: in.Capabilities, SkipCRDs: spec.SkipCRDs,
	}
	if request.Name == "" {
		request.Name = in.Name
	}
	if len(request.Name) > maxReleaseName {
		return request, redacted, fmt.Errorf("the name %s has more than the %d characters that helm allows: set render.helm.releaseName",
			request.Name, maxReleaseName)
	}
	if spec.KubeVersion != "" {
		request.Capabilities.KubeVersion = spec.KubeVersion
	}
	for _, values := range in.Values {
		request.Values = append(request.Values, namedText{values.From, values.YAML})
		redacted.addValues(values.YAML)
	}
	if spec.Values != nil {
		request.Values = append(request.Values, namedText{"render.helm.values", spec.Values.Raw})
	}
	request.Files, err = chartFiles(ctx, t, dir)
	return request, redacted, err
}

// addValues notes all values of a YAML text.
func (r *redactor) addValues(text []byte) {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil || len(node.Content) == 0 {
		r.addFile(text)
		return
	}
	r.addScalars(node.Content[0])
}

// chartFiles reads the files of a chart, without those that its .helmignore names.
func chartFiles(ctx context.Context, t *tree, dir string) ([]namedText, error) {
	rules := ignore.Empty()
	if found, err := t.isFile(path.Join(dir, ignore.HelmIgnore)); err != nil {
		return nil, err
	} else if found {
		content, err := t.read(ctx, path.Join(dir, ignore.HelmIgnore))
		if err != nil {
			return nil, err
		}
		if rules, err = ignore.Parse(bytes.NewReader(content)); err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	}
	rules.AddDefaults()
	w := chartWalk{tree: t, rules: rules, entered: map[string]bool{}}
	err := w.folder(ctx, dir, "")
	return w.files, err
}

// chartWalk reads the files of a chart.
type chartWalk struct {
	tree    *tree
	rules   *ignore.Rules
	entered map[string]bool // the folders that are being read, by path without symbolic links
	files   []namedText     // by path in the chart
}

// folder reads the files of a folder: at a path of the source, and of the chart.
func (w *chartWalk) folder(ctx context.Context, at, in string) error {
	resolved, _, err := w.tree.resolve(at)
	if err != nil {
		return err
	}
	if w.entered[resolved] {
		return fmt.Errorf("%s: is a symbolic link to a folder that it is in", at)
	}
	w.entered[resolved] = true
	defer delete(w.entered, resolved)
	entries, err := fs.ReadDir(w.tree.fsys, resolved)
	if err != nil {
		return fmt.Errorf("%s: %w", at, withoutPath(err))
	}
	for _, entry := range entries {
		if err := w.entry(ctx, path.Join(at, entry.Name()), path.Join(in, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (w *chartWalk) entry(ctx context.Context, at, in string) error {
	_, info, err := w.tree.resolve(at)
	if err != nil {
		return err
	}
	if w.rules.Ignore(in, info) {
		return nil
	}
	if info.IsDir() {
		return w.folder(ctx, at, in)
	}
	if len(w.files) == maxChartFiles {
		return errChartFiles
	}
	content, err := w.tree.read(ctx, at)
	w.files = append(w.files, namedText{in, content})
	return err
}

// chartManifest is one object that a chart made, as text.
type chartManifest struct {
	Name string `json:"name"` // of the template
	Text []byte `json:"text"`
}

// add reads the object. Unlike in files that people write, a key that is there twice is no error: helm takes the last one, and charts rely
// on it.
func (m chartManifest) add(redacted redactor, c *collection) error {
	object, err := document{location: m.Name, line: 1, text: m.Text}.lenient()
	if err != nil {
		return fmt.Errorf("%s: what it makes is no manifest: %s", m.Name, redacted.redact(err.Error()))
	}
	if object == nil {
		return nil
	}
	if isTest(object) {
		return nil
	}
	return c.add(object, m.Name)
}
