package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// minValueLength is the length from which a value is looked for in other text. Shorter ones guard nothing, and are parts of ordinary words.
const minValueLength = 4

// Values are values of Secrets that other text must not show.
type Values struct{ replacer *strings.Replacer }

// ValuesOf are the values of those of the objects that are Secrets.
func ValuesOf(objects ...*unstructured.Unstructured) Values {
	var values secretValues
	for _, obj := range objects {
		if !IsSecret(obj) {
			continue
		}
		for _, field := range valueFields {
			values.add(obj.Object[field])
		}
	}
	longestFirst := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }
	var pairs []string
	for _, value := range slices.Compact(slices.SortedFunc(slices.Values(values), longestFirst)) {
		pairs = append(pairs, value, mask)
	}
	return Values{strings.NewReplacer(pairs...)}
}

// Text is a text without the values.
func (v Values) Text(text string) string { return v.replacer.Replace(text) }

// shownIn says whether a text shows one of the values.
func (v Values) shownIn(text string) bool { return v.Text(text) != text }

// Err is an error that does not show the values. It is the error itself where that shows none.
func (v Values) Err(err error) error {
	if err == nil || !v.shownIn(err.Error()) {
		return err
	}
	return errors.New(v.Text(err.Error()))
}

// secretValues are values of Secrets in the forms in which other text may show them.
type secretValues []string

// add adds whatever is below a field of a Secret, as it is, in base64, and without the base64.
func (v *secretValues) add(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, element := range value {
			v.add(element)
		}
	case []any:
		for _, element := range value {
			v.add(element)
		}
	case string:
		v.addText(value)
		v.addText(base64.StdEncoding.EncodeToString([]byte(value)))
		if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
			v.addText(string(decoded))
		}
	case int64, float64:
		if number, err := json.Marshal(value); err == nil {
			v.addText(string(number))
		}
	}
}

// addText adds a text, its lines, and each of them as it is quoted.
func (v *secretValues) addText(text string) {
	for _, part := range append(strings.Split(text, "\n"), text) {
		part = strings.TrimSpace(part)
		if len(part) < minValueLength {
			continue
		}
		*v = append(*v, part)
		if quoted, err := json.Marshal(part); err == nil && string(quoted) != `"`+part+`"` {
			*v = append(*v, string(quoted[1:len(quoted)-1]))
		}
	}
}
