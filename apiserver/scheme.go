package apiserver

import (
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var (
	// scheme has the kinds that are served, and those of the client.
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)

	// served has only the version that is served, so that the OpenAPI document does not name the internal one.
	served = newServed()
)

func newScheme() *runtime.Scheme {
	s := newServed()
	// There is one version, so the Go types of that version stand in for the internal ones: nothing is ever converted.
	s.AddKnownTypes(schema.GroupVersion{Group: subresources.GroupVersion.Group, Version: runtime.APIVersionInternal}, subresources.Types()...)
	utilruntime.Must(s.SetVersionPriority(subresources.GroupVersion))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	utilruntime.Must(eventsv1.AddToScheme(s))

	// The generic server answers in these kinds.
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, v1)
	s.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return s
}

func newServed() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(subresources.AddToScheme(s))
	return s
}
