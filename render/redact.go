package render

import (
	"cmp"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
)

// kustomize's errors quote what it works on. So the values of Secrets are collected before it works on them, and taken out of its
// errors, along with what only makes these hard to read.
const (
	// minSecretLength is the length from which a value is masked. Shorter ones guard nothing, and are parts of ordinary words.
	minSecretLength = 4

	// maxKustomizeMessage is where an error of kustomize is cut: some hold whole objects.
	maxKustomizeMessage = 1000

	secretMask = "***"
)

// redactor takes out of messages what they must not show.
type redactor struct {
	values    []string          // of Secrets
	locations map[string]string // where the kustomization files hold YAML, by that YAML
}

// addInline notes YAML in a kustomization file. Messages show its location instead.
func (r *redactor) addInline(location, text string) {
	if r.locations == nil {
		r.locations = map[string]string{}
	}
	for _, shown := range []string{text, strings.TrimSpace(text)} {
		r.locations[shown] = location
		r.locations[strconv.Quote(shown)] = location
	}
}

// add adds a value, and each of its lines.
func (r *redactor) add(value string) {
	for _, line := range append(strings.Split(value, "\n"), value) {
		line = strings.TrimSpace(line)
		if len(line) < minSecretLength {
			continue
		}
		quoted := strconv.Quote(line)
		r.values = append(r.values, line, quoted[1:len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(line)))
	}
}

// addFile adds the lines of a file that becomes the data of a Secret, and the values in them if it is an env file.
func (r *redactor) addFile(content []byte) {
	r.add(string(content))
	for line := range strings.Lines(string(content)) {
		_, value, _ := strings.Cut(line, "=")
		r.add(value)
	}
}

// addLiterals adds the literals of Secret generators.
func (r *redactor) addLiterals(generators []types.SecretArgs) {
	for _, args := range generators {
		for _, literal := range args.LiteralSources {
			r.addLiteral(literal)
		}
	}
}

func (r *redactor) addLiteral(literal string) {
	_, value, found := strings.Cut(literal, "=")
	if !found {
		value = literal
	}
	r.add(value)
	r.add(strings.Trim(value, `"'`))
}

// addNode adds the values of Secrets, of patches that can be for a Secret, and of Secret generators.
func (r *redactor) addNode(node *yaml.Node) {
	node = dealiased(node)
	if node.Kind == yaml.SequenceNode {
		for _, element := range node.Content {
			r.addPatchOperation(dealiased(element))
		}
	}
	if kind := field(node, "kind"); kind == nil || kind.Value != "ConfigMap" {
		r.addScalars(field(node, "data"))
	}
	r.addScalars(field(node, "stringData"))
	if literals := field(node, "literals"); literals != nil {
		for _, literal := range literals.Content {
			r.addLiteral(dealiased(literal).Value)
		}
	}
	if items := field(node, "items"); items != nil {
		for _, item := range items.Content {
			r.addNode(item)
		}
	}
}

// addPatchOperation adds the value of an operation of a JSON patch on the data of an object.
func (r *redactor) addPatchOperation(operation *yaml.Node) {
	target := field(operation, "path")
	if target != nil && (strings.HasPrefix(target.Value, "/data") || strings.HasPrefix(target.Value, "/stringData")) {
		r.addScalars(field(operation, "value"))
	}
}

// addScalars adds all scalars of a node, each once: what aliases repeat may grow without bounds, or contain itself.
func (r *redactor) addScalars(node *yaml.Node) { r.addScalarsBut(node, map[*yaml.Node]bool{}) }

func (r *redactor) addScalarsBut(node *yaml.Node, seen map[*yaml.Node]bool) {
	node = dealiased(node)
	if node == nil || seen[node] {
		return
	}
	seen[node] = true
	switch node.Kind {
	case yaml.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			r.addScalarsBut(node.Content[i], seen)
		}
	case yaml.SequenceNode:
		for _, element := range node.Content {
			r.addScalarsBut(element, seen)
		}
	default:
		r.add(node.Value)
	}
}

// In turn, what is taken out of kustomize's errors, and what takes its place.
var kustomizeNoise = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile("(?s) with config: `\n.*?`"), ""},              // the whole configuration of a step
	{regexp.MustCompile(`(?s):? (?:node contents|in object)\b.*`), ""}, // a whole object
	{regexp.MustCompile(`\[\d{1,3}(?: \d{1,3}){3,}\]`), secretMask},    // text as the numbers of its bytes
	{regexp.MustCompile(`0x[0-9a-f]{6,}`), "0x"},                       // an address in memory, another one each time
	{regexp.MustCompile(`(?s)accumulation err='(.*)': must build at directory: '[^']*': file is not directory`), "$1"},
}

// redact returns a message of kustomize in one line, without the values of Secrets.
func (r *redactor) redact(message string) string {
	for _, text := range longestFirst(slices.Collect(maps.Keys(r.locations))) {
		message = strings.ReplaceAll(message, text, r.locations[text])
	}
	for _, noise := range kustomizeNoise {
		message = noise.pattern.ReplaceAllString(message, noise.replacement)
	}
	for _, value := range longestFirst(r.values) {
		message = strings.ReplaceAll(message, value, secretMask)
	}
	message = strings.Join(strings.Fields(message), " ")
	if half := maxKustomizeMessage / 2; len(message) > maxKustomizeMessage { // the cause is at the end
		message = strings.ToValidUTF8(message[:half], "") + " … " + strings.ToValidUTF8(message[len(message)-half:], "")
	}
	return message
}

// longestFirst orders texts so that one that is part of another comes after it.
func longestFirst(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(texts)
}
