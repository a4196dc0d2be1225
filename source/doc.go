// Package source hides how a reference reaches the outside and becomes files.
//
// A Fetcher resolves a source to one revision, takes the files of exactly that revision, and hands them out as an Artifact, whose
// file system cannot be left. Requests that share a URL, a reference and credentials share one fetch. What was downloaded stays in a
// cache on disk, which a source, however hostile, can neither escape nor overfill.
//
// A broker holds what all sources outside of the cluster have in common; each kind of source is a remote, which finds its revision,
// and a resolved, which downloads it.
package source
