package render

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// The YAML libraries return text alone, and quote the values of the document, which may be secret. So their text is not passed on:
// what is known to quote nothing is kept, and the rest is put in our words.
var (
	yamlLine = regexp.MustCompile(`^(?:\[\d+\]: )?line (\d+): `)

	yamlQuotesNothing = []string{
		"block collection entries are not allowed",
		"block mapping is not allowed",
		"block sequence entries are not allowed",
		"control characters are not allowed",
		"could not find expected ':'",
		"could not find expected directive name",
		"did not find expected",
		"document contains excessive aliasing",
		"exceeded max depth of",
		"found a tab character",
		"found character that cannot start any token",
		"found incompatible YAML document",
		"found undefined tag handle",
		"found unexpected document indicator",
		"found unexpected end of stream",
		"found unknown escape character",
		"found unknown directive name",
		"incomplete UTF",
		"invalid leading UTF-8 octet",
		"invalid trailing UTF-8 octet",
		"mapping keys are not allowed in this context",
		"mapping values are not allowed in this context",
		"map merge requires map or sequence of maps as the value",
	}

	yamlRewordings = []struct{ prefix, words string }{
		{"unknown anchor ", "an alias names an anchor that is not defined"},
		{"anchor ", errContainsSelf.Error()},
		{"cannot decode ", "a value does not fit the tag in front of it"},
		{"!!binary ", "a !!binary value is not base64"},
		{"cannot unmarshal ", "a key or a value is of the wrong type"},
		{"unsupported map key ", "a mapping key must be a string"},
		{"invalid map key", "a mapping key must be a string"},
		{"json: unsupported value", "a number is infinite, or not a number: JSON has no such value"},
	}
)

// errYAML is the first error that a YAML parser found, without what it quotes from the document. firstLine is the line of the file
// where the document starts.
func errYAML(firstLine int, err error) error {
	line, problem := yamlProblem(err)
	return fmt.Errorf("line %d: %s", firstLine+line-1, problem)
}

// yamlProblem is the first error that a YAML parser found: the line of the document, 1 if it names none, and what is wrong.
func yamlProblem(err error) (line int, problem string) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if lines, isList := strings.CutPrefix(text, "unmarshal errors:\n"); isList {
		text, _, _ = strings.Cut(strings.TrimSpace(lines), "\n")
	}
	line = 1
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		text = text[len(match[0]):]
		if n, err := strconv.Atoi(match[1]); err == nil {
			line = n
		}
	}
	return line, withoutQuotes(text)
}

// withoutQuotes returns what a YAML parser says, without what it quotes from the document.
func withoutQuotes(text string) string {
	for _, start := range yamlQuotesNothing {
		if strings.HasPrefix(text, start) {
			return text
		}
	}
	for _, rewording := range yamlRewordings {
		if strings.HasPrefix(text, rewording.prefix) {
			return rewording.words
		}
	}
	return "is not valid YAML"
}

// errJSON is the error of a JSON parser, without what it quotes from the document. firstLine is the line of the file where the
// document starts.
func errJSON(firstLine int, text []byte, err error) error {
	isSyntax, offset := kjson.SyntaxErrorOffset(err)
	if !isSyntax {
		return fmt.Errorf("line %d: %w", firstLine, errors.New("is not valid JSON"))
	}
	read := text[:min(max(int(offset)-1, 0), len(text))]
	line := firstLine + bytes.Count(read, []byte("\n"))
	column := len(read) - bytes.LastIndexByte(read, '\n')
	return fmt.Errorf("line %d, column %d: is not valid JSON", line, column)
}
