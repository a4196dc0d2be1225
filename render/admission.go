package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
)

// admitReference checks an entry of a kustomization file in dir, and notes what kustomize will do with it.
func (f *kustomizeFiles) admitReference(dir string, ref reference) error {
	if isRemoteFile(ref.entry) || (ref.use == useRoot || ref.use == usePluginConfig) && isRemoteFolder(ref.entry) {
		return errRemote(ref.entry)
	}
	target := path.Join(dir, ref.entry)
	if path.IsAbs(ref.entry) || !fs.ValidPath(target) {
		return fmt.Errorf("%s leaves the source: name a file in it", ref.shown())
	}
	folder, file, err := f.tree.locate(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", ref.shown())
	case err != nil:
		return err
	}
	use := ref.use
	if use == useRoot {
		use |= f.uses[dir] & usePluginConfig // what a kustomization of plugin configurations names is one too
	}
	f.uses[path.Join(folder, file)] |= use
	return nil
}

// admitManifest checks a file of objects, patches or other YAML. isObject says that each document must be an object.
func (f *kustomizeFiles) admitManifest(name string, content []byte, isObject bool) error {
	documents, err := splitYAML(name, content)
	if err != nil {
		return err
	}
	for _, doc := range documents {
		if err := f.admitDocument(doc, isObject); err != nil {
			return fmt.Errorf("%s: %w", doc.location, err)
		}
	}
	return nil
}

// admitUnknown checks a file that only the configuration of a plugin names, and so may be data or YAML.
func (f *kustomizeFiles) admitUnknown(name string, content []byte) error {
	f.redactor.addFile(content)
	documents, err := splitYAML(name, content)
	if err != nil {
		documents = []document{{location: name, line: 1, text: content}}
	}
	for _, doc := range documents {
		_, _, err := doc.nodes()
		if errors.Is(err, errTooLarge) || errors.Is(err, errTooDeep) || errors.Is(err, errContainsSelf) {
			return fmt.Errorf("%s: %w", doc.location, err)
		}
	}
	return nil
}

// admitInline checks YAML in the kustomization file name.
func (f *kustomizeFiles) admitInline(name string, inline reference) error {
	location := name + ": " + inline.field
	if isRemoteFile(inline.entry) || isRemoteFolder(inline.entry) {
		return fmt.Errorf("%s: %w", location, errRemote(inline.entry))
	}
	f.redactor.addInline(location, inline.entry)
	return f.admitManifest(location, []byte(inline.entry), inline.use == usePluginConfig)
}

func (f *kustomizeFiles) admitDocument(doc document, isObject bool) error {
	root, size, err := doc.nodes()
	if err != nil || root == nil {
		return err
	}
	if isObject {
		if err := checkObject(root); err != nil {
			return fmt.Errorf("line %d: %w", doc.line, err)
		}
	}
	f.redactor.addNode(root)
	if err := f.count(countObjects(root), size.nodes); err != nil {
		return err
	}
	if mayConfigurePlugin(root) {
		return admitPluginConfig(doc.text)
	}
	return nil
}

// count adds what kustomize is about to parse.
func (f *kustomizeFiles) count(objects, nodes int) error {
	f.objects += objects
	f.nodes += nodes
	switch {
	case f.objects > maxKustomizeObjects:
		return errKustomizeObjects
	case f.nodes > maxKustomizeNodes:
		return errKustomizeNodes
	}
	return nil
}

// checkObject says what an object lacks that kustomize needs, in the words of Plain.
func checkObject(root *yaml.Node) error {
	kind, metadata := field(root, "kind"), field(root, "metadata")
	switch {
	case root.Kind != yaml.MappingNode || kind == nil || field(root, "apiVersion") == nil:
		return errNoKind
	case strings.HasSuffix(kind.Value, "List") && field(root, "items") != nil:
		return nil
	case field(metadata, "name") == nil:
		return fmt.Errorf("%s: %w", kind.Value, errNoName)
	}
	return nil
}

// countObjects counts an object, or the objects of a list.
func countObjects(node *yaml.Node) int {
	node = dealiased(node)
	items := dealiased(field(node, "items"))
	if kind := field(node, "kind"); kind == nil || !strings.HasSuffix(kind.Value, "List") || items == nil {
		return 1
	}
	count := 0
	for _, item := range items.Content {
		count += countObjects(item)
	}
	return count
}

// field returns the value of a key in a mapping; nil if there is none.
func field(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if dealiased(node.Content[i]).Value == key {
			return dealiased(node.Content[i+1])
		}
	}
	return nil
}

func dealiased(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// mayConfigurePlugin says whether a document can hold the configuration of one of kustomize's own plugins. It errs on the side of
// yes.
func mayConfigurePlugin(node *yaml.Node) bool {
	if node.Tag == "!!binary" || strings.Contains(node.Value, konfig.BuiltinPluginApiVersion) {
		return true
	}
	for _, child := range node.Content {
		if mayConfigurePlugin(child) {
			return true
		}
	}
	return false
}

// admitPluginConfig checks the configuration of kustomize's own plugins. It reads it with kustomize's own code, so that it sees what
// the plugin will see. Plugins that are not its own are not run at all.
func admitPluginConfig(text []byte) error {
	resources, err := provider.NewDefaultDepProvider().GetResourceFactory().SliceFromBytes(text)
	if err != nil {
		return nil //nolint:nilerr // a patch need not be an object; where kustomize needs one, it will fail on it in the same way
	}
	for _, res := range resources {
		if res.GetGvk().Group != "" || res.GetGvk().Version != konfig.BuiltinPluginApiVersion {
			continue
		}
		if strings.HasPrefix(res.GetKind(), "HelmChart") {
			return fmt.Errorf("%s: charts are not rendered in a kustomization: render the chart and commit what it makes", res.GetKind())
		}
		encoded, err := res.MarshalJSON()
		if err != nil {
			return errYAML(1, err)
		}
		var config any
		if err := json.Unmarshal(encoded, &config); err != nil {
			return errJSON(1, encoded, err)
		}
		if entry, found := remoteEntry(config, false); found {
			return fmt.Errorf("%s: %w", res.GetKind(), errRemote(entry))
		}
	}
	return nil
}
