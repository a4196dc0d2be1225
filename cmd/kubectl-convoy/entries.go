package main

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// pageSize is how many entries of a history are asked for at once.
const pageSize = 500

// history reads the newest entries of the history of a Release, page by page, as if they were one page: as many as the limit says, and all
// of them if it is 0. The metadata is that of the last page, so it tells whether there are more.
func (k *cluster) history(ctx context.Context, name string, limit int) (*unstructured.Unstructured, *subresources.ReleaseHistory, error) {
	object, history, err := k.historyPage(ctx, name, "", limit)
	if err != nil {
		return nil, nil, err
	}
	items, _ := object.Object["items"].([]any)
	for history.Continue != "" && (limit == 0 || len(items) < limit) {
		read := history.Items
		if object, history, err = k.historyPage(ctx, name, history.Continue, limit-len(items)); err != nil {
			return nil, nil, err
		}
		more, _ := object.Object["items"].([]any)
		items, history.Items = append(items, more...), append(read, history.Items...)
	}
	object.Object["items"] = items
	return object, history, nil
}

// historyPage reads one page, of as many entries as are wanted; all, if that is 0 or less.
func (k *cluster) historyPage(ctx context.Context, name, from string, wanted int) (*unstructured.Unstructured, *subresources.ReleaseHistory, error) {
	size := pageSize
	if wanted > 0 {
		size = min(size, wanted)
	}
	parameters := map[string]string{"limit": strconv.Itoa(size)}
	if from != "" {
		parameters["continue"] = from
	}
	return observe[subresources.ReleaseHistory](ctx, k, historySubresource, name, parameters)
}
