package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"
)

var errSchemaLoop = errors.New("a reference of the schema leads back to itself")

// admitSchema checks an OpenAPI schema: kustomize follows references without end.
func (f *kustomizeFiles) admitSchema(name string, content []byte) error {
	encoded, err := toJSON(name, content)
	if err != nil {
		return err
	}
	var all any
	if err := json.Unmarshal(encoded, &all); err != nil {
		return fmt.Errorf("%s: %w", name, errJSON(1, encoded, err))
	}
	var schema spec.Swagger
	if err := schema.UnmarshalJSON(encoded); err != nil {
		return fmt.Errorf("%s: is not an OpenAPI schema", name)
	}
	definitions := maps.Clone(openapi.Schema().Definitions)
	maps.Copy(definitions, schema.Definitions)
	root := &spec.Schema{SchemaProps: spec.SchemaProps{Definitions: definitions}}
	for _, target := range schemaReferences(all, nil) {
		if err := checkReference(target, root); err != nil {
			return fmt.Errorf("%s: %s: %w", name, target, err)
		}
	}
	return nil
}

// schemaReferences appends the targets of all references in a JSON value.
func schemaReferences(value any, targets []string) []string {
	switch value := value.(type) {
	case map[string]any:
		if target, ok := value["$ref"].(string); ok {
			targets = append(targets, target)
		}
		for _, element := range value {
			targets = schemaReferences(element, targets)
		}
	case []any:
		for _, element := range value {
			targets = schemaReferences(element, targets)
		}
	}
	return targets
}

// checkReference follows a reference as kustomize does.
func checkReference(target string, root *spec.Schema) error {
	for seen := map[string]bool{}; target != ""; target = nextReference(target, root) {
		if seen[target] {
			return errSchemaLoop
		}
		seen[target] = true
	}
	return nil
}

// nextReference returns the reference that another one leads to; empty if it leads to something else, or nowhere.
func nextReference(target string, root *spec.Schema) string {
	ref, err := spec.NewRef(target)
	if err != nil {
		return ""
	}
	schema, err := openapi.Resolve(&ref, root)
	if err != nil {
		return ""
	}
	return schema.Ref.String()
}

// definition is the part of an OpenAPI definition that kustomize reads from the files of the field crds.
type definition struct{ Schema spec.Schema }

// admitDefinitions checks the OpenAPI definitions of custom resources: kustomize follows their references into every field, and
// never ends where a type contains itself.
func (f *kustomizeFiles) admitDefinitions(name string, content []byte) error {
	encoded, err := toJSON(name, content)
	if err != nil {
		return err
	}
	var definitions map[string]definition
	if err := json.Unmarshal(encoded, &definitions); err != nil {
		return fmt.Errorf("%s: is not a set of OpenAPI definitions", name)
	}
	paths := pathCounter{definitions: definitions, counted: map[string]int{}, open: map[string]bool{}}
	for typeName := range definitions {
		if _, err := paths.count(typeName); err != nil {
			return fmt.Errorf("%s: %s: %w", name, typeName, err)
		}
	}
	return nil
}

// pathCounter counts the fields of types along all references.
type pathCounter struct {
	definitions map[string]definition
	counted     map[string]int
	open        map[string]bool
}

func (p *pathCounter) count(typeName string) (int, error) {
	if p.open[typeName] {
		return 0, errSchemaLoop
	}
	if count, done := p.counted[typeName]; done {
		return count, nil
	}
	p.open[typeName] = true
	count := 0
	for _, property := range p.definitions[typeName].Schema.Properties {
		count++
		if target := property.Ref.String(); target != "" {
			inner, err := p.count(target)
			if err != nil {
				return 0, err
			}
			count += inner
		}
	}
	if count > maxDefinitionPaths {
		return 0, fmt.Errorf("has more than %d fields along all references", maxDefinitionPaths)
	}
	delete(p.open, typeName)
	p.counted[typeName] = count
	return count, nil
}

// toJSON reads a file as kustomize reads schemas: as JSON if it starts with a brace, else as YAML.
func toJSON(name string, content []byte) ([]byte, error) {
	if len(content) > maxSchemaBytes {
		return nil, fmt.Errorf("%s: has more bytes than the limit of %d MiB for a schema", name, maxSchemaBytes>>20)
	}
	if len(content) > 0 && content[0] == '{' {
		return content, nil
	}
	doc := document{line: 1, text: content}
	if _, _, err := doc.nodes(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	encoded, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errYAML(1, err))
	}
	return encoded, nil
}
