// Package v1alpha1 hides how convoy's custom resources are spelled in Kubernetes: the types of convoy.dev/v1alpha1, their
// conditions and reasons, and the annotations and labels that convoy reads and writes.
//
// +kubebuilder:object:generate=true
// +groupName=convoy.dev
package v1alpha1
