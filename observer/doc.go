// Package observer hides how the history of a Release, a diff and a stored render are answered: over HTTPS, to convoy-apiserver alone, out of
// the render store, the source and the cluster. It writes nothing, and shows no value of a Secret.
package observer
