package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/source"
)

// valuesKey is the default of HelmValuesReference.Key, for Releases that no API server has seen.
const valuesKey = "values.yaml"

// References are the objects that the spec of a Release names and a render reads, those of its source aside.
func References(release *v1alpha1.Release) []v1alpha1.ValuesReference {
	var refs []v1alpha1.ValuesReference
	for _, mutation := range release.Spec.Mutations {
		if mutation.Substitute != nil {
			refs = append(refs, mutation.Substitute.From...)
		}
	}
	if helm := release.Spec.Render.Helm; helm != nil {
		for _, ref := range helm.ValuesFrom {
			refs = append(refs, ref.ValuesReference)
		}
	}
	return refs
}

// variables reads what the substitute mutations name in from: for the mutation of an index, its values by name. Later references win.
func (r *Reader) variables(ctx context.Context, release *v1alpha1.Release) (render.Variables, error) {
	variables := render.Variables{}
	for i, mutation := range release.Spec.Mutations {
		if mutation.Substitute == nil {
			continue
		}
		for _, ref := range mutation.Substitute.From {
			values, err := r.object(ctx, release.Namespace, ref)
			if err != nil {
				return nil, fmt.Errorf("mutations[%d].substitute.from: %w", i, err)
			}
			if variables[i] == nil {
				variables[i] = map[string]string{}
			}
			for name, value := range values {
				variables[i][name] = string(value)
			}
		}
	}
	return variables, nil
}

// values reads what render.helm.valuesFrom names.
func (r *Reader) values(ctx context.Context, release *v1alpha1.Release) ([]render.Values, error) {
	if release.Spec.Render.Helm == nil {
		return nil, nil
	}
	var list []render.Values
	for _, ref := range release.Spec.Render.Helm.ValuesFrom {
		from := fmt.Sprintf("%s %s/%s", ref.Kind, release.Namespace, ref.Name)
		values, err := r.object(ctx, release.Namespace, ref.ValuesReference)
		if err != nil {
			return nil, fmt.Errorf("render.helm.valuesFrom: %w", err)
		}
		key := cmp.Or(ref.Key, valuesKey)
		text, ok := values[key]
		switch {
		case ok:
			list = append(list, render.Values{From: from + ", key " + key, YAML: text})
		case !ref.Optional:
			return nil, fmt.Errorf("render.helm.valuesFrom: %s has no key %s", from, key)
		}
	}
	return list, nil
}

// object reads an object that holds values; none if it is optional and not there.
func (r *Reader) object(ctx context.Context, namespace string, ref v1alpha1.ValuesReference) (map[string][]byte, error) {
	values, err := source.ReadObject(ctx, r.objects, namespace, ref.Kind, ref.Name)
	if ref.Optional && errors.Is(err, source.ErrNoObject) {
		return nil, nil
	}
	return values, err
}
