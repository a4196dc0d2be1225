package v1alpha1

// Conditions of a Release, and their reasons. A message is one sentence for a user that names the next move. Reconciling and
// Stalled follow kstatus (sigs.k8s.io/cli-utils/pkg/kstatus): they are present only while they are true.
const (
	// ConditionReady sums the others up: True if Rendered, Applied and Healthy are True for the render selected now; False with the
	// reason of the first that is False; otherwise Unknown with the reason of the first that is Unknown. Rendered does not count while
	// the Release is pinned: a pin needs no source.
	ConditionReady = "Ready"

	// ConditionRendered says whether the source was fetched and rendered.
	ConditionRendered = "Rendered"

	// ConditionApplied says whether the selected render is applied in full: all waves, the prune, and its hooks.
	ConditionApplied = "Applied"

	// ConditionHealthy says whether all objects of the applied render are healthy, as kstatus computes it.
	ConditionHealthy = "Healthy"

	// ConditionReconciling is True while convoy works towards the selected render or retries.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True while convoy can make no progress until somebody changes the source, the Release or the cluster.
	ConditionStalled = "Stalled"
)

// ReasonSucceeded is the reason of every condition that is True for good news.
const ReasonSucceeded = "Succeeded"

// ReasonProgressing says that convoy waits for the objects of a wave to become healthy or to be gone (Applied), or for all objects to
// become healthy (Healthy). It is also the reason of Reconciling.
const ReasonProgressing = "Progressing"

// Reasons of Rendered=False.
const (
	// ReasonSourceFailed: the source cannot be reached, or has not what the Release asks for. Retried with backoff.
	ReasonSourceFailed = "SourceFailed"

	// ReasonRenderFailed: the files do not make objects; the message names the file. Tried again when the source or the Release
	// changes.
	ReasonRenderFailed = "RenderFailed"
)

// Reasons of Applied.
const (
	// ReasonDryRunFailed (False): the server would reject an object, or another Release owns it; the message names each. Nothing
	// was changed, nothing was stored. Retried with backoff.
	ReasonDryRunFailed = "DryRunFailed"

	// ReasonDeployFailed (False): the render store, the inventory or the apply of an object failed. Retried with backoff.
	ReasonDeployFailed = "DeployFailed"

	// ReasonHookFailed (False): a hook has failed. It is run again for another render, or when somebody asks for a sync.
	ReasonHookFailed = "HookFailed"

	// ReasonPruneRefused (False): the render would delete more objects than prunePolicy.maxDeletes allows. Nothing was changed. Tried
	// again when the source or the Release changes.
	ReasonPruneRefused = "PruneRefused"

	// ReasonRolledBack (False): the render of the source failed, and failurePolicy holds the Release on the one that was last healthy,
	// or tries to. Tried again when the source renders something else, somebody asks for a sync, or pins.
	ReasonRolledBack = "RolledBack"

	// ReasonTimedOut (False): a wave was not healthy, a hook not complete, or pruned objects not gone, within spec.timeout. convoy goes on as soon as they
	// are.
	ReasonTimedOut = "TimedOut"

	// ReasonContested (False): somebody keeps changing objects after convoy put them back; the message names each, who, and the fields.
	// convoy puts them back ever more slowly, until they stay as the render has them for 10 minutes, or a new render or a sync request
	// comes. Everything else is applied.
	ReasonContested = "Contested"

	// ReasonPinned (False): the pinned render cannot be had: it is not in the render store, there is no render store, or what the store
	// has is corrupt. Nothing was applied. Looked at again at the next interval.
	ReasonPinned = "Pinned"

	// ReasonWaitingForSync (Unknown): syncPolicy.mode is Manual, and nobody asked for this render yet. Nothing is stored or applied.
	ReasonWaitingForSync = "WaitingForSync"

	// ReasonSuspended (Unknown): spec.suspend is true; nothing is applied.
	ReasonSuspended = "Suspended"
)

// ReasonDegraded (Healthy=False): an object has failed, or not everything was healthy within spec.timeout. convoy says Succeeded
// as soon as it is.
const ReasonDegraded = "Degraded"

// Reasons of events on a Release, beyond those of its conditions.
const (
	// EventApplied: a render was applied in full; the note counts what was created, configured and deleted.
	EventApplied = "Applied"

	// EventDrifted: objects were changed or deleted behind convoy's back, and were put back; the note names them, who, and the fields.
	EventDrifted = "Drifted"

	// EventPruneSkipped: an object left the render and was kept, since it is of a protected kind, says so itself, or is not the
	// Release's any more.
	EventPruneSkipped = "PruneSkipped"

	// EventHistoryFailed: the render was applied, but its history entry could not be written or old renders not collected.
	EventHistoryFailed = "HistoryFailed"

	// EventHooksSkipped: the Release is being deleted without its PreDelete and PostDelete hooks, which cannot be had or run any more; the
	// note says why.
	EventHooksSkipped = "HooksSkipped"

	// EventPinned: somebody pinned the Release; the note says who, to what and why.
	EventPinned = "Pinned"

	// EventPinReplaced: a pin took the place of another one; the note says of both who set it, on what and why. Of two people who pin at
	// once, convoy may see only the second.
	EventPinReplaced = "PinReplaced"

	// EventUnpinned: a pin was taken off, or has expired.
	EventUnpinned = "Unpinned"

	// EventDeletionHeld: the Release is being deleted and something holds it; the note says what.
	EventDeletionHeld = "DeletionHeld"
)
