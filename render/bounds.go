package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// extent is how large a YAML node is once its aliases are written out.
type extent struct{ bytes, nodes, depth int }

// meter measures the nodes of one document. It visits each node once, so a document that would grow without bounds takes no
// longer than any other of its length.
type meter struct {
	measured map[*yaml.Node]extent
	open     map[*yaml.Node]bool // the nodes around the one to visit
}

// nodes parses the document as YAML nodes. It fails on one that is too large, too deep, or contains itself once its aliases are
// written out. nil is a document without content.
func (d document) nodes() (root *yaml.Node, count int, err error) {
	if len(d.text) > maxDocumentBytes {
		return nil, 0, fmt.Errorf("line %d: the document %w", d.line, errTooLarge)
	}
	var doc yaml.Node
	switch err := yaml.NewDecoder(bytes.NewReader(asYAML(d.text))).Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, 0, nil
	case err != nil:
		return nil, 0, errYAML(d.line, err)
	}
	m := meter{measured: map[*yaml.Node]extent{}, open: map[*yaml.Node]bool{}}
	size, err := m.measure(&doc)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("line %d: %w", d.line, err)
	case size.depth > maxDepth:
		return nil, 0, fmt.Errorf("line %d: %w", d.line, errTooDeep)
	case size.bytes > maxDocumentBytes:
		return nil, 0, fmt.Errorf("line %d: with its aliases written out, the document %w", d.line, errTooLarge)
	}
	return doc.Content[0], size.nodes, nil
}

// asYAML returns text that is JSON without the escapes that YAML does not have, and other text as it is.
func asYAML(text []byte) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if !bytes.Contains(text, []byte(`\u`)) || decoder.Decode(&value) != nil || decoder.More() {
		return text
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return encoded
}

func (m *meter) measure(node *yaml.Node) (extent, error) {
	if size, done := m.measured[node]; done {
		return size, nil
	}
	if m.open[node] {
		return extent{}, errContainsSelf
	}
	if node.Kind == yaml.AliasNode {
		return m.measure(node.Alias)
	}
	m.open[node] = true
	size := extent{bytes: len(node.Value) + 1, nodes: 1}
	for _, child := range node.Content {
		inner, err := m.measure(child)
		if err != nil {
			return extent{}, err
		}
		size.bytes = min(size.bytes+inner.bytes, maxDocumentBytes+1)
		size.nodes = min(size.nodes+inner.nodes, maxDocumentBytes+1)
		size.depth = max(size.depth, inner.depth)
	}
	if node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode {
		size.depth++
	}
	delete(m.open, node)
	m.measured[node] = size
	return size, nil
}
