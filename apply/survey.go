package apply

import (
	"context"
	"errors"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// Watch is what a watch of the cluster has seen so far.
type Watch interface {
	// Metadata returns the metadata of an object in the form of live.Compact, or nil if the watch sees no such object, which may still be
	// there without its owner's labels. It is not to be written to. ok is false if the kind is not watched yet.
	Metadata(ctx context.Context, t live.Target) (meta *metav1.ObjectMeta, ok bool)
}

// Survey finds out how the objects of a Release are. It reads only those whose metadata tells that they may be in another way than when
// they were last seen.
type Survey struct {
	Client client.Reader // needs get and list on the objects
	Memory *Memory
	Watch  Watch // nil if nothing is watched
	Owner  live.Owner
}

// Subject is an object to find out about, as the render has it.
type Subject struct {
	live.Target
	Hash string
}

// Finding is what was found out about an object.
type Finding struct {
	AsDesired bool                       // nobody changed it since it was last seen to be as the render has it
	Live      *unstructured.Unstructured // nil if it need not be read, or was not found: the latter is for Get or a dry run to confirm
	Health    live.Health                // if it is there
}

// Look finds out about objects, by identity. One that is not in the answer was not found. The error is ObjectErrors.
func (s Survey) Look(ctx context.Context, subjects []Subject) (map[render.ObjectID]Finding, error) {
	findings := map[render.ObjectID]Finding{}
	kinds := map[kindIn]*reading{}
	for _, subject := range subjects {
		place := kindIn{subject.GVK, subject.ID.Namespace}
		if kinds[place] == nil {
			kinds[place] = &reading{}
		}
		kinds[place].all++
		if health, ok := s.known(ctx, subject); ok {
			findings[subject.ID] = Finding{AsDesired: true, Health: health}
		} else {
			kinds[place].wanted = append(kinds[place].wanted, subject)
		}
	}
	found, err := s.read(ctx, kinds)
	if err != nil {
		return nil, err
	}
	for _, subject := range subjects {
		if obj := found[subject.ID]; obj != nil {
			findings[subject.ID] = s.find(subject, obj)
		}
	}
	return findings, nil
}

// Confirm is the health of an object that Look did not find.
func (s Survey) Confirm(ctx context.Context, t live.Target) (live.Health, error) {
	obj, err := live.Reader{Client: s.Client}.Get(ctx, t)
	if err != nil {
		return live.Health{}, err
	}
	return healthOf(s.Owner, t.ID, obj), nil
}

// known says that an object needs not to be read, and what its health is.
func (s Survey) known(ctx context.Context, subject Subject) (live.Health, bool) {
	last, _, fresh := s.Memory.recall(s.Owner.UID, subject.ID, subject.Hash)
	if !fresh || s.Watch == nil || !s.Memory.healthIsKnown(last) {
		return live.Health{}, false
	}
	meta, _ := s.Watch.Metadata(ctx, subject.Target)
	return last.health, meta != nil && last.untouched(meta)
}

// find says how an object that was read is. Where only what is not convoy's moved, such as its status, it is as it was.
func (s Survey) find(subject Subject, obj *unstructured.Unstructured) Finding {
	last, _, fresh := s.Memory.recall(s.Owner.UID, subject.ID, subject.Hash)
	switch {
	case fresh && obj.GetResourceVersion() == last.baseline.ResourceVersion && s.Memory.healthIsKnown(last):
		return Finding{AsDesired: true, Live: obj, Health: last.health}
	case fresh && last.baseline.Judge(live.MetadataOf(obj)) == live.Clean:
		return Finding{AsDesired: true, Live: obj, Health: s.Memory.move(s.Owner, last, obj)}
	}
	return Finding{Live: obj, Health: healthOf(s.Owner, subject.ID, obj)}
}

// kindIn is a kind in a namespace: what one listing can have.
type kindIn struct {
	schema.GroupVersionKind
	namespace string
}

// reading is what to read of a kind in a namespace.
type reading struct {
	all    int // objects that are asked about
	wanted []Subject
}

// listed says that a listing takes less than reading object by object: where more than one in eight is wanted.
func (r reading) listed() bool { return len(r.wanted) > max(1, r.all/8) }

func (s Survey) read(ctx context.Context, kinds map[kindIn]*reading) (live.Objects, error) {
	var single []Subject
	var listed []live.Target
	for _, r := range kinds {
		for _, subject := range r.wanted {
			if r.listed() {
				listed = append(listed, subject.Target)
			} else {
				single = append(single, subject)
			}
		}
	}
	reader := live.Reader{Client: s.Client}
	objects, err := reader.Owned(ctx, listed, s.Owner.Labels())
	if err != nil {
		return nil, unlisted(err)
	}
	found := make([]*unstructured.Unstructured, len(single))
	errs := inParallel(len(single), func(i int) (err error) {
		found[i], err = reader.Get(ctx, single[i].Target)
		if live.NotServed(err) { // of what is not served there is nothing
			return nil
		}
		return err
	})
	for i, obj := range found {
		if obj != nil {
			objects[single[i].ID] = obj
		}
	}
	return objects, objectErrors(errs, func(i int) render.ObjectID { return single[i].ID }).orNil()
}

// unlisted names the objects whose kinds could not be listed.
func unlisted(err error) error {
	var targets live.Unlisted
	if !errors.As(err, &targets) {
		return err
	}
	var failed ObjectErrors
	for _, id := range slices.SortedFunc(maps.Keys(targets), render.ObjectID.Compare) {
		failed = append(failed, ObjectError{id, targets[id]})
	}
	return failed
}
