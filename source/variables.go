package source

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Variables reads what the substitute mutations name in from: for the mutation of an index, its values by name. Later references win.
// The error names the mutation and the object, and never holds a value.
func Variables(ctx context.Context, reader client.Reader, namespace string, mutations []v1alpha1.Mutation) (map[int]map[string]string, error) {
	objects := objectReader{reader: reader, timeout: DefaultResolveTimeout}
	variables := map[int]map[string]string{}
	for i, mutation := range mutations {
		if mutation.Substitute == nil {
			continue
		}
		for _, ref := range mutation.Substitute.From {
			values, err := objects.values(ctx, namespace, ref)
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

// values reads the values of one reference; none if it is optional and not there.
func (r objectReader) values(ctx context.Context, namespace string, ref v1alpha1.ValuesReference) (map[string][]byte, error) {
	values, err := r.files(ctx, namespace, &v1alpha1.FromSource{Kind: ref.Kind, Name: ref.Name})
	var missing notFoundError
	if ref.Optional && errors.As(err, &missing) {
		return nil, nil
	}
	return values, err
}
