package v1alpha1

// Annotations, labels and names that convoy reads and writes on objects.
const (
	// Finalizer keeps a Release until the objects that it applied and its keys in the render store are gone. It also keeps an
	// Inventory until the Release that it belongs to lets it go.
	Finalizer = "convoy.dev/finalizer"

	// SyncWaveAnnotation on an object is the wave in which it is applied: an integer, default 0, negatives first.
	SyncWaveAnnotation = "convoy.dev/sync-wave"

	// ArgoSyncWaveAnnotation is what SyncWaveAnnotation is, for objects that were made for Argo CD. convoy's own wins.
	ArgoSyncWaveAnnotation = "argocd.argoproj.io/sync-wave"

	// SyncRequestedAtAnnotation on a Release asks for a pass that looks at the source now, and, with syncPolicy.mode Manual, applies what
	// it renders: a time in RFC 3339 with nanoseconds. It is written only through releases/sync and releases/pin of
	// subresources.convoy.dev.
	SyncRequestedAtAnnotation = "convoy.dev/sync-requested-at"

	// UnpinnedByAnnotation on a Release is the user who last took a pin off. It is written only through releases/pin of
	// subresources.convoy.dev.
	UnpinnedByAnnotation = "convoy.dev/unpinned-by"

	// ArgoSyncOptionsAnnotation with the option ArgoPruneFalse is what PruneAnnotation with PruneDisabled is, for objects that were made for
	// Argo CD. Its other options are not looked at.
	ArgoSyncOptionsAnnotation = "argocd.argoproj.io/sync-options"
	ArgoPruneFalse            = "Prune=false"

	// PruneAnnotation on an object decides whether it is deleted once the render no longer has it: PruneDisabled keeps it,
	// PruneEnabled deletes it even if it is of a protected kind. Any other value is an error of the plan.
	PruneAnnotation = "convoy.dev/prune"

	// PruneDisabled keeps an object that left the render.
	PruneDisabled = "disabled"

	// PruneEnabled deletes an object of a protected kind (CustomResourceDefinition, Namespace, PersistentVolumeClaim) that left
	// the render.
	PruneEnabled = "enabled"

	// IgnoreDriftAnnotation on an object of a render leaves fields of it to others: JSON pointers (RFC 6901), separated by commas or
	// white space, or IgnoreDriftAll. Such a field is set when the object is created, and is others' from then on: convoy neither puts it
	// back nor takes part in its ownership. A pointer that is malformed is an error of the plan.
	IgnoreDriftAnnotation = "convoy.dev/ignore-drift"

	// IgnoreDriftAll leaves the whole object to others: it is created if it is not there, and never changed. It still counts for
	// the health, and is pruned once it left the render.
	IgnoreDriftAll = "*"

	// ReleaseNameLabel and ReleaseNamespaceLabel name the owning Release on every applied object. They are added at apply and are
	// no part of the render. The values are made by OwnerLabels.
	ReleaseNameLabel      = "convoy.dev/release-name"
	ReleaseNamespaceLabel = "convoy.dev/release-namespace"

	// FieldManager is the manager of every server-side apply that convoy sends.
	FieldManager = "convoy"
)
