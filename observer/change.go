package observer

import (
	"bytes"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/redact"
)

const (
	// printedBytes is how many bytes of objects one diff shows. It bounds the time that it takes, and the answer.
	printedBytes = 32 << 20

	// liveLabel names the live side of a unified diff.
	liveLabel = "live"
)

// ownFields are fields of the metadata that the server keeps, and that no render has.
var ownFields = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}

// printer shows changes.
type printer struct {
	to   string // names the other side
	left int    // bytes that may still be shown
}

// print shows a change without values of Secrets: those of its objects, and the hidden ones.
func (p *printer) print(change live.Change, hidden redact.Values) (subresources.ReleaseChange, error) {
	shown := subresources.ReleaseChange{
		Action:     subresources.ChangeAction(change.Action),
		APIVersion: change.GVK.GroupVersion().String(),
		Kind:       change.GVK.Kind,
		Namespace:  change.ID.Namespace,
		Name:       change.ID.Name,
	}
	own := redact.ValuesOf(change.Live, change.Next)
	for _, note := range change.Notes {
		shown.Notes = append(shown.Notes, hidden.Text(own.Text(note)))
	}
	switch change.Action {
	case live.Create, live.Update, live.Delete:
		return p.printObjects(change, shown)
	}
	return shown, nil
}

// printObjects adds the patch and the unified diff, unless the diff shows enough already.
func (p *printer) printObjects(change live.Change, shown subresources.ReleaseChange) (subresources.ReleaseChange, error) {
	before, after := visible(change.Live), visible(change.Next)
	redact.Secrets(before, after)
	var texts [2][]byte
	for i, obj := range []*unstructured.Unstructured{before, after} {
		if obj == nil {
			continue
		}
		if p.left <= 0 {
			shown.Notes = append(shown.Notes, fmt.Sprintf("what would change in it is left out, since the objects of this diff are larger than %d MiB",
				printedBytes>>20))
			return shown, nil
		}
		var err error
		if texts[i], err = asYAML(obj); err != nil {
			return shown, err
		}
		p.left -= len(texts[i])
	}
	shown.Unified = unified(texts[0], p.to, texts[1])
	if before == nil || after == nil {
		return shown, nil
	}
	var err error
	shown.Patch, err = patchOf(before, after)
	return shown, err
}

// visible is a copy of an object without what no apply changes; nil for none.
func visible(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	obj = obj.DeepCopy()
	delete(obj.Object, "status")
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		for _, field := range ownFields {
			delete(metadata, field)
		}
	}
	return obj
}

// unified is a unified diff with three lines of context. The time that it takes is not quadratic in the lines.
func unified(before []byte, to string, after []byte) string {
	text := diff.Diff(liveLabel, before, to, after)
	title := fmt.Sprintf("diff %s %s\n", liveLabel, to) // which patch and others do not need
	return string(text[min(len(title), len(text)):])
}

// asYAML is an object as kubectl prints it.
func asYAML(obj *unstructured.Unstructured) ([]byte, error) {
	const indent = 2
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(indent)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(obj.Object); err != nil {
		return nil, err
	}
	return text.Bytes(), encoder.Close()
}
