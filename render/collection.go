package render

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// collection gathers the objects of a render, encoded, so that a large source needs no more memory than its render.
type collection struct {
	objects []encodedObject
	size    int // bytes of the encoded render so far
}

// encodedObject is an object in canonical form, and where it is from, for messages.
type encodedObject struct {
	id       ObjectID
	location string
	encoded  []byte
}

// add takes an object, or the objects of a list. It does not keep the object.
func (c *collection) add(object map[string]any, location string) error {
	if items, isList := itemsOf(object); isList {
		return c.addItems(object, items, location)
	}
	id, err := identify(object)
	if err != nil {
		return fmt.Errorf("%s: %w", location, err)
	}
	encoded, err := encodeObject(object)
	if err != nil {
		return fmt.Errorf("%s: encode %s: %w", location, id, err)
	}
	c.objects = append(c.objects, encodedObject{id, location, encoded})
	c.size += len(encoded) + 1
	switch {
	case len(c.objects) > MaxObjects:
		return errObjectLimit
	case c.size+1 > MaxBytes:
		return errByteLimit
	}
	return nil
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

// addItems takes the objects of a list. As kubectl does, an item with neither apiVersion nor kind takes them from the list: a
// ConfigMapList holds ConfigMaps.
func (c *collection) addItems(list map[string]any, items []any, location string) error {
	kind := strings.TrimSuffix(list["kind"].(string), "List")
	for i, item := range items {
		itemLocation := fmt.Sprintf("%s, item %d", location, i+1)
		object, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: not an object: a list of Kubernetes objects holds only objects", itemLocation)
		}
		if object["apiVersion"] == nil && object["kind"] == nil {
			object = maps.Clone(object)
			object["apiVersion"], object["kind"] = list["apiVersion"], kind
		}
		if err := c.add(object, itemLocation); err != nil {
			return err
		}
	}
	return nil
}

// render puts the objects in order. It fails on two with the same identity.
func (c *collection) render() (Render, error) {
	slices.SortStableFunc(c.objects, func(a, b encodedObject) int { return a.id.Compare(b.id) })
	var out bytes.Buffer
	out.Grow(c.size + 2)
	out.WriteByte('[')
	for i, obj := range c.objects {
		if i > 0 {
			if before := c.objects[i-1]; before.id == obj.id {
				return Render{}, fmt.Errorf("%s is defined twice, in %s and in %s: keep one of them", obj.id, before.location, obj.location)
			}
			out.WriteByte(',')
		}
		out.Write(obj.encoded)
	}
	out.WriteByte(']')
	return Render{ref: RefOf(out.Bytes()), encoded: out.Bytes(), count: len(c.objects)}, nil
}
