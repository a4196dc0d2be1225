package apply

import (
	"maps"
	"slices"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/live"
)

// DriftKind is what happened to an object that drifted.
type DriftKind string

// The kinds of drift.
const (
	DriftDeleted    DriftKind = "deleted"    // it is gone
	DriftUnlabelled DriftKind = "unlabelled" // its owner labels are not those of the Release any more
	DriftChanged    DriftKind = "changed"    // fields that convoy applied were changed, removed or taken over
)

// Drift is how an object that was as the render has it came to differ.
type Drift struct {
	Kind     DriftKind
	Managers []string // who owns the fields now, sorted; empty if nobody is named, as with what was removed
	Fields   []string // paths without values, sorted
}

// driftOf compares an object that was as the render has it, nil if it is gone, with what an apply would make of it.
func driftOf(owner live.Owner, found, result *unstructured.Unstructured) *Drift {
	if found == nil {
		return &Drift{Kind: DriftDeleted}
	}
	d := &Drift{Kind: driftKindOf(owner, found)}
	if d.Fields, d.Managers = live.Taken(found, result); len(d.Fields) == 0 { // somebody with convoy's name, or admission
		d.Fields = differences("", stateOf(found), stateOf(result))
	}
	return d
}

// driftKindOf is what happened to an object that is there.
func driftKindOf(owner live.Owner, found *unstructured.Unstructured) DriftKind {
	if !owner.Marks(found) {
		return DriftUnlabelled
	}
	return DriftChanged
}

// differences are the paths at which two values differ.
func differences(path string, a, b any) []string {
	if apiequality.Semantic.DeepEqual(a, b) {
		return nil
	}
	var paths []string
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if path != "metadata" || name != "managedFields" {
				paths = append(paths, differences(joined(path, name), a[name], b[name])...)
			}
		}
		return paths
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			paths = append(paths, differences(path+"["+strconv.Itoa(i)+"]", a[i], b[i])...)
		}
		return paths
	}
	return []string{path}
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
