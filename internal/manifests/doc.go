// Package manifests hides how convoy's own manifests are read from config/, and what differs in them where convoy runs as processes beside
// the API server rather than in pods: in tests, and in the cluster on a developer's machine.
package manifests
