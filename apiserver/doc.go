// Package apiserver hides how the subresources of Releases in subresources.convoy.dev are served: an aggregated API server behind
// kube-apiserver, which has no storage of its own. What it serves is a view of the Releases in convoy.dev, read live; what it changes, it
// writes into them by conditional patches.
//
// The history of a Release, diffs and renders are convoy-observer's to answer; requests for them are passed on, over HTTPS.
//
// Who may do what is asked of kube-apiserver, and its admission runs here as well.
package apiserver
