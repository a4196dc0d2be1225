// Package apiserver hides how releases/pin and releases/sync of subresources.convoy.dev are served: an aggregated API server behind
// kube-apiserver, which has no storage of its own. What it serves is a view of the Releases in convoy.dev, read live; what it changes, it
// writes into them by conditional patches.
//
// Who may do what is asked of kube-apiserver, and its admission runs here as well.
package apiserver
