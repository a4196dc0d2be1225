package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ReleaseRender are the objects of a stored render, as releases/{name}/render serves them.
//
// +kubebuilder:object:root=true
type ReleaseRender struct {
	metav1.TypeMeta `json:",inline"`

	// metadata has the name, namespace and uid of the Release.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// renderRef names the render: sha256: and 64 lower-case hex digits.
	RenderRef string `json:"renderRef"`

	// objects are the objects as they are stored, in their order. Values of Secrets are masked.
	Objects []runtime.RawExtension `json:"objects"`
}
