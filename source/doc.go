// Package source hides how a reference reaches the outside and becomes files.
//
// A Fetcher resolves a source to one revision, takes the files of exactly that revision, and hands them out as an Artifact, whose
// file system cannot be left. Requests that share a repository, a reference and credentials share one fetch. What was downloaded
// stays in a cache on disk, which a repository, however hostile, can neither escape nor overfill.
package source
