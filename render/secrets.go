package render

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
)

// kustomize's errors quote what it works on. So the values of Secrets are collected before it starts, and masked in its errors.
const (
	// minSecretLength is the length from which a value is masked. Shorter ones guard nothing, and are parts of ordinary words.
	minSecretLength = 4

	// maxKustomizeMessage is where an error of kustomize is cut: some hold whole objects.
	maxKustomizeMessage = 1000

	secretMask = "***"
)

// secrets are the values that no message may show.
type secrets struct{ values []string }

func (s *secrets) add(value string) {
	for _, line := range append(strings.Split(value, "\n"), value) {
		line = strings.TrimSpace(line)
		if len(line) < minSecretLength {
			continue
		}
		quoted := strconv.Quote(line)
		s.values = append(s.values, line, quoted[1:len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(line)))
	}
}

// addFile adds the lines of a file that becomes the data of a Secret, and the values in them if it is an env file.
func (s *secrets) addFile(content []byte) {
	s.add(string(content))
	for line := range strings.Lines(string(content)) {
		_, value, _ := strings.Cut(line, "=")
		s.add(value)
	}
}

// addLiterals adds the literals of Secret generators.
func (s *secrets) addLiterals(generators []types.SecretArgs) {
	for _, args := range generators {
		for _, literal := range args.LiteralSources {
			s.addLiteral(literal)
		}
	}
}

func (s *secrets) addLiteral(literal string) {
	_, value, found := strings.Cut(literal, "=")
	if !found {
		value = literal
	}
	s.add(value)
	s.add(strings.Trim(value, `"'`))
}

// addNode adds the values of Secrets, of patches that can be for a Secret, and of Secret generators.
func (s *secrets) addNode(node *yaml.Node) {
	node = dealiased(node)
	if node.Kind == yaml.SequenceNode {
		for _, element := range node.Content {
			s.addPatchOperation(dealiased(element))
		}
	}
	if kind := field(node, "kind"); kind == nil || kind.Value != "ConfigMap" {
		s.addScalars(field(node, "data"))
	}
	s.addScalars(field(node, "stringData"))
	if literals := field(node, "literals"); literals != nil {
		for _, literal := range literals.Content {
			s.addLiteral(dealiased(literal).Value)
		}
	}
	if items := field(node, "items"); items != nil {
		for _, item := range items.Content {
			s.addNode(item)
		}
	}
}

// addPatchOperation adds the value of an operation of a JSON patch on the data of an object.
func (s *secrets) addPatchOperation(operation *yaml.Node) {
	target := field(operation, "path")
	if target != nil && (strings.HasPrefix(target.Value, "/data") || strings.HasPrefix(target.Value, "/stringData")) {
		s.addScalars(field(operation, "value"))
	}
}

func (s *secrets) addScalars(node *yaml.Node) {
	switch node = dealiased(node); {
	case node == nil:
	case node.Kind == yaml.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			s.addScalars(node.Content[i])
		}
	case node.Kind == yaml.SequenceNode:
		for _, element := range node.Content {
			s.addScalars(element)
		}
	default:
		s.add(node.Value)
	}
}

var (
	// configDump is how kustomize shows the whole configuration of a step that failed.
	configDump = regexp.MustCompile("(?s) with config: `\n.*?`")

	// pointer is an address in memory. It would make every message of the same failure another one.
	pointer = regexp.MustCompile(`0x[0-9a-f]{6,}`)
)

// mask returns a message of kustomize in one line, without the values of Secrets.
func (s *secrets) mask(message string) string {
	message = configDump.ReplaceAllString(message, "")
	message = pointer.ReplaceAllString(message, "0x")
	// The longest first: a value may be part of another.
	slices.SortFunc(s.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, value := range slices.Compact(s.values) {
		message = strings.ReplaceAll(message, value, secretMask)
	}
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxKustomizeMessage {
		message = strings.ToValidUTF8(message[:maxKustomizeMessage], "") + "…"
	}
	return message
}
