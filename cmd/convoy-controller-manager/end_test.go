package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// end is what Release app leaves in the cluster and in the store.
type end struct {
	Owned     map[string]string // ConfigMaps with the owner labels, and what they hold
	Inventory []string          // the recorded ConfigMaps, with a star if they were applied
	History   []string
	Stored    []string // renders that verify
	Status    []string // conditions, and which renders were attempted, successful and healthy
}

// awaitEnd waits until the status says that the last version of the source is applied and recorded. It returns what must be there
// then: nothing is orphaned, and the history has one entry. The render before is still stored, since the status named it when the
// collection looked.
func (w *team) awaitEnd(versions []map[string]string, objects map[string]string) end {
	w.Helper()
	var refs []string
	for _, files := range versions {
		refs = append(refs, w.refOf(files))
	}
	ref := refs[len(refs)-1]
	want := end{Owned: objects, History: []string{ref}, Stored: refs, Status: []string{
		"Applied True Succeeded", "Healthy True Succeeded", "Ready True Succeeded", "Rendered True Succeeded",
		"attempted " + ref, "healthy " + ref, "history 1", "successful " + ref,
	}}
	slices.Sort(want.Stored)
	for name := range objects {
		want.Inventory = append(want.Inventory, name+"*")
	}
	slices.Sort(want.Inventory)
	w.eventually("the status of Release app", func() error {
		if diff := cmp.Diff(want.Status, statusOf(w.get("app"))); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	return want
}

// wantNothingOrphaned checks that every object with the owner labels is recorded.
func (w *team) wantNothingOrphaned() {
	w.Helper()
	now := w.end()
	for name := range now.Owned {
		if !slices.Contains(now.Inventory, name) && !slices.Contains(now.Inventory, name+"*") {
			w.Errorf("when the manager was killed, ConfigMap %s was there and not recorded: %q", name, now.Inventory)
		}
	}
}

// refOf names the render of these files.
func (w *team) refOf(files map[string]string) string {
	w.Helper()
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	rendered, err := render.Build(w.Context(), tree, "", v1alpha1.RenderSpec{})
	w.must(err)
	return rendered.Ref().String()
}

// statusOf is what a status says.
func statusOf(release *v1alpha1.Release) []string {
	var lines []string
	for _, c := range release.Status.Conditions {
		lines = append(lines, c.Type+" "+string(c.Status)+" "+c.Reason)
	}
	for what, record := range map[string]*v1alpha1.RenderRecord{
		"attempted": release.Status.LastAttempted, "successful": release.Status.LastSuccessful, "healthy": release.Status.LastHealthy,
	} {
		if record != nil {
			lines = append(lines, what+" "+record.RenderRef)
		}
	}
	if retention := release.Status.ResolvedRetentionPolicy; retention != nil {
		lines = append(lines, fmt.Sprint("history ", retention.HistoryCount))
	}
	slices.Sort(lines)
	return lines
}

// end reads what Release app leaves.
func (w *team) end() end {
	w.Helper()
	got := end{Owned: map[string]string{}}
	var owned corev1.ConfigMapList
	w.must(w.env.Client.List(w.Context(), &owned, client.InNamespace(w.namespace), client.MatchingLabels(v1alpha1.OwnerLabels(w.namespace, "app"))))
	for _, cm := range owned.Items {
		got.Owned[cm.Name] = cm.Data["key"]
	}
	var inventories v1alpha1.InventoryList
	w.must(w.env.Client.List(w.Context(), &inventories, client.InNamespace(w.namespace)))
	for _, inventory := range inventories.Items {
		for _, entry := range inventory.Entries {
			name := entry.Name
			if entry.Hash != "" {
				name += "*"
			}
			got.Inventory = append(got.Inventory, name)
		}
	}
	slices.Sort(got.Inventory)
	history, err := w.archive("app").History(w.Context())
	w.must(err)
	for _, entry := range history {
		got.History = append(got.History, entry.Ref.String())
	}
	got.Stored = w.stored("app")
	var releases v1alpha1.ReleaseList
	w.must(w.env.Client.List(w.Context(), &releases, client.InNamespace(w.namespace)))
	for _, release := range releases.Items {
		got.Status = statusOf(&release)
	}
	return got
}

// stored are the renders of a Release in the store, which must all verify.
func (w *team) stored(name string) []string {
	w.Helper()
	blobs, err := filepath.Glob(filepath.Join(w.storeDir, w.namespace, name, "blobs", "*"))
	w.must(err)
	var refs []string
	for _, blob := range blobs {
		ref, err := render.ParseRef(filepath.Base(blob))
		w.must(err)
		_, err = w.archive(name).Get(w.Context(), ref)
		w.must(err)
		refs = append(refs, ref.String())
	}
	return refs
}
