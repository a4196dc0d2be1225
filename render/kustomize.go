package render

import (
	"context"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// addKustomization adds the objects of the kustomization in dir.
func addKustomization(ctx context.Context, t *tree, dir string, c *collection) error {
	objects, err := kustomize(ctx, t, dir)
	if err != nil {
		return err
	}
	for _, encoded := range objects {
		var object map[string]any
		if err := utiljson.Unmarshal(encoded, &object); err != nil {
			return fmt.Errorf("%s: read what kustomize made: %w", kustomizationIn(dir), err)
		}
		if err := c.add(object, kustomizationIn(dir)); err != nil {
			return err
		}
	}
	return nil
}

// kustomizationIn names a kustomization in messages.
func kustomizationIn(dir string) string {
	if dir == "." {
		return "kustomization in the root"
	}
	return "kustomization in " + dir
}
