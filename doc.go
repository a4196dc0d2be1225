// Package convoy is the tour of the code: the vocabulary, the arrow, and where things live.
//
// convoy is a Kubernetes operator. A Release names a source; convoy renders it, tries the render on the server, keeps it byte
// for byte in an object store, and applies it. Everything follows one arrow, each head an immutable Go value, each shaft one
// step in one file of package controllers, and nothing flows back:
//
//	source ──► Artifact ──► Render ──► Selection ──► Plan ──► ChangeSet ──► Status
//
// # Vocabulary
//
//   - Artifact: the files of a source at one revision.
//   - Render: the objects made from an artifact, in canonical form. Its renderRef is the SHA-256 of exactly its stored bytes.
//   - Selection: the render that this pass applies, and why that one.
//   - Plan: what the apply would do to each object, learnt from server-side dry runs that change nothing.
//   - ChangeSet: what the apply did.
//   - Render store: the object store that keeps every render that was applied, and the history of each Release.
//   - Inventory: the record of the objects that a Release applied, so that none is orphaned.
//   - Wave: objects with the same convoy.dev/sync-wave; each wave is healthy before the next one starts.
//   - Pass: one run of the arrow. No pass waits; what is not ready yet ends it, and a watch or a deadline starts the next.
//
// # Where things live
//
//	api            the types of the custom resources, and of their subresources
//	source         reaches the outside: a reference becomes an Artifact
//	render         pure: files and spec in, Render out
//	renderstore    what was applied: renders, history, retention
//	live           read only: what the cluster has, and whether it is healthy
//	redact         keeps the values of Secrets out of what people see
//	apply          the only package that writes target objects
//	controllers    the order of the steps, failures to status, requeue
//	observer       read only: history, diffs and stored renders, over HTTPS
//	apiserver      serves the pin of a Release and requests to sync it, behind kube-apiserver
//	webhooks       admission of pins
//	config         the manifests of an installation, with the guard of the pins and the roles
//	cmd            the binaries
//
// The imports between them point one way only; arch_test.go holds the table.
package convoy
