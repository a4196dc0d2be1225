package live

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// LeaveToOthers takes out of an object that is about to be applied what its annotation convoy.dev/ignore-drift leaves to others. The
// live object is nil if it is not there; then everything is set, once.
//
// At each pointer, a field that another manager owns is left out. One that convoy alone owns is sent as it is live, since a field that
// is left out by its only owner is removed or reset. Inside an element of a list it is always sent as it is live: a pointer names the
// element by its position in the render, and the live one is the one of the same name, or else in the same position.
//
// It returns desired itself if there is nothing to leave, else a copy; and nil if the whole object is left to others, so that nothing is
// to be sent. The error names the pointer that is malformed.
func LeaveToOthers(desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	pointers, all, err := leftToOthers(desired)
	if err != nil {
		return nil, err
	}
	if live == nil || (len(pointers) == 0 && !all) {
		return desired, nil
	}
	if all {
		return nil, nil
	}
	owned, err := ownershipOf(live)
	if err != nil {
		return nil, err
	}
	rest := desired.DeepCopy()
	for _, p := range pointers {
		place{rest.Object, live.Object, owned, false}.leave(p.tokens)
	}
	keepIdentity(rest, desired)
	return rest, nil
}

// pointer is a JSON pointer, as it was written and as it is walked.
type pointer struct {
	text   string
	tokens []string
}

// badEscape is a ~ that RFC 6901 gives no meaning.
var badEscape = regexp.MustCompile(`~([^01]|$)`)

// leftToOthers reads the annotation of an object of the render.
func leftToOthers(desired *unstructured.Unstructured) (pointers []pointer, all bool, err error) {
	value := desired.GetAnnotations()[v1alpha1.IgnoreDriftAnnotation]
	separator := func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }
	for _, text := range strings.FieldsFunc(value, separator) {
		if text == v1alpha1.IgnoreDriftAll {
			all = true
			continue
		}
		p, err := parsePointer(desired, text)
		if err != nil {
			return nil, false, fmt.Errorf("annotation %s: pointer %q: %w", v1alpha1.IgnoreDriftAnnotation, text, err)
		}
		pointers = append(pointers, p)
	}
	return pointers, all, nil
}

func parsePointer(desired *unstructured.Unstructured, text string) (pointer, error) {
	parsed, err := jsonpointer.New(text)
	switch {
	case err != nil:
		return pointer{}, fmt.Errorf("want a JSON pointer that begins with /, such as /spec/replicas, or %s", v1alpha1.IgnoreDriftAll)
	case badEscape.MatchString(text):
		return pointer{}, fmt.Errorf("want ~0 for ~ and ~1 for / in a name")
	}
	p := pointer{text, parsed.DecodedTokens()}
	switch p.tokens[0] {
	case "apiVersion", "kind", "status":
		return pointer{}, fmt.Errorf("%s is no field to leave to others", p.tokens[0])
	case "metadata":
		if len(p.tokens) == 1 || !slices.Contains([]string{"annotations", "labels", "finalizers", "ownerReferences"}, p.tokens[1]) {
			return pointer{}, fmt.Errorf("of metadata, want annotations, labels, finalizers or ownerReferences")
		}
	case "stringData":
		if desired.GroupVersionKind().GroupKind() == SecretKind { // it is applied as data
			p.tokens[0] = "data"
		}
	}
	return p, checkLeadsOn(desired.Object, p.tokens)
}

// checkLeadsOn fails if the render has something in the way of a pointer. It need not have its field.
func checkLeadsOn(value any, tokens []string) error {
	for i, token := range tokens {
		above := "/" + strings.Join(tokens[:i], "/")
		switch v := value.(type) {
		case nil:
			return nil
		case map[string]any:
			value = v[token]
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 {
				return fmt.Errorf("%s is a list: want the position of an element, from 0, not %q", above, token)
			}
			if index >= len(v) {
				return fmt.Errorf("%s has %d elements in the render, counted from 0", above, len(v))
			}
			value = v[index]
		default:
			return fmt.Errorf("%s has no fields", above)
		}
	}
	return nil
}

// place is one place in an object: what the render and the live object have there, nil for nothing, and who owns it.
type place struct {
	desired, live any
	owned         ownership
	inList        bool // at or inside an element of a list
}

// leave returns what is to be sent at the place, once what the tokens lead to is left to others; nil for nothing.
func (p place) leave(tokens []string) any {
	if len(tokens) == 0 {
		return p.left()
	}
	switch desired := p.desired.(type) {
	case []any:
		return p.leaveInList(desired, tokens)
	case map[string]any:
		if next := p.field(tokens[0]).leave(tokens[1:]); next != nil {
			desired[tokens[0]] = next
		} else if _, had := desired[tokens[0]]; had {
			if delete(desired, tokens[0]); len(desired) == 0 {
				return nil
			}
		}
		return desired
	case nil:
		if next := p.field(tokens[0]).leave(tokens[1:]); next != nil {
			return map[string]any{tokens[0]: next}
		}
	}
	return p.desired
}

func (p place) leaveInList(desired []any, tokens []string) any {
	index, err := strconv.Atoi(tokens[0])
	if err != nil || index < 0 || index >= len(desired) {
		return desired
	}
	live := counterpart(desired[index], index, p.live)
	if live == nil { // the element is not there yet, so everything in it is set
		return desired
	}
	desired[index] = place{desired[index], live, ownership{}, true}.leave(tokens[1:])
	return desired
}

// counterpart finds the live element of a list for one of the render.
func counterpart(desired any, index int, live any) any {
	elements, _ := live.([]any)
	if element, ok := desired.(map[string]any); ok && element["name"] != nil {
		for _, candidate := range elements {
			if c, ok := candidate.(map[string]any); ok && c["name"] == element["name"] {
				return c
			}
		}
		return nil
	}
	if index < len(elements) {
		return elements[index]
	}
	return nil
}

// field is the place of a field.
func (p place) field(name string) place {
	next := place{nil, nil, p.owned.field(name), p.inList}
	if desired, ok := p.desired.(map[string]any); ok {
		next.desired = desired[name]
	}
	if live, ok := p.live.(map[string]any); ok {
		next.live = live[name]
	}
	return next
}

// left is what is sent at a place that is left to others: of what is live, that which no other manager keeps there.
func (p place) left() any {
	if p.inList || p.live == nil {
		return runtime.DeepCopyJSONValue(p.live)
	}
	fields, isMap := p.live.(map[string]any)
	if isMap && len(fields) > 0 && !p.owned.atomic() {
		next := map[string]any{}
		for name := range fields {
			if value := p.field(name).left(); value != nil {
				next[name] = value
			}
		}
		if len(next) == 0 {
			return nil
		}
		return next
	}
	othersKeepIt := p.owned.byOthers() && !p.owned.byUsAlone()
	if othersKeepIt || (p.desired == nil && !p.owned.byUs()) {
		return nil
	}
	return runtime.DeepCopyJSONValue(p.live)
}

// keepIdentity puts back what names an object and its owner, which no pointer leaves to others.
func keepIdentity(rest, desired *unstructured.Unstructured) {
	labels := rest.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for _, name := range []string{v1alpha1.ReleaseNameLabel, v1alpha1.ReleaseNamespaceLabel} {
		if value, ok := desired.GetLabels()[name]; ok {
			labels[name] = value
		}
	}
	if len(labels) > 0 {
		rest.SetLabels(labels)
	}
}
