package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "subresources.convoy.dev", Version: "v1alpha1"}

// SchemeBuilder registers the types of this package.
var SchemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, Types()...)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
})

// AddToScheme adds the types of this package to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

// Types returns an empty object of every kind of this package.
func Types() []runtime.Object {
	return []runtime.Object{&ReleasePin{}, &ReleaseSync{}, &ReleaseHistory{}, &ReleaseDiff{}, &ReleaseRender{}}
}
