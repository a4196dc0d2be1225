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
type extent struct {
	bytes, nodes, depth int
	keys                int  // in all mappings
	merges              bool // some mapping takes keys from another, so keys is not the number of keys that it will have
}

// nodes parses the document as YAML nodes. It fails on a document that has a key twice, and on one that is too large, too deep or
// contains itself once its aliases are written out. The node is nil if the document is empty.
func (d document) nodes() (*yaml.Node, extent, error) {
	if len(d.text) > maxDocumentBytes {
		return nil, extent{}, fmt.Errorf("line %d: the document %w", d.line, errTooLarge)
	}
	var doc yaml.Node
	switch err := yaml.NewDecoder(bytes.NewReader(asYAML(d.text))).Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, extent{}, nil
	case err != nil:
		return nil, extent{}, errYAML(d.line, err)
	}
	m := meter{line: d.line, measured: map[*yaml.Node]extent{}, open: map[*yaml.Node]bool{}}
	size, err := m.measure(&doc)
	switch {
	case err != nil:
		return nil, extent{}, err
	case size.depth > maxDepth:
		return nil, extent{}, fmt.Errorf("line %d: %w", d.line, errTooDeep)
	case size.bytes > maxDocumentBytes:
		return nil, extent{}, fmt.Errorf("line %d: with its aliases written out, the document %w", d.line, errTooLarge)
	}
	return doc.Content[0], size, nil
}

// asYAML returns text that is JSON without the escapes that YAML does not have, and other text as it is.
func asYAML(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u`)) {
		return text
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || decoder.More() {
		return text
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return encoded
}

// meter measures the nodes of one document. It visits each node once, so a document that would grow without bounds takes no
// longer than any other of its length.
type meter struct {
	line     int // of the file where the document starts
	measured map[*yaml.Node]extent
	open     map[*yaml.Node]bool // the nodes around the one to visit
}

func (m *meter) measure(node *yaml.Node) (extent, error) {
	if size, done := m.measured[node]; done {
		return size, nil
	}
	if m.open[node] {
		return extent{}, fmt.Errorf("line %d: %w", m.lineOf(node), errContainsSelf)
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
		size.add(inner)
	}
	switch node.Kind {
	case yaml.MappingNode:
		merges, err := m.checkKeys(node)
		if err != nil {
			return extent{}, err
		}
		size.depth++
		size.keys = min(size.keys+len(node.Content)/2, maxDocumentBytes)
		size.merges = size.merges || merges
	case yaml.SequenceNode:
		size.depth++
	}
	delete(m.open, node)
	m.measured[node] = size
	return size, nil
}

// add counts a node inside. The sums stop growing above the limit.
func (e *extent) add(inner extent) {
	e.bytes = min(e.bytes+inner.bytes, maxDocumentBytes+1)
	e.nodes = min(e.nodes+inner.nodes, maxDocumentBytes)
	e.keys = min(e.keys+inner.keys, maxDocumentBytes)
	e.depth = max(e.depth, inner.depth)
	e.merges = e.merges || inner.merges
}

// checkKeys fails if a mapping has a key twice. It says whether the mapping takes keys from another.
func (m *meter) checkKeys(mapping *yaml.Node) (merges bool, err error) {
	seen := make(map[string]bool, len(mapping.Content)/2)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := dealiased(mapping.Content[i])
		switch {
		case key.Kind != yaml.ScalarNode:
		case key.Tag == "!!merge":
			merges = true
		case seen[key.Value]:
			return false, fmt.Errorf("line %d: key %q is there twice", m.lineOf(mapping.Content[i]), key.Value)
		default:
			seen[key.Value] = true
		}
	}
	return merges, nil
}

func (m *meter) lineOf(node *yaml.Node) int { return m.line + max(node.Line, 1) - 1 }
