package render

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// schemaURL is where the schema of a chart's values is, for references in it.
const schemaURL = "file:///values.schema.json"

// validateValues holds the values of a chart and of its subcharts against their schemas. Helm's own validation is not used: a schema could
// have it read files of this machine and call the network.
func validateValues(c *chart.Chart, values map[string]any) error {
	if len(c.Schema) > 0 {
		if err := validateBySchema(c.Schema, values); err != nil {
			return fmt.Errorf("the values of chart %s are not what its values.schema.json allows: %w", c.ChartFullPath(), err)
		}
	}
	for _, subchart := range c.Dependencies() {
		if sub, ok := values[subchart.Name()].(map[string]any); ok {
			if err := validateValues(subchart, sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func validateBySchema(schema []byte, values map[string]any) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("the schema is no JSON: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	if err := compiler.AddResource(schemaURL, parsed); err != nil {
		return err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return fmt.Errorf("the schema: %w", err)
	}
	if err := compiled.Validate(values); err != nil {
		return fmt.Errorf("%s", strings.Join(strings.Fields(strings.TrimPrefix(err.Error(),
			"jsonschema validation failed with '"+schemaURL+"#'")), " "))
	}
	return nil
}

// nowhere loads no schema.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("refers to %s: copy it into the schema, since nothing is fetched", url)
}
