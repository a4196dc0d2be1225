// Package gitserver hides how a real Git server is run and fed on one machine: it serves bare repositories on loopback with the git
// program, for tests and the demo, and makes the commits in them.
package gitserver
