package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// notesSuffix ends the template of what helm shows to its user.
const notesSuffix = "NOTES.txt"

// helmTemplate does what helm template does, without a cluster: lookup finds nothing, and no name is resolved.
func helmTemplate(request chartRequest) ([]chartManifest, error) {
	loaded, err := loadChart(request.Files)
	if err != nil {
		return nil, err
	}
	values, err := mergedValues(request.Values)
	if err != nil {
		return nil, err
	}
	capabilities, err := capabilitiesOf(request.Capabilities)
	if err != nil {
		return nil, err
	}
	if want := loaded.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, fmt.Errorf("the chart is for Kubernetes %s, and this is %s", want, capabilities.KubeVersion.Version)
	}
	if err := chartutil.ProcessDependencies(loaded, values); err != nil {
		return nil, fmt.Errorf("its dependencies: %w", err)
	}
	options := common.ReleaseOptions{Name: request.Name, Namespace: request.Namespace, Revision: 1, IsInstall: true}
	seen, err := commonutil.ToRenderValuesWithSchemaValidation(loaded, values, options, capabilities, true)
	if err != nil {
		return nil, fmt.Errorf("its values: %w", err)
	}
	coalesced, err := seen.Table("Values")
	if err != nil {
		return nil, fmt.Errorf("its values: %w", err)
	}
	if err := validateValues(loaded, coalesced); err != nil {
		return nil, err
	}
	var templates engine.Engine                                                  // without a client
	made, err := templates.RenderWithContext(context.Background(), loaded, seen) // the process is killed when its time is up
	if err != nil {
		return nil, err
	}
	size := 0
	for _, text := range made {
		if size += len(text); size > maxOutput {
			return nil, errOutput
		}
	}
	return manifestsOf(loaded, made, request.SkipCRDs)
}

// loadChart reads a chart with its subcharts, and makes sure that it can be installed.
func loadChart(files []namedText) (*chart.Chart, error) {
	var buffered []*archive.BufferedFile
	for _, file := range files {
		buffered = append(buffered, &archive.BufferedFile{Name: file.Name, Data: bytes.TrimPrefix(file.Text, []byte("\ufeff"))})
	}
	loaded, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, err
	}
	if loaded.Metadata.Type == "library" {
		return nil, errors.New("is a library chart, which other charts use: it has nothing to deploy")
	}
	for _, dependency := range loaded.Metadata.Dependencies {
		there := slices.ContainsFunc(loaded.Dependencies(), func(c *chart.Chart) bool { return c.Name() == dependency.Name })
		if !there {
			return nil, fmt.Errorf("its dependency %s is not in its folder charts: run helm dependency build, and commit or package what it "+
				"puts there", dependency.Name)
		}
	}
	return loaded, nil
}

// mergedValues reads values, of which later ones win.
func mergedValues(texts []namedText) (map[string]any, error) {
	merged := map[string]any{}
	for _, text := range texts {
		values, err := loader.LoadValues(bytes.NewReader(text.Text))
		if err != nil {
			return nil, fmt.Errorf("%s: is no YAML mapping of values: %w", text.Name, err)
		}
		merged = loader.MergeMaps(merged, values)
	}
	return merged, nil
}

// capabilitiesOf are the capabilities as helm has them; of what is not given, helm's own.
func capabilitiesOf(c Capabilities) (*common.Capabilities, error) {
	capabilities := common.DefaultCapabilities.Copy()
	if c.KubeVersion != "" {
		version, err := common.ParseKubeVersion(c.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("kubeVersion %q: %w", c.KubeVersion, err)
		}
		capabilities.KubeVersion = *version
	}
	if c.APIVersions != nil {
		capabilities.APIVersions = c.APIVersions
	}
	return capabilities, nil
}

// manifestsOf takes apart what the templates made: CRDs, objects and hooks.
func manifestsOf(loaded *chart.Chart, made map[string]string, skipCRDs bool) ([]chartManifest, error) {
	var manifests []chartManifest
	if !skipCRDs {
		for _, crd := range loaded.CRDObjects() {
			for _, text := range releaseutil.SplitManifests(string(crd.File.Data)) {
				manifests = append(manifests, chartManifest{crd.Filename, []byte(text)})
			}
		}
	}
	for name := range made {
		if strings.HasSuffix(name, notesSuffix) {
			delete(made, name)
		}
	}
	hooks, objects, err := releaseutil.SortManifests(made, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		manifests = append(manifests, chartManifest{object.Name, []byte(object.Content)})
	}
	for _, hook := range hooks {
		manifests = append(manifests, chartManifest{hook.Path, []byte(hook.Manifest)})
	}
	return manifests, nil
}
