package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// admitKustomization checks a kustomization file: that all it names is in the source, and that nothing of it would make kustomize run
// a program, reach the network or run without end.
func (f *kustomizeFiles) admitKustomization(name string, content []byte) error {
	k, err := f.parseKustomization(content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(k.HelmCharts) > 0 {
		return fmt.Errorf("%s: helmCharts: charts are not rendered in a kustomization: render the chart and commit what it makes", name)
	}
	if f.uses[path.Dir(name)]&usePluginConfig != 0 {
		bare := types.Kustomization{TypeMeta: k.TypeMeta, MetaData: k.MetaData, Resources: k.Resources}
		if !reflect.DeepEqual(*k, bare) {
			return fmt.Errorf("%s: a kustomization of generators, transformers or validators may have only resources", name)
		}
	}
	f.redactor.addLiterals(k.SecretGenerator)
	for _, inline := range inlineTexts(k) {
		if err := f.admitInline(name, inline); err != nil {
			return err
		}
	}
	for _, ref := range references(k) {
		if err := f.admitReference(path.Dir(name), ref); err != nil {
			return fmt.Errorf("%s: %s: %w", name, ref.field, err)
		}
	}
	return nil
}

// parseKustomization reads a kustomization file as kustomize does.
func (f *kustomizeFiles) parseKustomization(content []byte) (*types.Kustomization, error) {
	_, size, err := document{line: 1, text: content}.nodes()
	if err != nil {
		return nil, err
	}
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		return nil, errKustomization(err)
	}
	k.FixKustomization()
	if f.kustomizations++; f.kustomizations > maxKustomizations {
		return nil, errKustomizationLimit
	}
	return &k, f.count(len(k.ConfigMapGenerator)+len(k.SecretGenerator), size.nodes)
}

var (
	unknownField = regexp.MustCompile(`json: (unknown field "[^"]*")$`)

	// embeddedStruct matches what encoding/json puts into the path of a field, and no file holds.
	embeddedStruct = regexp.MustCompile(`\b[A-Z]\w*\.`)
)

// errKustomization is the error of a kustomization file that does not fit its schema, without what it quotes.
func errKustomization(err error) error {
	if typeErr := (*json.UnmarshalTypeError)(nil); errors.As(err, &typeErr) {
		kind, _, _ := strings.Cut(typeErr.Value, " ")
		return fmt.Errorf("field %q cannot hold a value of type %s", embeddedStruct.ReplaceAllString(typeErr.Field, ""), kind)
	}
	if match := unknownField.FindStringSubmatch(err.Error()); match != nil {
		return errors.New(match[1])
	}
	return errYAML(1, errors.New(strings.TrimPrefix(err.Error(), "invalid Kustomization: ")))
}

// use is what kustomize does with a path. A path may have several.
type use int

const (
	useData         use = 1 << iota // reads a file into a ConfigMap
	useSecretData                   // reads a file into a Secret
	useManifest                     // reads a file of objects, patches or other YAML
	useRoot                         // reads a file of objects, or builds the kustomization in a folder
	usePluginConfig                 // as useRoot; the objects tell kustomize what to generate, transform or validate
	useSchema                       // reads an OpenAPI schema
	useDefinitions                  // reads OpenAPI definitions of custom resources
)

// reference is an entry of a kustomization file.
type reference struct {
	field string
	entry string
	use   use
}

// shown is the entry as messages show it. What stands for the file of a Secret may be its value, by mistake.
func (r reference) shown() string {
	if r.use == useSecretData {
		return "a file that it names"
	}
	return strconv.Quote(r.entry)
}

// references lists what a kustomization file names.
func references(k *types.Kustomization) []reference {
	var refs []reference
	add := func(use use, field string, entries ...string) {
		for _, entry := range entries {
			if entry != "" {
				refs = append(refs, reference{field, entry, use})
			}
		}
	}
	addPaths := func(use use, field string, entries ...string) {
		for _, entry := range entries {
			if !isInline(entry) {
				add(use, field, entry)
			}
		}
	}
	add(useRoot, "resources", k.Resources...)
	add(useRoot, "components", k.Components...)
	add(useDefinitions, "crds", k.Crds...)
	add(useManifest, "configurations", k.Configurations...)
	add(useSchema, "openapi.path", k.OpenAPI["path"])
	addPaths(usePluginConfig, "generators", k.Generators...)
	addPaths(usePluginConfig, "transformers", k.Transformers...)
	addPaths(usePluginConfig, "validators", k.Validators...)
	for _, patch := range k.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and still read
		addPaths(useManifest, "patchesStrategicMerge", string(patch))
	}
	for _, patch := range k.PatchesJson6902 { //nolint:staticcheck // deprecated, and still read
		add(useManifest, "patchesJson6902", patch.Path)
	}
	for _, patch := range k.Patches {
		add(useManifest, "patches", patch.Path)
	}
	for _, replacement := range k.Replacements {
		add(useManifest, "replacements", replacement.Path)
	}
	for _, args := range k.ConfigMapGenerator {
		add(useData, fmt.Sprintf("configMapGenerator %q", args.Name), dataFiles(args.KvPairSources)...)
	}
	for _, args := range k.SecretGenerator {
		add(useSecretData, fmt.Sprintf("secretGenerator %q", args.Name), dataFiles(args.KvPairSources)...)
	}
	return refs
}

// dataFiles lists the files of a generator; an entry of its files may begin with the key.
func dataFiles(sources types.KvPairSources) []string {
	files := append([]string{sources.EnvSource}, sources.EnvSources...)
	for _, entry := range sources.FileSources {
		if _, file, hasKey := strings.Cut(entry, "="); hasKey {
			entry = file
		}
		files = append(files, entry)
	}
	return files
}

// inlineTexts lists the patches and plugin configurations inside of a kustomization file.
func inlineTexts(k *types.Kustomization) []reference {
	var texts []reference
	add := func(use use, field string, number int, text string) {
		if isInline(text) {
			texts = append(texts, reference{fmt.Sprintf("%s[%d]", field, number), text, use})
		}
	}
	for i, patch := range k.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and still read
		add(useManifest, "patchesStrategicMerge", i, string(patch))
	}
	for i, patch := range k.PatchesJson6902 { //nolint:staticcheck // deprecated, and still read
		add(useManifest, "patchesJson6902", i, patch.Patch)
	}
	for i, patch := range k.Patches {
		add(useManifest, "patches", i, patch.Patch)
	}
	for i, text := range k.Generators {
		add(usePluginConfig, "generators", i, text)
	}
	for i, text := range k.Transformers {
		add(usePluginConfig, "transformers", i, text)
	}
	for i, text := range k.Validators {
		add(usePluginConfig, "validators", i, text)
	}
	return texts
}

// isInline says whether an entry is YAML, where it could also be a path.
func isInline(entry string) bool {
	entry = strings.TrimSpace(entry)
	return strings.Contains(entry, "\n") || strings.Contains(entry, ": ") ||
		strings.HasPrefix(entry, "{") || strings.HasPrefix(entry, "[")
}
