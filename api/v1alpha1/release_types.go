package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Release deploys what a source holds, keeps every render that it applied in the render store, and says in its status what runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rel,categories=convoy
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="Applied")].status`
// +kubebuilder:printcolumn:name="Render",type=string,JSONPath=`.status.render`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.lastSuccessful.revision`
// +kubebuilder:printcolumn:name="Pin",type=string,JSONPath=`.status.pin.intent`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Release struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants.
	// +required
	Spec ReleaseSpec `json:"spec"`

	// pin holds the Release on one render. It is written only through releases/pin of subresources.convoy.dev; every other way to
	// set, change or drop it is refused.
	// +optional
	Pin *Pin `json:"pin,omitempty"`

	// status is what convoy last saw. Only the controller writes it.
	// +optional
	Status ReleaseStatus `json:"status,omitzero"`
}

// ReleaseList is a list of Releases.
//
// +kubebuilder:object:root=true
type ReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Release `json:"items"`
}

// ReleaseSpec is what a Release deploys and how.
type ReleaseSpec struct {
	// source is where the files come from. Exactly one of its members is set.
	// +required
	Source Source `json:"source"`

	// render is how the files become objects.
	// +optional
	Render RenderSpec `json:"render,omitzero"`

	// mutations change the objects that the files became, in this order. The render is what comes of it.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Mutations []Mutation `json:"mutations,omitempty"`

	// interval is how often convoy looks at the source again and compares what runs with what should. Default 10m, minimum 30s.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('30s')",message="must be a duration of at least 30s, such as 10m"
	Interval metav1.Duration `json:"interval,omitzero"`

	// timeout is how long one wave may take to become healthy, the objects of one wave to be gone after a prune, and the whole to
	// be healthy after the last wave. Default 5m, minimum 1s.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 10m"
	Timeout metav1.Duration `json:"timeout,omitzero"`

	// suspend stops following the source: convoy still fetches and renders, and says so, but changes nothing. A pin is applied all the
	// same, and deleting a suspended Release works. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// syncPolicy is whether a new render is applied by itself.
	// +optional
	// +kubebuilder:default={}
	SyncPolicy SyncPolicy `json:"syncPolicy,omitzero"`

	// prunePolicy is what happens to objects that the render no longer has.
	// +optional
	// +kubebuilder:default={}
	PrunePolicy PrunePolicy `json:"prunePolicy,omitzero"`

	// allowEmpty accepts a render without objects, which prunes everything. Default false: such a render is an error, since it is
	// nearly always a wrong path.
	// +optional
	AllowEmpty bool `json:"allowEmpty,omitempty"`

	// failurePolicy is what happens when a render fails. It never moves a Release that is pinned.
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitzero"`

	// retentionPolicy is how much of the history stays in the render store.
	// +optional
	RetentionPolicy RetentionPolicy `json:"retentionPolicy,omitzero"`

	// deletionPolicy is what happens to the applied objects when the Release is deleted: Delete prunes them, wave by wave in
	// reverse, Orphan leaves them running and takes the owner labels off. Default Delete.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// serviceAccountName is the ServiceAccount in the namespace of the Release that convoy impersonates for every read and write
	// of the objects that the Release deploys. Default: the flag --default-service-account, and without it convoy's own rights.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// Source is where the files of a Release come from.
//
// +kubebuilder:validation:XValidation:rule="[has(self.git), has(self.oci), has(self.helm), has(self.archive), has(self.from)].exists_one(x, x)",message="exactly one of git, oci, helm, archive and from must be set"
type Source struct {
	// git is a folder of a Git repository.
	// +optional
	Git *GitSource `json:"git,omitempty"`

	// oci is a folder of an OCI artifact.
	// +optional
	OCI *OCISource `json:"oci,omitempty"`

	// helm is a chart of a chart repository or an OCI registry.
	// +optional
	Helm *HelmSource `json:"helm,omitempty"`

	// archive is a folder of a tar.gz or zip archive.
	// +optional
	Archive *ArchiveSource `json:"archive,omitempty"`

	// from is an object in the namespace of the Release that holds the files, or says where they are.
	// +optional
	From *FromSource `json:"from,omitempty"`
}

// Path is the folder that is rendered, from the root of the source; empty is the root.
func (s Source) Path() string {
	switch {
	case s.Git != nil:
		return s.Git.Path
	case s.OCI != nil:
		return s.OCI.Path
	case s.Helm != nil:
		return s.Helm.Chart // the archive of a chart has it in a folder of its name
	case s.Archive != nil:
		return s.Archive.Path
	case s.From != nil:
		return s.From.Path
	default:
		return ""
	}
}

// GitSource is a folder of a Git repository at one reference.
type GitSource struct {
	// url is the address of the repository: https://, http:// (no credentials are sent over it), ssh://user@host/path, or, if the
	// controller runs with --allow-file-urls, file://. Credentials in the URL are rejected; they belong into secretRef.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https|http|ssh|file)://.')",message="must start with https://, http://, ssh:// or file://, for example https://example.com/team/app.git"
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]?#]')",message="must not have white space, a query or a fragment"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@') && !self.matches('^ssh://[^/@]*:[^/@]*@')",message="must not contain credentials: put them into the Secret that secretRef names"
	URL string `json:"url"`

	// ref selects the commit. Default: the head of the repository's default branch.
	// +optional
	Ref GitRef `json:"ref,omitzero"`

	// secretRef names a Secret in the namespace of the Release. For https: username and password, or bearerToken; certFile and keyFile
	// (or tls.crt and tls.key) for a client certificate; caFile (or ca.crt) for a private CA. For ssh: identity (a private key, with
	// password if it has a passphrase) and known_hosts, both required.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`

	// path is the folder in the repository, relative to its root. Default: the root. A path that leaves the repository is rejected.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="must be relative and must not contain '..'"
	Path string `json:"path,omitempty"`
}

// GitRef selects a commit. At most one member is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.branch), has(self.tag), has(self.semver), has(self.commit)].filter(x, x).size() <= 1",message="at most one of branch, tag, semver and commit may be set"
type GitRef struct {
	// branch is the name of a branch; its head is deployed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// tag is the name of a tag.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Tag string `json:"tag,omitempty"`

	// semver is a range, such as ">=1.2.0 <2.0.0"; the highest tag in it is deployed. Tags that are no versions are ignored.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Semver string `json:"semver,omitempty"`

	// commit is the full hash of a commit: 40 lower-case hex digits.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40}$`
	Commit string `json:"commit,omitempty"`
}

// OCISource is a folder of an OCI artifact: of the layer that Flux marks, or else of the first layer that is a tar.gz archive.
type OCISource struct {
	// url is the address of the repository: oci://host/path, without a tag or digest. Credentials in the URL are rejected; they belong
	// into secretRef.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^oci://[^/]+/.')",message="must be like oci://registry.example.com/team/app"
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]?#]')",message="must not have white space, a query or a fragment"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^oci://[^/]*@')",message="must not contain credentials: put them into the Secret that secretRef names"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^oci://[^/]*/.*[:@]')",message="must not have a tag or digest: put it into ref"
	URL string `json:"url"`

	// ref selects the artifact. Default: the tag latest.
	// +optional
	Ref OCIRef `json:"ref,omitzero"`

	// secretRef names a Secret in the namespace of the Release: .dockerconfigjson, or username and password; certFile and keyFile (or
	// tls.crt and tls.key) for a client certificate; caFile (or ca.crt) for a private CA.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`

	// path is the folder in the artifact, relative to its root. Default: the root. A path that leaves the artifact is rejected.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="must be relative and must not contain '..'"
	Path string `json:"path,omitempty"`
}

// OCIRef selects an artifact. At most one member is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tag), has(self.semver), has(self.digest)].filter(x, x).size() <= 1",message="at most one of tag, semver and digest may be set"
type OCIRef struct {
	// tag is the name of a tag.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`
	Tag string `json:"tag,omitempty"`

	// semver is a range, such as ">=1.2.0 <2.0.0"; the highest tag in it is deployed. Tags that are no versions are ignored.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Semver string `json:"semver,omitempty"`

	// digest is the digest of the manifest: sha256: and 64 lower-case hex digits. While its files are in the cache, the registry is not
	// asked.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`
}

// ArchiveSource is a folder of a tar.gz or zip archive.
type ArchiveSource struct {
	// url is the address of the archive: https://, or http:// (no credentials are sent over it). Credentials in the URL are rejected;
	// they belong into secretRef.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://.')",message="must start with https:// or http://, for example https://example.com/team/app.tgz"
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]?#]')",message="must not have white space, a query or a fragment"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@')",message="must not contain credentials: put them into the Secret that secretRef names"
	URL string `json:"url"`

	// digest is the SHA-256 of the archive: sha256: and 64 lower-case hex digits. An archive with another one is rejected. While its
	// files are in the cache, the server is not asked. Default: whatever the server has is deployed.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`

	// secretRef names a Secret in the namespace of the Release: username and password, or bearerToken; certFile and keyFile (or tls.crt
	// and tls.key) for a client certificate; caFile (or ca.crt) for a private CA. Only for https.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`

	// path is the folder in the archive, relative to its root. Default: the root. A path that leaves the archive is rejected.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="must be relative and must not contain '..'"
	Path string `json:"path,omitempty"`
}

// FromSource is an object in the namespace of the Release that holds the files, or says where they are.
//
// +kubebuilder:validation:XValidation:rule="!has(self.path) || !(self.kind in ['ConfigMap', 'Secret'])",message="path is for the kinds of Flux: a ConfigMap or Secret has no folders"
type FromSource struct {
	// kind is ConfigMap or Secret, whose keys are file names and whose values are the files; or one of Flux, whose artifact is taken from
	// its status: GitRepository, OCIRepository, Bucket, HelmChart or ExternalArtifact of source.toolkit.fluxcd.io/v1.
	// +required
	// +kubebuilder:validation:Enum=ConfigMap;Secret;GitRepository;OCIRepository;Bucket;HelmChart;ExternalArtifact
	Kind FromKind `json:"kind"`

	// name is the name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// path is the folder in the artifact of Flux, relative to its root. Default: the root. A path that leaves the artifact is rejected.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="must be relative and must not contain '..'"
	Path string `json:"path,omitempty"`
}

// FromKind is the kind of an object that is read.
type FromKind string

// The kinds that a FromSource can name.
const (
	FromConfigMap        FromKind = "ConfigMap"
	FromSecret           FromKind = "Secret"
	FromGitRepository    FromKind = "GitRepository"
	FromOCIRepository    FromKind = "OCIRepository"
	FromBucket           FromKind = "Bucket"
	FromHelmChart        FromKind = "HelmChart"
	FromExternalArtifact FromKind = "ExternalArtifact"
)

// LocalObjectReference names an object in the namespace of the Release.
type LocalObjectReference struct {
	// name is the name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// RenderSpec is how files become objects.
type RenderSpec struct {
	// type is how the files are read. Plain takes every .yaml, .yml and .json file of the folder and its subfolders as Kubernetes
	// objects. Kustomize builds the kustomization in the folder. Helm templates the chart in the folder. Auto is Helm where the folder has
	// a Chart.yaml, Kustomize where it has a kustomization file, else Plain. Default Auto.
	// +optional
	// +kubebuilder:default=Auto
	Type RenderType `json:"type,omitempty"`

	// helm is how a chart is rendered. It is ignored if the folder is not rendered as a chart.
	// +optional
	Helm *HelmRender `json:"helm,omitempty"`
}

// RenderType is how files become objects.
//
// +kubebuilder:validation:Enum=Auto;Plain;Kustomize;Helm
type RenderType string

// The ways in which files become objects.
const (
	RenderAuto      RenderType = "Auto"
	RenderPlain     RenderType = "Plain"
	RenderKustomize RenderType = "Kustomize"
	RenderHelm      RenderType = "Helm"
)

// DeletionPolicy is what happens to the applied objects when a Release is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// The deletion policies.
const (
	DeletionPolicyDelete DeletionPolicy = "Delete"
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)
