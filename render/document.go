package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// document is one document of a file.
type document struct {
	location string // the file, and which document of it where there are several
	line     int    // line of the file where the document starts, from 1
	text     []byte
}

// addDocuments adds the objects of a manifest.
func addDocuments(ctx context.Context, name string, content []byte, c *collection) error {
	split := splitYAML
	if path.Ext(name) == ".json" {
		split = splitJSON
	}
	documents, err := split(name, content)
	if err != nil {
		return err
	}
	for _, doc := range documents {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		object, err := doc.object()
		if err != nil {
			return fmt.Errorf("%s: %w", doc.location, err)
		}
		if object == nil {
			continue
		}
		if err := c.add(object, doc.location); err != nil {
			return err
		}
	}
	return nil
}

// object parses the document; nil if it is null. As kubectl does, it takes what is JSON as it is, and converts the rest from YAML
// 1.1. A key that is there twice is an error.
func (d document) object() (map[string]any, error) {
	if len(d.text) > maxDocumentBytes {
		return nil, fmt.Errorf("line %d: the document %w", d.line, errTooLarge)
	}
	parse := d.yamlValue
	if text := bytes.TrimSpace(d.text); len(text) > 0 && text[0] == '{' && json.Valid(text) {
		parse = d.jsonValue
	}
	value, err := parse()
	if err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return value, nil
	case []any:
		return nil, fmt.Errorf("line %d: not a Kubernetes object: want a mapping, not a list", d.line)
	}
	return nil, fmt.Errorf("line %d: not a Kubernetes object: want a mapping, not a single value", d.line)
}

// yamlValue looks at the nodes first, for what the conversion would not tell, or not survive.
func (d document) yamlValue() (any, error) {
	_, size, err := d.nodes()
	if err != nil {
		return nil, err
	}
	encoded, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return nil, errYAML(d.line, err)
	}
	var value any
	if err := utiljson.Unmarshal(encoded, &value); err != nil {
		return nil, errJSON(d.line, encoded, err)
	}
	if !size.merges && countKeys(value) != size.keys {
		return nil, fmt.Errorf("line %d: two keys of a mapping become the same text, such as 0x1 and 1: put them in quotes", d.line)
	}
	return value, nil
}

func countKeys(value any) int {
	count := 0
	switch value := value.(type) {
	case map[string]any:
		count = len(value)
		for _, element := range value {
			count += countKeys(element)
		}
	case []any:
		for _, element := range value {
			count += countKeys(element)
		}
	}
	return count
}

func (d document) jsonValue() (any, error) {
	var value any
	duplicates, err := kjson.UnmarshalStrict(d.text, &value, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, errJSON(d.line, d.text, err)
	}
	if len(duplicates) > 0 {
		return nil, fmt.Errorf("line %d: %w", d.line, duplicates[0])
	}
	return value, nil
}

// splitYAML finds the documents of a YAML file, as kubectl does: a line that starts with --- separates them. So does ..., where
// kubectl would drop what follows. Documents without content are left out.
func splitYAML(name string, content []byte) ([]document, error) {
	if !utf8.Valid(content) {
		return nil, fmt.Errorf("%s: is not UTF-8 text: save it as UTF-8", name)
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	var documents []document
	start, startLine := 0, 1 // of the current document
	offset, number := 0, 0   // of the line to look at
	for line := range bytes.Lines(content) {
		number++
		separates, err := isSeparator(line)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, number, err)
		}
		if separates {
			documents = append(documents, document{line: startLine, text: content[start:offset]})
			start, startLine = offset+len(line), number+1
		}
		offset += len(line)
	}
	documents = append(documents, document{line: startLine, text: content[start:]})
	return located(name, slices.DeleteFunc(documents, document.isEmpty)), nil
}

// isEmpty says that the document holds nothing but white space and comments.
func (d document) isEmpty() bool {
	for line := range bytes.Lines(d.text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// isSeparator says whether a line separates YAML documents.
func isSeparator(line []byte) (bool, error) {
	for _, marker := range []string{"---", "..."} {
		rest, found := bytes.CutPrefix(line, []byte(marker))
		if !found {
			continue
		}
		rest = bytes.TrimSpace(rest)
		if len(rest) > 0 && rest[0] != '#' {
			return false, fmt.Errorf("only a comment may follow %s: move the content to the next line", marker)
		}
		return true, nil
	}
	return false, nil
}

// splitJSON finds the documents of a JSON file: values one after another.
func splitJSON(name string, content []byte) ([]document, error) {
	var documents []document
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var value json.RawMessage
		switch err := decoder.Decode(&value); {
		case errors.Is(err, io.EOF):
			return located(name, documents), nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, errJSON(1, content, err))
		}
		start := int(decoder.InputOffset()) - len(value)
		documents = append(documents, document{line: 1 + bytes.Count(content[:start], []byte("\n")), text: value})
	}
}

// located gives the documents of a file their location.
func located(name string, documents []document) []document {
	for i := range documents {
		documents[i].location = name
		if len(documents) > 1 {
			documents[i].location = fmt.Sprintf("%s, document %d", name, i+1)
		}
	}
	return documents
}

// lenient parses the document as object does, but takes the last of keys that are there twice.
func (d document) lenient() (map[string]any, error) {
	if len(d.text) > maxDocumentBytes {
		return nil, errTooLarge
	}
	encoded, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		_, problem := yamlProblem(err)
		return nil, errors.New(problem)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(encoded, &object); err != nil {
		return nil, errors.New("want a mapping")
	}
	return object, nil
}
