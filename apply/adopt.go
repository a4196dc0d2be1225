package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
)

// adopted says that an apply of the item takes the live object over from whoever deployed it before.
func (i Item) adopted(owner live.Owner) bool { return i.Live != nil && owner.Adopts(i.Live, i.applied) }

// found is the live object as the apply finds it: at an adoption, with the ownership that it has after the takeover.
func (i Item) found(owner live.Owner) (*unstructured.Unstructured, error) {
	if !i.adopted(owner) {
		return i.Live, nil
	}
	return live.TakenOver(i.Desired, i.Live)
}

// takeOver gives convoy what former tools own in the live object, so that the apply removes what the render does not have. It changes
// nothing else: a pass that ends here is made up for by the next one. The error is a conflict if the object was written since it was read.
func (r *run) takeOver(ctx context.Context, item *Item) error {
	entries, taken, err := live.TakeOver(item.Desired, item.Live)
	if err != nil || !taken {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": item.Live.GetUID(), "resourceVersion": item.Live.GetResourceVersion(), "managedFields": entries,
	}})
	if err != nil {
		return fmt.Errorf("write the managedFields: %w", err)
	}
	obj := item.Live.DeepCopy()
	err = r.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldManager))
	if err != nil {
		return fmt.Errorf("take over the fields of the tool that deployed it: %w", err)
	}
	item.Live = obj
	return nil
}

// tryTakeover finds out before anything is changed what the server makes of a takeover and the apply after it, and whether it would refuse
// that. found is the live object as it is after the takeover. The answer is nil if that could not be tried.
func (p *Planner) tryTakeover(ctx context.Context, item *Item, found, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	next, gone, err := p.Takeovers.Foretell(ctx, item.Live, found, sent)
	if err != nil || next == nil {
		return nil, err
	}
	base := item.Live.DeepCopy()
	base.SetManagedFields(nil)
	next.SetManagedFields(nil)
	err = p.Client.Patch(ctx, next, client.MergeFrom(base), client.DryRunAll, client.FieldOwner(v1alpha1.FieldManager))
	if apierrors.IsInvalid(err) && len(gone) > 0 {
		return nil, &advisedError{err, fmt.Sprintf("the tool that deployed it set %s, which the source does not have, and which cannot be removed: put it "+
			"into the source", someOf(blamed(err, gone)))}
	}
	return next, err
}

// blamed are those of the paths that the server complains of, or all if it names none of them.
func blamed(err error, paths []string) []string {
	named := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return !slices.ContainsFunc(causes(err), func(cause metav1.StatusCause) bool {
			return cause.Field == path || strings.HasPrefix(path, cause.Field+".") || strings.HasPrefix(path, cause.Field+"[")
		})
	})
	if len(named) == 0 {
		return paths
	}
	return named
}

// someOf joins the first of a list, and counts the rest.
func someOf(list []string) string {
	const most = 5
	joined := strings.Join(list[:min(len(list), most)], ", ")
	if rest := len(list) - most; rest > 0 {
		joined += fmt.Sprintf(" and %d more", rest)
	}
	return joined
}
