package render

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// locatedObject is an object, or a list of objects, and where it is from, for messages.
type locatedObject struct {
	object   map[string]any
	location string
}

// identifiedObject is an object with a complete identity.
type identifiedObject struct {
	locatedObject
	id ObjectID
}

// flatten replaces lists by their items and identifies every object.
func flatten(located []locatedObject) ([]identifiedObject, error) {
	objects := make([]identifiedObject, 0, len(located))
	for _, obj := range located {
		items, isList := itemsOf(obj.object)
		if !isList {
			id, err := identify(obj.object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", obj.location, err)
			}
			objects = append(objects, identifiedObject{obj, id})
			continue
		}
		located, err := locateItems(obj, items)
		if err != nil {
			return nil, err
		}
		inner, err := flatten(located)
		if err != nil {
			return nil, err
		}
		objects = append(objects, inner...)
	}
	return objects, nil
}

// itemsOf returns the items of a list: its kind ends in List, and it has an array of items.
func itemsOf(object map[string]any) (items []any, isList bool) {
	kind, _ := object["kind"].(string)
	if !strings.HasSuffix(kind, "List") {
		return nil, false
	}
	items, isList = object["items"].([]any)
	return items, isList
}

// locateItems gives the items of a list their place. As kubectl does, an item with neither apiVersion nor kind takes them from the
// list: a ConfigMapList holds ConfigMaps.
func locateItems(list locatedObject, items []any) ([]locatedObject, error) {
	apiVersion := list.object["apiVersion"]
	kind := strings.TrimSuffix(list.object["kind"].(string), "List")
	located := make([]locatedObject, 0, len(items))
	for i, item := range items {
		location := fmt.Sprintf("%s, item %d", list.location, i+1)
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: not an object: a list of Kubernetes objects holds only objects", location)
		}
		if object["apiVersion"] == nil && object["kind"] == nil {
			object = maps.Clone(object)
			object["apiVersion"], object["kind"] = apiVersion, kind
		}
		located = append(located, locatedObject{object, location})
	}
	return located, nil
}

// identify reads the identity of an object. It says what is missing.
func identify(object map[string]any) (ObjectID, error) {
	apiVersion, err := text(object, "apiVersion", "apiVersion")
	if err != nil {
		return ObjectID{}, err
	}
	kind, err := text(object, "kind", "kind")
	if err != nil {
		return ObjectID{}, err
	}
	if apiVersion == "" || kind == "" {
		return ObjectID{}, errors.New("not a Kubernetes object: it needs both apiVersion and kind")
	}
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ObjectID{}, fmt.Errorf("%s: apiVersion: %w", kind, err)
	}
	id := ObjectID{Group: version.Group, Kind: kind}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok && object["metadata"] != nil {
		return ObjectID{}, fmt.Errorf("%s: metadata must be a mapping", id.GroupKind())
	}
	if id.Name, err = text(metadata, "name", "metadata.name"); err == nil {
		id.Namespace, err = text(metadata, "namespace", "metadata.namespace")
	}
	if err != nil {
		return ObjectID{}, fmt.Errorf("%s: %w", id.GroupKind(), err)
	}
	if id.Name == "" && metadata["generateName"] != nil {
		return ObjectID{}, fmt.Errorf("%s: metadata.generateName makes a new object on every apply: set metadata.name", id.GroupKind())
	}
	if id.Name == "" {
		return ObjectID{}, fmt.Errorf("%s: metadata.name is missing", id.GroupKind())
	}
	return id, nil
}

// text returns a field that is a string, or absent.
func text(object map[string]any, key, path string) (string, error) {
	value, ok := object[key].(string)
	if !ok && object[key] != nil {
		return "", fmt.Errorf("%s must be a string: put it in quotes", path)
	}
	return value, nil
}
