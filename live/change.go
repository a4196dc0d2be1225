package live

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/render"
)

// ChangeAction is what an apply would do to an object.
type ChangeAction string

// The actions. What would not change is not in a diff.
const (
	Create ChangeAction = "create"
	Update ChangeAction = "update"
	Delete ChangeAction = "delete"
	Keep   ChangeAction = "keep"   // it left the render, and would be left running
	Refuse ChangeAction = "refuse" // the apply would be refused because of it
)

// Change is what an apply would do to one object. Its objects are as the server would store them, in full and not masked: whoever shows
// them masks them.
type Change struct {
	Action ChangeAction
	ID     render.ObjectID
	GVK    schema.GroupVersionKind
	Live   *unstructured.Unstructured // nil if it is not there, or not to be shown
	Next   *unstructured.Unstructured // nil if it would be deleted, kept or refused
	Notes  []string                   // what the prediction leaves open, or why the action is what it is; without values
}
