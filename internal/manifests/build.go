package manifests

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/convoy-dev/convoy/internal/controlplane"
)

// Build returns the objects of a kustomization in config/ of the repository, such as default.
func Build(name string) ([]*unstructured.Unstructured, error) {
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "config", name)
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		content, err := resource.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("build %s: %s: %w", dir, resource.CurId(), err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(content); err != nil {
			return nil, fmt.Errorf("build %s: %s: %w", dir, resource.CurId(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
