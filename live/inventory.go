package live

import (
	"maps"
	"slices"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// Inventory is what a Release recorded as applied, by identity.
type Inventory map[render.ObjectID]v1alpha1.InventoryEntry

// EntryID is the identity of the object that an entry records.
func EntryID(e v1alpha1.InventoryEntry) render.ObjectID {
	return render.ObjectID{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}

// InventoryOf joins the Inventory objects of a Release.
func InventoryOf(shards []v1alpha1.Inventory) Inventory {
	inv := Inventory{}
	for _, shard := range shards {
		for _, e := range shard.Entries {
			inv[EntryID(e)] = e
		}
	}
	return inv
}

// Targets are the recorded objects, in the order of their identities.
func (inv Inventory) Targets() []Target {
	var targets []Target
	for _, id := range slices.SortedFunc(maps.Keys(inv), render.ObjectID.Compare) {
		targets = append(targets, Target{ID: id, GVK: inv[id].GroupVersionKind()})
	}
	return targets
}
