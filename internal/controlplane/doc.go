// Package controlplane hides where the binaries of a Kubernetes control plane are, and how kube-controller-manager is told to serve a
// cluster that has no machines: for tests, and for the cluster on a developer's machine.
package controlplane
