package observer

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/live"
)

// DiffRequest asks what an apply of objects would do.
type DiffRequest struct {
	Owner     live.Owner
	Objects   []*unstructured.Unstructured
	Inventory live.Inventory
	Policy    live.Policy
	Confined  bool
}

// Differ predicts what an apply would do; see live.Differ.
type Differ interface {
	Diff(ctx context.Context, req DiffRequest) ([]live.Change, error)
}
