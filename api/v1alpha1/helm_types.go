package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// HelmResourcePolicyAnnotation on an object with the value HelmResourcePolicyKeep is what PruneAnnotation with PruneDisabled is, for charts.
const (
	HelmResourcePolicyAnnotation = "helm.sh/resource-policy"
	HelmResourcePolicyKeep       = "keep"
)

// HelmRender is how a chart is rendered: as helm template does it, without the cluster.
type HelmRender struct {
	// releaseName is .Release.Name in the templates. Default: the name of the Release, at most 53 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ReleaseName string `json:"releaseName,omitempty"`

	// values are values of the chart. They win over those of valuesFrom, and these over the chart's own.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// valuesFrom are ConfigMaps and Secrets in the namespace of the Release that hold values. Later ones win.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	ValuesFrom []HelmValuesReference `json:"valuesFrom,omitempty"`

	// skipCRDs leaves out what the folder crds of the chart and of its subcharts hold. Default false.
	// +optional
	SkipCRDs bool `json:"skipCRDs,omitempty"`

	// kubeVersion is the version of Kubernetes that the templates see, such as 1.33.0. Default: that of the cluster.
	// +optional
	// +kubebuilder:validation:Pattern=`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+][0-9A-Za-z.+-]+)?$`
	KubeVersion string `json:"kubeVersion,omitempty"`
}

// HelmValuesReference names a key of a ConfigMap or Secret in the namespace of the Release. It holds values as YAML.
type HelmValuesReference struct {
	ValuesReference `json:",inline"`

	// key is the key that holds the values. Default values.yaml.
	// +optional
	// +kubebuilder:default=values.yaml
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
