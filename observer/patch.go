package observer

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// patchOf is the JSON patch that makes one object of another, in the same order every time.
func patchOf(before, after *unstructured.Unstructured) ([]subresources.PatchOperation, error) {
	old, err := json.Marshal(before.Object)
	if err != nil {
		return nil, err
	}
	next, err := json.Marshal(after.Object)
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.CreatePatch(old, next)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(operations, inOrder)
	var patch []subresources.PatchOperation
	for _, o := range operations {
		operation := subresources.PatchOperation{Op: o.Operation, Path: o.Path}
		if o.Operation != "remove" {
			value, err := json.Marshal(o.Value)
			if err != nil {
				return nil, err
			}
			operation.Value = &apiextensionsv1.JSON{Raw: value}
		}
		patch = append(patch, operation)
	}
	return patch, nil
}

// inOrder sorts operations by path, and those on the elements of a list in the order in which the list shrinks from its end, or grows. The
// library gives those on fields in another order every time.
func inOrder(a, b jsonpatch.Operation) int {
	aParent, aName := cutLast(a.Path)
	bParent, bName := cutLast(b.Path)
	aIndex, aErr := strconv.Atoi(aName)
	bIndex, bErr := strconv.Atoi(bName)
	if aParent == bParent && a.Operation == b.Operation && aErr == nil && bErr == nil {
		if a.Operation == "remove" {
			return cmp.Compare(bIndex, aIndex)
		}
		return cmp.Compare(aIndex, bIndex)
	}
	return cmp.Or(cmp.Compare(aParent, bParent), cmp.Compare(a.Operation, b.Operation), cmp.Compare(aName, bName))
}

// cutLast takes the last part off a JSON pointer.
func cutLast(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}
