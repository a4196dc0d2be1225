package main

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// The subresources of a Release that convoy-observer answers.
const (
	historySubresource = "history"
	diffSubresource    = "diff"
	renderSubresource  = "render"
)

// observe reads such a subresource, as the server sent it and typed.
func observe[T any](ctx context.Context, k *cluster, subresource, name string, parameters map[string]string,
) (*unstructured.Unstructured, *T, error) {
	get := k.observed.Get().AbsPath("/apis/" + subresources.GroupVersion.String()).
		Namespace(k.namespace).Resource("releases").Name(name).SubResource(subresource)
	for parameter, value := range parameters {
		get = get.Param(parameter, value)
	}
	asked := k.on("get", subresource, name)
	answer := get.Do(ctx)
	if err := answer.Error(); err != nil { // Raw does not have all that the server says
		return nil, nil, k.explain(ctx, asked, err)
	}
	body, err := answer.Raw()
	if err != nil {
		return nil, nil, k.explain(ctx, asked, err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &object.Object); err != nil {
		return nil, nil, k.explain(ctx, asked, err)
	}
	into, err := typed[T](object)
	return object, into, err
}
