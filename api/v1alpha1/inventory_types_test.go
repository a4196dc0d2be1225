package v1alpha1_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

func TestAnInventoryHoldsAThousandEntries(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	for name, tc := range map[string]struct {
		entries int
		want    []string
	}{
		"none":          {0, nil},
		"the most":      {v1alpha1.MaxInventoryEntries, nil},
		"more than fit": {v1alpha1.MaxInventoryEntries + 1, []string{"entries: Too many: 1001: must have at most 1000 items"}},
	} {
		t.Run(name, func(t *testing.T) {
			inventory := &v1alpha1.Inventory{ObjectMeta: metav1.ObjectMeta{GenerateName: "app-", Namespace: namespace}}
			for i := range tc.entries {
				entry := v1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: fmt.Sprint("cm-", i)}
				inventory.Entries = append(inventory.Entries, entry)
			}
			wantAnswer(t, env.Client.Create(t.Context(), inventory), tc.want)
		})
	}
}
