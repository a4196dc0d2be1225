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

	// HookAnnotation makes an object of a render a hook: it is not applied with the waves, but runs once in every rollout. The value is
	// HookPreSync, HookPostSync or HookSyncFail, or several of them, separated by commas. HookPreDelete and HookPostDelete run in the
	// deletion of the Release. Any other value is an error of the plan.
	HookAnnotation = "convoy.dev/hook"

	// ArgoHookAnnotation and HelmHookAnnotation are what HookAnnotation is, for objects that were made for Argo CD and Helm. convoy's own
	// wins over Argo CD's, and that over Helm's.
	ArgoHookAnnotation = "argocd.argoproj.io/hook"
	HelmHookAnnotation = "helm.sh/hook"

	// HelmHookWeightAnnotation is the wave of a hook of Helm that has no SyncWaveAnnotation.
	HelmHookWeightAnnotation = "helm.sh/hook-weight"

	// HookDeletePolicyAnnotation says when a hook is deleted: HookBeforeCreation, HookSucceeded or HookFailed, or several of them,
	// separated by commas. Whatever it says, a hook is deleted before it is created anew; only HookSucceeded does more.
	HookDeletePolicyAnnotation = "convoy.dev/hook-delete-policy"

	// ArgoHookDeletePolicyAnnotation and HelmHookDeletePolicyAnnotation are what HookDeletePolicyAnnotation is, for objects that were made
	// for Argo CD and Helm.
	ArgoHookDeletePolicyAnnotation = "argocd.argoproj.io/hook-delete-policy"
	HelmHookDeletePolicyAnnotation = "helm.sh/hook-delete-policy"

	// HookRunAnnotation on a live hook names the run that it was created for. It is added at apply and is no part of the render.
	HookRunAnnotation = "convoy.dev/hook-run"

	// DeletionHooksAnnotation on a Release with the value DeletionHooksDisabled deletes it without running its hooks: for when one cannot
	// succeed any more.
	DeletionHooksAnnotation = "convoy.dev/deletion-hooks"
	DeletionHooksDisabled   = "disabled"

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

	// FluxPruneAnnotation with the value FluxDisabled, in any case, is what PruneAnnotation with PruneDisabled is, for objects that were made
	// for Flux, which reads a label of the same name as well.
	FluxPruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"
	FluxDisabled        = "disabled"

	// PruneAnnotation on an object decides whether it is deleted once the render no longer has it: PruneDisabled keeps it,
	// PruneEnabled deletes it even if it is of a protected kind. Any other value is an error of the plan.
	PruneAnnotation = "convoy.dev/prune"

	// PruneDisabled keeps an object that left the render.
	PruneDisabled = "disabled"

	// PruneEnabled deletes an object of a protected kind (CustomResourceDefinition, Namespace, PersistentVolumeClaim) that left
	// the render.
	PruneEnabled = "enabled"

	// ForceAnnotation with the value ForceEnabled on an object of a render has the live object deleted and created anew where the server
	// refuses to update it, since a field cannot be changed. Any other value is an error of the plan.
	ForceAnnotation = "convoy.dev/force"
	ForceEnabled    = "enabled"

	// FluxForceAnnotation with the value FluxEnabled, in any case, is what ForceAnnotation with ForceEnabled is, for objects that were made
	// for Flux, which reads a label of the same name as well.
	FluxForceAnnotation = "kustomize.toolkit.fluxcd.io/force"
	FluxEnabled         = "enabled"

	// IgnoreDriftAnnotation on an object of a render leaves fields of it to others: JSON pointers (RFC 6901), separated by commas or
	// white space, or IgnoreDriftAll. Such a field is set when the object is created, and is others' from then on: convoy neither puts it
	// back nor takes part in its ownership. A pointer that is malformed is an error of the plan.
	IgnoreDriftAnnotation = "convoy.dev/ignore-drift"

	// IgnoreDriftAll leaves the whole object to others: it is created if it is not there, and never changed. It still counts for
	// the health, and is pruned once it left the render.
	IgnoreDriftAll = "*"

	// HookPreSync runs a hook before the first wave.
	HookPreSync = "PreSync"

	// HookPostSync runs a hook when everything is applied and healthy, and the prune is done.
	HookPostSync = "PostSync"

	// HookSyncFail runs a hook when a rollout fails after something was changed.
	HookSyncFail = "SyncFail"

	// HookPreDelete runs a hook when its Release is deleted, before anything else is.
	HookPreDelete = "PreDelete"

	// HookPostDelete runs a hook when its Release is deleted, and everything else is gone.
	HookPostDelete = "PostDelete"

	// HookBeforeCreation deletes a hook of an earlier run when it is created anew. It always counts.
	HookBeforeCreation = "BeforeHookCreation"

	// HookSucceeded deletes a hook once the rollout has succeeded.
	HookSucceeded = "HookSucceeded"

	// HookFailed says that a hook that failed need not be kept. It is kept until it runs again, so that its log can be read.
	HookFailed = "HookFailed"

	// ReleaseNameLabel and ReleaseNamespaceLabel name the owning Release on every applied object. They are added at apply and are
	// no part of the render. The values are made by OwnerLabels.
	ReleaseNameLabel      = "convoy.dev/release-name"
	ReleaseNamespaceLabel = "convoy.dev/release-namespace"

	// FieldManager is the manager of every server-side apply that convoy sends.
	FieldManager = "convoy"
)
