package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// strictly reads an object into its type. A field that the type does not have is an error that names it; no error shows a value of a
// Secret.
func strictly(object *unstructured.Unstructured, into any) error {
	encoded, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(encoded, into)
	if err != nil {
		return err
	}
	var texts []string
	for _, err := range unknown {
		texts = append(texts, err.Error())
	}
	if len(texts) > 0 {
		return errors.New(strings.Join(texts, ", "))
	}
	return nil
}

// releaseOf reads a Release. What no API server would take is refused as far as it decides what is rendered.
func releaseOf(object *unstructured.Unstructured) (*v1alpha1.Release, error) {
	id := render.IDOf(object)
	if version := object.GetAPIVersion(); version != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("%s: its apiVersion is %s: want %s", id, version, v1alpha1.GroupVersion)
	}
	release := &v1alpha1.Release{}
	if err := strictly(object, release); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	if err := checkUnions(object); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	return release, nil
}

// checkUnions says which field of the spec has more members than one, or none although it must have one.
func checkUnions(object *unstructured.Unstructured) error {
	spec, _ := object.Object["spec"].(map[string]any)
	if err := checkUnion("spec.source", spec["source"]); err != nil {
		return err
	}
	source, _ := spec["source"].(map[string]any)
	for kind, value := range source {
		members, _ := value.(map[string]any)
		if ref, _ := members["ref"].(map[string]any); len(ref) > 1 {
			return checkUnion("spec.source."+kind+".ref", ref)
		}
	}
	mutations, _ := spec["mutations"].([]any)
	for i, mutation := range mutations {
		if err := checkUnion(fmt.Sprintf("spec.mutations[%d]", i), mutation); err != nil {
			return err
		}
	}
	return nil
}

func checkUnion(field string, value any) error {
	members, _ := value.(map[string]any)
	switch set := slices.Sorted(maps.Keys(members)); len(set) {
	case 0:
		return fmt.Errorf("%s: none of its members is set: set one", field)
	case 1:
		return nil
	default:
		return fmt.Errorf("%s: %s are set: set one of them", field, strings.Join(set, " and "))
	}
}
