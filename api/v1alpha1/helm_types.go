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

// HelmSource is a chart of a chart repository or an OCI registry.
type HelmSource struct {
	// url is the address of the repository: https:// or http:// (no credentials are sent over it) of a chart repository, or oci:// of the
	// folder of a registry that the chart is in. Credentials in the URL are rejected; they belong into secretRef.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https|http|oci)://.')",message="must start with https://, http:// or oci://, for example https://example.com/charts"
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]?#]')",message="must not have white space, a query or a fragment"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-z]+://[^/]*@')",message="must not contain credentials: put them into the Secret that secretRef names"
	URL string `json:"url"`

	// chart is the name of the chart.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=250
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_.-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['.', '..'])",message="must be the name of a chart"
	Chart string `json:"chart"`

	// version is a version, or a range such as ">=1.2.0 <2.0.0"; the highest version in it is deployed. Default: the highest one that is no
	// pre-release.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Version string `json:"version,omitempty"`

	// secretRef names a Secret in the namespace of the Release. For https: username and password, or bearerToken; for oci:
	// .dockerconfigjson, or username and password. For both: certFile and keyFile (or tls.crt and tls.key) for a client certificate, and
	// caFile (or ca.crt) for a private CA. A chart on another host than its repository is fetched without them.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
}
