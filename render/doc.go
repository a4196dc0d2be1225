// Package render hides how files become objects, and what makes two renders the same.
//
// It is pure: files and a spec in, a Render out. It never sees a cluster, a network or a clock, so the same source and spec give
// the same bytes on every machine, every time.
package render
