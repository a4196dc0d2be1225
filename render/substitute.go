package render

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// variableName is what a variable may be called, as in a shell.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// defaulting are the functions of envsubst that need no value: https://github.com/fluxcd/pkg/tree/main/envsubst
var defaulting = []string{"=", ":=", ":-"}

// substitution puts values in place of variables in every text of the objects.
type substitution struct {
	values map[string]string
	bytes  int // the most that the texts so far may have become
}

func newSubstitution(values map[string]string) (*substitution, error) {
	for name := range values {
		if !variableName.MatchString(name) {
			return nil, fmt.Errorf("variable %q: want letters, digits and _, and no digit first", name)
		}
	}
	return &substitution{values: values}, nil
}

func (s *substitution) mutate(m *mutant) (bool, error) {
	object, err := m.fields()
	if err != nil || exempt(object) {
		return false, err
	}
	replaced, err := s.replace(object, nil)
	if err != nil {
		return false, err
	}
	m.object = replaced.(map[string]any)
	return true, nil
}

// exempt says whether an object is annotated against substitution.
func exempt(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations[v1alpha1.SubstituteAnnotation] == v1alpha1.SubstituteDisabled ||
		annotations[v1alpha1.FluxSubstituteAnnotation] == v1alpha1.SubstituteDisabled
}

// replace returns the value at a path with all of its texts substituted.
func (s *substitution) replace(value any, path []string) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, v := range value {
			name, err := s.text(key, append(slices.Clip(path), key))
			if err != nil {
				return nil, err
			}
			if out[name], err = s.replace(v, append(slices.Clip(path), key)); err != nil {
				return nil, err
			}
		}
		if len(out) < len(value) {
			return nil, fmt.Errorf("%s: two keys become the same", strings.Join(path, "."))
		}
		return out, nil
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			var err error
			if out[i], err = s.replace(v, append(slices.Clip(path), strconv.Itoa(i))); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string:
		text, err := s.text(value, path)
		if err != nil || text == value || textual(path) || !whole(value) {
			return text, err
		}
		return typed(text), nil
	}
	return value, nil
}

// text substitutes the variables in one text.
func (s *substitution) text(text string, path []string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	where := strings.Join(path, ".")
	tree, err := parse.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%s: ${ without a variable that can be read: write $${ for a plain ${", where)
	}
	if missing := s.missing(tree.Root); len(missing) > 0 {
		return "", fmt.Errorf("%s: no value for ${%s}: add it to vars or from, give it a default as in ${%s:=value}, or write $${%s} "+
			"to keep it", where, missing[0], missing[0], missing[0])
	}
	if s.bytes += s.size(tree.Root); s.bytes > MaxBytes {
		return "", fmt.Errorf("%s: %w", where, errByteLimit)
	}
	replaced, err := envsubst.Eval(text, func(name string) (string, bool) {
		value, ok := s.values[name]
		return value, ok
	})
	if err != nil {
		return "", errors.New(where + ": its variables cannot be substituted")
	}
	return replaced, nil
}

// missing are the variables that need a value and have none.
func (s *substitution) missing(node parse.Node) []string {
	var names []string
	switch node := node.(type) {
	case *parse.ListNode:
		for _, n := range node.Nodes {
			names = append(names, s.missing(n)...)
		}
	case *parse.FuncNode:
		_, ok := s.values[node.Param]
		if !ok && !slices.Contains(defaulting, node.Name) {
			names = append(names, node.Param)
		}
		for _, n := range node.Args {
			names = append(names, s.missing(n)...)
		}
	}
	return names
}

// size is the most bytes that a text may have with its values in it, cut off above MaxBytes.
func (s *substitution) size(node parse.Node) int {
	size := 0
	switch node := node.(type) {
	case *parse.TextNode:
		size = len(node.Value)
	case *parse.ListNode:
		for _, n := range node.Nodes {
			size = min(size+s.size(n), MaxBytes+1)
		}
	case *parse.FuncNode:
		for _, n := range node.Args {
			size = min(size+s.size(n), MaxBytes+1)
		}
		value := len(s.values[node.Param])
		if strings.HasPrefix(node.Name, "/") {
			value *= size + 1 // each character of it may be replaced
		}
		size += value
	}
	return min(size, MaxBytes+1)
}

// whole says whether a text is one variable and nothing else.
func whole(text string) bool {
	return strings.HasPrefix(text, "${") && strings.HasSuffix(text, "}") && strings.Count(text, "${") == 1 && strings.Count(text, "}") == 1
}

// typed reads a value as the number or boolean that it would be if it stood in the manifest, as replicas: ${count} wants.
func typed(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n
	}
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

// textual says whether the API has only text at a path, so that a value of digits stays text.
func textual(path []string) bool {
	from := func(inside int) string {
		if inside >= len(path) {
			return ""
		}
		return path[len(path)-1-inside]
	}
	last, above := from(0), from(1)
	_, err := strconv.Atoi(last)
	switch isElement := err == nil; {
	case isElement:
		return above == "args" || above == "command"
	case slices.Contains([]string{"labels", "annotations", "matchLabels", "nodeSelector"}, above):
		return true
	case len(path) == 2:
		return slices.Contains([]string{"data", "stringData", "binaryData"}, above)
	}
	return last == "value" && from(2) == "env"
}
