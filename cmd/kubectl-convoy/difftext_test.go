package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// change makes a change without a diff.
func change(action subresources.ChangeAction, apiVersion, kind, namespace, name string, notes ...string) subresources.ReleaseChange {
	return subresources.ReleaseChange{Action: action, APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, Notes: notes}
}

// withUnified adds a unified diff to a change.
func withUnified(c subresources.ReleaseChange, unified string) subresources.ReleaseChange {
	c.Unified = strings.TrimPrefix(unified, "\n")
	return c
}

// everyAction is a diff with every action: a rollback from refA to refB.
func everyAction() *subresources.ReleaseDiff {
	d := &subresources.ReleaseDiff{
		From: subresources.DiffRender{RenderRef: refA},
		To: subresources.DiffRender{
			RenderRef: refB, Origin: subresources.DiffFromStore, Summary: "https://git.example.com/team/podinfo.git@main@sha1:9f00",
		},
		Changes: []subresources.ReleaseChange{
			withUnified(change(subresources.ChangeCreate, "v1", "ConfigMap", "apps", "podinfo"), `
--- live
+++ b7e1406f9c33
@@ -0,0 +1,2 @@
+apiVersion: v1
+kind: ConfigMap
`),
			withUnified(change(subresources.ChangeUpdate, "apps/v1", "Deployment", "apps", "podinfo",
				"the server may fill in spec.template.spec.nodeName", "two lines\nand \x1b[2Jan escape"), `
--- live
+++ b7e1406f9c33
@@ -7,3 +7,3 @@
 spec:
---- 6.14.1
-  replicas: 2
+  replicas: 3
`),
			change(subresources.ChangeDelete, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "podinfo"),
			change(subresources.ChangeKeep, "v1", "PersistentVolumeClaim", "apps", "data", "its kind is protected"),
			change(subresources.ChangeRefuse, "v1", "Service", "apps", "podinfo", "another Release owns it: web/podinfo"),
		},
	}
	d.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleaseDiff"))
	d.Namespace, d.Name = "apps", "podinfo"
	return d
}

// colors makes escape sequences readable: {red} and so on, and {} at the end.
var colors = strings.NewReplacer(string(red), "{red}", string(green), "{green}", string(yellow), "{yellow}", string(cyan), "{cyan}", "\x1b[0m", "{}")

func TestTextOfADiff(t *testing.T) {
	for name, tc := range map[string]struct {
		painter painter
		want    string
	}{
		"plain": {false, `
from 3a5f0c9be1d2 (current) to b7e1406f9c33 (stored https://git.example.com/team/podinfo.git@main@sha1:9f00)

create ConfigMap apps/podinfo
--- live
+++ b7e1406f9c33
@@ -0,0 +1,2 @@
+apiVersion: v1
+kind: ConfigMap

update Deployment.apps apps/podinfo
  note: the server may fill in spec.template.spec.nodeName
  note: two lines
        and ^[[2Jan escape
--- live
+++ b7e1406f9c33
@@ -7,3 +7,3 @@
 spec:
---- 6.14.1
-  replicas: 2
+  replicas: 3

delete ClusterRole.rbac.authorization.k8s.io podinfo

keep PersistentVolumeClaim apps/data
  note: its kind is protected

refuse Service apps/podinfo
  note: another Release owns it: web/podinfo

1 to create, 1 to update, 1 to delete, 1 to keep, 1 refused
The apply would be refused because of 1 object, and nothing would change
`},
		"colored": {true, `
from 3a5f0c9be1d2 (current) to b7e1406f9c33 (stored https://git.example.com/team/podinfo.git@main@sha1:9f00)

{green}create ConfigMap apps/podinfo{}
--- live
+++ b7e1406f9c33
{cyan}@@ -0,0 +1,2 @@{}
{green}+apiVersion: v1{}
{green}+kind: ConfigMap{}

{yellow}update Deployment.apps apps/podinfo{}
  note: the server may fill in spec.template.spec.nodeName
  note: two lines
        and ^[[2Jan escape
--- live
+++ b7e1406f9c33
{cyan}@@ -7,3 +7,3 @@{}
 spec:
{red}---- 6.14.1{}
{red}-  replicas: 2{}
{green}+  replicas: 3{}

{red}delete ClusterRole.rbac.authorization.k8s.io podinfo{}

keep PersistentVolumeClaim apps/data
  note: its kind is protected

{red}refuse Service apps/podinfo{}
  note: another Release owns it: web/podinfo

{red}1 to create, 1 to update, 1 to delete, 1 to keep, 1 refused
The apply would be refused because of 1 object, and nothing would change{}
`},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := writeDiff(&got, everyAction(), tc.painter); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), colors.Replace(got.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheFirstLineOfADiffSaysWhatIsCompared(t *testing.T) {
	for want, d := range map[string]subresources.ReleaseDiff{
		"from nothing (no render was applied in full yet) to 3a5f0c9be1d2 (source ConfigMap/files@sha256:00)": {
			To: subresources.DiffRender{RenderRef: refA, Origin: subresources.DiffFromSource, Summary: "ConfigMap/files@sha256:00"},
		},
		"from 3a5f0c9be1d2 (current) to 3a5f0c9be1d2 (pinned)": {
			From: subresources.DiffRender{RenderRef: refA}, To: subresources.DiffRender{RenderRef: refA, Origin: subresources.DiffFromPin},
		},
		"from 3a5f0c9be1d2 (current) to nothing (Elsewhere)": {
			From: subresources.DiffRender{RenderRef: refA}, To: subresources.DiffRender{Origin: "Elsewhere"},
		},
	} {
		var got bytes.Buffer
		if err := writeDiff(&got, &d, false); err != nil {
			t.Fatal(err)
		}
		if line, _, _ := strings.Cut(got.String(), "\n"); line != want {
			t.Errorf("got %q, want %q", line, want)
		}
	}
}

func TestTheSummaryOfADiffCountsWhatWouldHappen(t *testing.T) {
	of := func(actions ...subresources.ChangeAction) []subresources.ReleaseChange {
		var changes []subresources.ReleaseChange
		for _, action := range actions {
			changes = append(changes, subresources.ReleaseChange{Action: action})
		}
		return changes
	}
	for want, changes := range map[string][]subresources.ReleaseChange{
		"Nothing would change":            nil,
		"Nothing would change: 2 to keep": of("keep", "keep"),
		"1 to create, 2 to update":        of("update", "create", "update"),
		"1 to delete, 1 to keep":          of("keep", "delete"),
		"1 to update, 2 to frobnicate":    of("frobnicate", "update", "frobnicate"), // of a newer server
		"1 to update, 2 refused\nThe apply would be refused because of 2 objects, and nothing would change": of("refuse", "update", "refuse"),
	} {
		if got := summaryOf(changes).text; got != want {
			t.Errorf("%v: got %q, want %q", changes, got, want)
		}
	}
}
