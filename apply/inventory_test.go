package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
)

var testRelease = &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "app"}}

func configMapEntry(n int, hash string) v1alpha1.InventoryEntry {
	return v1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: fmt.Sprintf("cm-%05d", n), Hash: hash}
}

func inventoryOf(entries ...v1alpha1.InventoryEntry) live.Inventory {
	return live.InventoryOf([]v1alpha1.Inventory{{Entries: entries}})
}

// written is what the Inventory objects are after a layout was carried out.
func written(shards []v1alpha1.Inventory, layout Layout) []v1alpha1.Inventory {
	after := map[string]v1alpha1.Inventory{}
	for _, list := range [][]v1alpha1.Inventory{shards, layout.Create, layout.Update} {
		for _, shard := range list {
			after[shard.Name] = shard
		}
	}
	for _, shard := range layout.Delete {
		delete(after, shard.Name)
	}
	var result []v1alpha1.Inventory
	for _, shard := range after {
		result = append(result, shard)
	}
	return result
}

func TestChangeOfOneObjectWritesOneInventory(t *testing.T) {
	want := live.Inventory{}
	for n := range 10_000 {
		e := configMapEntry(n, "0000000000000000")
		want[live.EntryID(e)] = e
	}
	shards := written(nil, PlanLayout(testRelease, nil, want))
	if len(shards) != 10 {
		t.Fatalf("10,000 entries are in %d Inventory objects, want 10", len(shards))
	}
	changed := configMapEntry(4711, "1111111111111111")
	want[live.EntryID(changed)] = changed
	layout := PlanLayout(testRelease, shards, want)
	if len(layout.Update) != 1 || len(layout.Create)+len(layout.Delete) != 0 {
		t.Errorf("a changed entry writes %d, creates %d and deletes %d Inventory objects, want 1, 0 and 0",
			len(layout.Update), len(layout.Create), len(layout.Delete))
	}
	delete(want, live.EntryID(changed))
	layout = PlanLayout(testRelease, shards, want)
	if len(layout.Update) != 1 || len(layout.Create)+len(layout.Delete) != 0 {
		t.Errorf("a removed entry writes %d, creates %d and deletes %d Inventory objects, want 1, 0 and 0",
			len(layout.Update), len(layout.Create), len(layout.Delete))
	}
}

func TestLayoutRecordsExactlyWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 3000), 0, 2500, rapid.ID[int])
		var shards []v1alpha1.Inventory
		for range 3 {
			want := live.Inventory{}
			for _, n := range numbers.Draw(t, "entries") {
				e := configMapEntry(n, rapid.StringMatching("[0-9a-f]{16}").Draw(t, "hash"))
				want[live.EntryID(e)] = e
			}
			layout := PlanLayout(testRelease, shards, want)
			shards = written(shards, layout)
			if diff := cmp.Diff(want, live.InventoryOf(shards)); diff != "" {
				t.Fatalf("what is recorded is not what is wanted (-want +got):\n%s", diff)
			}
			for _, shard := range shards {
				if n := len(shard.Entries); n == 0 || n > v1alpha1.MaxInventoryEntries {
					t.Fatalf("Inventory %s has %d entries", shard.Name, n)
				}
			}
			if again := PlanLayout(testRelease, shards, want); len(again.Create)+len(again.Update)+len(again.Delete) != 0 {
				t.Fatalf("a second layout of the same inventory is not empty: %+v", again)
			}
		}
	})
}

func TestInventoryBeingDeletedIsMovedOutOfBeforeItGoes(t *testing.T) {
	now := metav1.Now()
	going := v1alpha1.Inventory{
		ObjectMeta: metav1.ObjectMeta{Name: "app-0", DeletionTimestamp: &now},
		Entries:    []v1alpha1.InventoryEntry{configMapEntry(1, "")},
	}
	layout := PlanLayout(testRelease, []v1alpha1.Inventory{going}, inventoryOf(going.Entries...))
	if len(layout.Create) != 1 || layout.Create[0].Name == going.Name {
		t.Fatalf("created %+v, want one Inventory of another name", layout.Create)
	}
	if diff := cmp.Diff(going.Entries, layout.Create[0].Entries); diff != "" {
		t.Errorf("the new Inventory does not have the entries (-want +got):\n%s", diff)
	}
	if len(layout.Delete) != 1 || layout.Delete[0].Name != going.Name {
		t.Errorf("deleted %+v, want %s", layout.Delete, going.Name)
	}
}

func TestInventoryStaysWhereItIsWhileItsReleaseIsDeleted(t *testing.T) {
	now := metav1.Now()
	release := testRelease.DeepCopy()
	release.DeletionTimestamp = &now
	going := v1alpha1.Inventory{
		ObjectMeta: metav1.ObjectMeta{Name: "app-0", DeletionTimestamp: &now},
		Entries:    []v1alpha1.InventoryEntry{configMapEntry(1, ""), configMapEntry(2, "")},
	}
	if diff := cmp.Diff(Layout{}, PlanLayout(release, []v1alpha1.Inventory{going}, inventoryOf(going.Entries...))); diff != "" {
		t.Errorf("nothing is to be written while everything is still there (-want +got):\n%s", diff)
	}
	layout := PlanLayout(release, []v1alpha1.Inventory{going}, inventoryOf(going.Entries[0]))
	if len(layout.Create)+len(layout.Delete) != 0 || len(layout.Update) != 1 {
		t.Errorf("got %+v, want one update", layout)
	}
	if layout = PlanLayout(release, []v1alpha1.Inventory{going}, nil); len(layout.Delete) != 1 {
		t.Errorf("got %+v, want the empty live.Inventory deleted", layout)
	}
}

func TestInventoryNamesAreNames(t *testing.T) {
	names := map[string]string{}
	for _, release := range []string{"app", "app-1", strings.Repeat("a", 240), strings.Repeat("a", 241), strings.Repeat("a", 253), "b" + strings.Repeat("a", 252)} {
		for _, n := range []int{0, 1, 10, 9999} {
			name := shardName(release, n)
			if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
				t.Errorf("%q of Release %q: %v", name, release, errs)
			}
			if other, ok := names[name]; ok {
				t.Errorf("Releases %q and %q share the live.Inventory name %q", other, release, name)
			}
			names[name] = release
		}
	}
}

func TestPlannedInventoryIsOldAndNew(t *testing.T) {
	old, same, added := configMapEntry(1, "old"), configMapEntry(2, "same"), configMapEntry(3, "")
	item := func(e v1alpha1.InventoryEntry) Item {
		return Item{ID: live.EntryID(e), GVK: e.GroupVersionKind(), Hash: "next"}
	}
	plan := &Plan{Items: []Item{item(same), item(added)}, inventory: inventoryOf(old, same)}
	want := inventoryOf(old, same, added)
	if diff := cmp.Diff(want, plan.Planned()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(inventoryOf(old, same), plan.inventory); diff != "" {
		t.Errorf("planning changed what was recorded (-want +got):\n%s", diff)
	}
}
