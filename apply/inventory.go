package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// entryOf records an item with the given hash.
func entryOf(item Item, hash string) v1alpha1.InventoryEntry {
	return v1alpha1.InventoryEntry{
		Group: item.ID.Group, Version: item.GVK.Version, Kind: item.ID.Kind, Namespace: item.ID.Namespace, Name: item.ID.Name, Hash: hash,
		Overridden: item.overridden,
	}
}

// Layout is how an inventory is spread over Inventory objects: what to create, to update and to delete, in this order, so that an
// object is recorded somewhere at any moment.
type Layout struct {
	Create, Update, Delete []v1alpha1.Inventory
}

// PlanLayout spreads the inventory over the shards with as few writes as it takes: an entry stays in the shard where it is, a new
// one goes where there is room. A shard that is being deleted is moved out of, unless its Release is being deleted too: that lets
// it go at its end, and a namespace that goes takes no new ones. A shard that gets empty is deleted. New shards get names from the
// name of the Release and no other metadata.
func PlanLayout(release *v1alpha1.Release, shards []v1alpha1.Inventory, want live.Inventory) Layout {
	var layout Layout
	left := maps.Clone(want)
	kept := make([]v1alpha1.Inventory, 0, len(shards))
	names := map[string]bool{}
	for _, shard := range shards {
		names[shard.Name] = true
		if !shard.DeletionTimestamp.IsZero() && release.DeletionTimestamp.IsZero() {
			layout.Delete = append(layout.Delete, shard)
			continue
		}
		next := *shard.DeepCopy()
		next.Entries = nil
		for _, e := range shard.Entries {
			if wanted, ok := left[live.EntryID(e)]; ok {
				next.Entries = append(next.Entries, wanted)
				delete(left, live.EntryID(e))
			}
		}
		kept = append(kept, next)
	}
	rest := slices.SortedFunc(maps.Keys(left), render.ObjectID.Compare)
	fill := func(shard *v1alpha1.Inventory) {
		n := min(len(rest), v1alpha1.MaxInventoryEntries-len(shard.Entries))
		for _, id := range rest[:n] {
			shard.Entries = append(shard.Entries, left[id])
		}
		rest = rest[n:]
	}
	originals := map[string]v1alpha1.Inventory{}
	for _, shard := range shards {
		originals[shard.Name] = shard
	}
	for _, shard := range kept {
		fill(&shard)
		switch {
		case len(shard.Entries) == 0:
			layout.Delete = append(layout.Delete, shard)
		case !apiequality.Semantic.DeepEqual(originals[shard.Name].Entries, shard.Entries):
			layout.Update = append(layout.Update, shard)
		}
	}
	for n := 0; len(rest) > 0; n++ {
		shard := v1alpha1.Inventory{}
		if shard.Name = shardName(release.Name, n); names[shard.Name] {
			continue
		}
		fill(&shard)
		layout.Create = append(layout.Create, shard)
	}
	return layout
}

// shardName is the name of the n-th Inventory of a Release. Names of Releases that do not fit with a number are cut and told
// apart by their owner label value, which ends in a hash.
func shardName(release string, n int) string {
	const longest = 240
	if len(release) > longest {
		release = strings.ReplaceAll(v1alpha1.OwnerLabelValue(release), "_", "-")
	}
	return fmt.Sprintf("%s-%d", release, n)
}
