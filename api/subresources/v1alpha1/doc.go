// Package v1alpha1 hides how the requests that convoy-apiserver serves are spelled in Kubernetes: the types of
// subresources.convoy.dev/v1alpha1, and the rules that a pin must keep whoever checks them.
//
// +kubebuilder:object:generate=true
// +groupName=subresources.convoy.dev
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.convoy.subresources.v1alpha1
package v1alpha1
