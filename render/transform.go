package render

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/annotations"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/filters/labels"
	"sigs.k8s.io/kustomize/api/filters/replicacount"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// filters are kustomize's own, meant for every object.
type filters []kio.Filter

func (f filters) mutate(m *mutant) (bool, error) {
	res, err := m.asResource()
	if err != nil {
		return false, err
	}
	for _, filter := range f {
		if err := res.ApplyFilter(filter); err != nil {
			return false, fmt.Errorf("kustomize: %w", err)
		}
	}
	return true, nil
}

func labelsFilter(pairs map[string]string) filters {
	return filters{labels.Filter{Labels: pairs, FsSlice: types.FsSlice{{Path: "metadata/labels", CreateIfNotPresent: true}}}}
}

func annotationsFilter(pairs map[string]string) filters {
	return filters{annotations.Filter{Annotations: pairs, FsSlice: types.FsSlice{{Path: "metadata/annotations", CreateIfNotPresent: true}}}}
}

// image replaces an image in containers, wherever an object has some, and in the volumes of pods.
type image struct {
	filters
	name string
}

func newImage(spec v1alpha1.ImageMutation) image {
	tag := types.Image{Name: spec.Name, NewName: spec.NewName, NewTag: spec.NewTag, Digest: spec.Digest}
	volumes := types.FsSlice{
		{Path: "spec/volumes[]/image/reference"},
		{Path: "spec/template/spec/volumes[]/image/reference"},
		{Path: "spec/jobTemplate/spec/template/spec/volumes[]/image/reference"},
	}
	return image{filters{imagetag.LegacyFilter{ImageTag: tag}, imagetag.Filter{ImageTag: tag, FsSlice: volumes}}, spec.Name}
}

func (i image) mutate(m *mutant) (bool, error) {
	object, err := m.fields()
	if err != nil || !usesImage(object, i.name) {
		return false, err
	}
	return i.filters.mutate(m)
}

func (i image) unmet() error { return fmt.Errorf("no object has the image %s", i.name) }

// usesImage says whether the value has the image, with any tag or digest, where kustomize replaces images.
func usesImage(value any, name string) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			list, _ := v.([]any)
			if slices.ContainsFunc(list, func(v any) bool { return isImage(imageOf(key, v), name) }) || usesImage(v, name) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(v any) bool { return usesImage(v, name) })
	}
	return false
}

// imageOf is the image of an element of a list of containers or volumes.
func imageOf(list string, element any) string {
	fields, _ := element.(map[string]any)
	switch list {
	case "containers", "initContainers":
		image, _ := fields["image"].(string)
		return image
	case "volumes":
		volume, _ := fields["image"].(map[string]any)
		reference, _ := volume["reference"].(string)
		return reference
	}
	return ""
}

func isImage(text, name string) bool {
	rest, ok := strings.CutPrefix(text, name)
	return ok && (rest == "" || rest[0] == ':' || rest[0] == '@')
}

// replicas sets the replicas of an object by name.
type replicas struct {
	filters
	name string
}

// scaled are the kinds that kustomize knows to have replicas.
var scaled = []string{"Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"}

func newReplicas(spec v1alpha1.ReplicasMutation) replicas {
	return replicas{filters{replicacount.Filter{
		Replica:   types.Replica{Name: spec.Name, Count: spec.Count},
		FieldSpec: types.FieldSpec{Path: "spec/replicas", CreateIfNotPresent: true},
	}}, spec.Name}
}

func (r replicas) mutate(m *mutant) (bool, error) {
	res, err := m.asResource()
	if err != nil || res.GetName() != r.name || !slices.Contains(scaled, res.GetKind()) {
		return false, err
	}
	return r.filters.mutate(m)
}

func (r replicas) unmet() error {
	return fmt.Errorf("no object named %s has replicas: want one of the kinds %s", r.name, strings.Join(scaled, ", "))
}
