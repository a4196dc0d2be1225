package v1alpha1

// SubstituteAnnotation on an object with the value SubstituteDisabled keeps substitute mutations away from it. Flux's annotation
// kustomize.toolkit.fluxcd.io/substitute is honoured as well.
const (
	SubstituteAnnotation     = "convoy.dev/substitute"
	FluxSubstituteAnnotation = "kustomize.toolkit.fluxcd.io/substitute"
	SubstituteDisabled       = "disabled"
)

// Mutation is one change of the rendered objects. Exactly one member is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.__namespace__), has(self.labels), has(self.annotations), has(self.image), has(self.replicas), has(self.patch), has(self.substitute)].exists_one(x, x)",message="exactly one of namespace, labels, annotations, image, replicas, patch and substitute must be set"
type Mutation struct {
	// namespace is where all namespaced objects go. As in kustomize, Namespace objects, the subjects of role bindings named default
	// and the services that webhooks and APIServices name follow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// labels are set on every object, not on pod templates and selectors.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are set on every object, not on pod templates.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	Annotations map[string]string `json:"annotations,omitempty"`

	// image replaces an image in every container. No container with it is an error.
	// +optional
	Image *ImageMutation `json:"image,omitempty"`

	// replicas sets the replicas of a Deployment, StatefulSet, ReplicaSet or ReplicationController. No such object is an error.
	// +optional
	Replicas *ReplicasMutation `json:"replicas,omitempty"`

	// patch changes objects. One that matches no object is an error.
	// +optional
	Patch *PatchMutation `json:"patch,omitempty"`

	// substitute puts values in place of ${variables}.
	// +optional
	Substitute *SubstituteMutation `json:"substitute,omitempty"`
}

// ImageMutation replaces an image.
//
// +kubebuilder:validation:XValidation:rule="has(self.newName) || has(self.newTag) || has(self.digest)",message="one of newName, newTag and digest must be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.newTag) && has(self.digest))",message="newTag and digest exclude each other"
type ImageMutation struct {
	// name is the image without tag and digest, as the containers have it.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// newName takes the place of the name. Default: the name stays.
	// +optional
	NewName string `json:"newName,omitempty"`

	// newTag takes the place of the tag and digest. Default: they stay.
	// +optional
	NewTag string `json:"newTag,omitempty"`

	// digest takes the place of the tag and digest, such as sha256:… Default: they stay.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// ReplicasMutation sets a number of replicas.
type ReplicasMutation struct {
	// name is the name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// count is the number of replicas.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int64 `json:"count"`
}

// PatchMutation patches objects as kustomize does.
type PatchMutation struct {
	// target selects the objects. Default: those that a strategic merge patch names; a JSON patch needs a target.
	// +optional
	Target *PatchTarget `json:"target,omitempty"`

	// patch is a strategic merge patch or a JSON patch (RFC 6902), in YAML or JSON.
	// +required
	// +kubebuilder:validation:MinLength=1
	Patch string `json:"patch"`
}

// PatchTarget selects objects. What is not set selects all; the others are regular expressions that match the whole value.
type PatchTarget struct {
	// group of the objects.
	// +optional
	Group string `json:"group,omitempty"`

	// version of the objects.
	// +optional
	Version string `json:"version,omitempty"`

	// kind of the objects.
	// +optional
	Kind string `json:"kind,omitempty"`

	// name of the objects.
	// +optional
	Name string `json:"name,omitempty"`

	// namespace of the objects, as the render has it.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// labelSelector is a label selector, such as app=web,tier!=cache.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`

	// annotationSelector is a selector on annotations, written as a label selector.
	// +optional
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}

// SubstituteMutation puts values in place of ${variables} in all text of the objects, as Flux does: ${name} is replaced, and
// ${name:=default} has a default. A variable without value and default is an error. $${name} is written as ${name}. Objects whose
// annotation convoy.dev/substitute is disabled are left alone.
type SubstituteMutation struct {
	// vars are values by name. They win over those of from.
	// +optional
	Vars map[string]string `json:"vars,omitempty"`

	// from are ConfigMaps and Secrets in the namespace of the Release whose keys are names. Later ones win.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	From []ValuesReference `json:"from,omitempty"`
}

// ValuesReference names a ConfigMap or Secret in the namespace of the Release that holds values.
type ValuesReference struct {
	// kind is ConfigMap or Secret.
	// +required
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind FromKind `json:"kind"`

	// name is the name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// optional lets the object be absent. Default false: then it is an error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
