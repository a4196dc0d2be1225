package render

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// mutation is one change that is tried on every object. It says whether it is meant for the object.
type mutation interface {
	mutate(m *mutant) (meant bool, err error)
}

// demanding are the mutations that are an error if they are meant for no object.
type demanding interface{ unmet() error }

// Mutate changes the objects of a render by the mutations, in their order. Errors name the mutation by its index and its member, and
// the object, and never hold the value of a Secret or of a variable.
func Mutate(ctx context.Context, r Render, specs []v1alpha1.Mutation, vars Variables) (Render, error) {
	if len(specs) == 0 {
		return r, nil
	}
	openapi.Schema() // fills kustomize's variables under its lock; what follows reads them without it
	for start := 0; start < len(specs); {
		end := start + 1
		for end < len(specs) && specs[end].Namespace == "" { // a move needs to see where all objects are
			end++
		}
		var err error
		if r, err = mutateBy(ctx, r, start, specs[start:end], vars); err != nil {
			return Render{}, err
		}
		start = end
	}
	return r, nil
}

// mutateBy runs every object through mutations that look at one object alone, but for the first. The index of that one is start.
func mutateBy(ctx context.Context, r Render, start int, specs []v1alpha1.Mutation, vars Variables) (Render, error) {
	objects, err := r.Objects()
	if err != nil {
		return Render{}, err
	}
	var mutations namedMutations
	for i, spec := range specs {
		member, prepared, err := prepare(spec, objects, vars[start+i])
		name := fmt.Sprintf("mutations[%d].%s", start+i, member)
		if err != nil {
			return Render{}, fmt.Errorf("%s: %w", name, err)
		}
		mutations = append(mutations, namedMutation{mutation: prepared, name: name})
	}
	var c collection
	for _, obj := range objects {
		if err := ctx.Err(); err != nil {
			return Render{}, err
		}
		id := IDOf(obj)
		object, err := mutations.mutate(obj.Object, id)
		if err != nil {
			return Render{}, err
		}
		if object == nil {
			continue // a patch deleted it
		}
		if err := c.add(object, id.String()+" of the source"); err != nil {
			return Render{}, fmt.Errorf("after the mutations: %w", err)
		}
	}
	if err := mutations.unmet(); err != nil {
		return Render{}, err
	}
	mutated, err := c.render()
	if err != nil {
		return Render{}, fmt.Errorf("after the mutations: %w", err)
	}
	return mutated, nil
}

// namedMutation is a mutation and its place in the spec.
type namedMutation struct {
	mutation
	name  string // such as mutations[2].patch
	meant bool   // for any object so far
}

type namedMutations []namedMutation

// prepare makes the mutation of the member that is set, and names that member.
func prepare(spec v1alpha1.Mutation, objects []*unstructured.Unstructured, from map[string]string) (string, mutation, error) {
	switch {
	case spec.Namespace != "":
		return "namespace", newNamespace(spec.Namespace, objects), nil
	case spec.Labels != nil:
		return "labels", labelsFilter(spec.Labels), nil
	case spec.Annotations != nil:
		return "annotations", annotationsFilter(spec.Annotations), nil
	case spec.Image != nil:
		return "image", newImage(*spec.Image), nil
	case spec.Replicas != nil:
		return "replicas", newReplicas(*spec.Replicas), nil
	case spec.Patch != nil:
		p, err := newPatch(*spec.Patch)
		return "patch", p, err
	case spec.Substitute != nil:
		values := maps.Clone(from)
		if values == nil {
			values = map[string]string{}
		}
		maps.Copy(values, spec.Substitute.Vars)
		s, err := newSubstitution(values)
		return "substitute", s, err
	}
	return "", nil, errors.New("want one of namespace, labels, annotations, image, replicas, patch and substitute")
}

// mutate runs one object through all mutations. It returns nil if one of them deleted it.
func (list namedMutations) mutate(object map[string]any, id ObjectID) (map[string]any, error) {
	m := &mutant{object: object}
	for i := range list {
		meant, err := list[i].mutate(m)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", list[i].name, id, err)
		}
		list[i].meant = list[i].meant || meant
		if m.deleted() {
			return nil, nil
		}
	}
	return m.fields()
}

// unmet says which mutation was meant for an object that is not there.
func (list namedMutations) unmet() error {
	for _, m := range list {
		if d, ok := m.mutation.(demanding); ok && !m.meant {
			return fmt.Errorf("%s: %w", m.name, d.unmet())
		}
	}
	return nil
}

// mutant is an object between mutations: as fields, or as a resource of kustomize.
type mutant struct {
	object   map[string]any
	resource *resource.Resource
}

var resourceFactory = provider.NewDefaultDepProvider().GetResourceFactory()

// asResource is the object as kustomize sees it.
func (m *mutant) asResource() (*resource.Resource, error) {
	if m.resource == nil {
		res, err := resourceFactory.FromMap(m.object)
		if err != nil {
			return nil, errors.New("kustomize cannot read it")
		}
		m.object, m.resource = nil, res
	}
	return m.resource, nil
}

// fields is the object as a map, which the caller may change.
func (m *mutant) fields() (map[string]any, error) {
	if m.resource != nil {
		encoded, err := m.resource.MarshalJSON()
		if err != nil {
			return nil, errors.New("what became of it cannot be encoded")
		}
		m.object = nil // not to merge into what was there
		if err := utiljson.Unmarshal(encoded, &m.object); err != nil {
			return nil, err
		}
		m.resource = nil
	}
	return m.object, nil
}

func (m *mutant) deleted() bool { return m.resource != nil && m.resource.IsNilOrEmpty() }
