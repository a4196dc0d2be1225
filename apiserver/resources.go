package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

var (
	groupVersion   = subresources.GroupVersion
	parameterCodec = metav1.ParameterCodec
)

// resources are what is served, by path below the namespace.
func resources(releases *releases, observer *observer) map[string]rest.Storage {
	return map[string]rest.Storage{
		"releases":         &parent{},
		"releases/pin":     &pinStorage{releases},
		"releases/sync":    &syncStorage{releases},
		"releases/history": &observed{observer, "history", func() runtime.Object { return &subresources.ReleaseHistory{} }},
		"releases/diff":    &observed{observer, "diff", func() runtime.Object { return &subresources.ReleaseDiff{} }},
		"releases/render":  &observed{observer, "render", func() runtime.Object { return &subresources.ReleaseRender{} }},
	}
}

// parent is the resource that the subresources belong to. The Releases themselves are served by kube-apiserver, in convoy.dev, so it has no
// verbs; kubectl finds the subresources by it.
type parent struct{}

func (*parent) New() runtime.Object     { return &subresources.ReleasePin{} }
func (*parent) Destroy()                {}
func (*parent) NamespaceScoped() bool   { return true }
func (*parent) GetSingularName() string { return "release" }
