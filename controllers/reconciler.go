package controllers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/source"
)

// passTimeout ends a pass whose requests hang one after the other. Each has a shorter deadline of its own.
const passTimeout = 15 * time.Minute

// reportTimeout is how long a report may take. It is apart from the pass, so that one that ran out of time can say so.
const reportTimeout = time.Minute

// Fetcher gets the files of a source.
type Fetcher interface {
	Fetch(ctx context.Context, req source.Request) (*source.Artifact, error)
}

// Watcher starts a new pass of a Release when one of its objects changes, and knows what it has seen of them.
type Watcher interface {
	apply.Watch

	// Ensure watches the kinds of a plan.
	Ensure(ctx context.Context, plan *apply.Plan) error
}

// ReleaseReconciler brings what runs to what a Release's source renders.
type ReleaseReconciler struct {
	Client  client.Client // reads live, with convoy's own rights
	Fetcher Fetcher
	Inputs  *inputs.Reader
	Store   *renderstore.Store
	Targets *Targets
	Memory  *apply.Memory
	Watcher Watcher
	Events  events.EventRecorder
	Clock   clock.PassiveClock
	Metrics *Metrics

	// DefaultServiceAccount is impersonated where a Release names none. Empty: convoy's own rights.
	DefaultServiceAccount string

	polls   *polls
	built   memo[built]     // by the inputs
	kept    memo[Selection] // read from the store, by the ref
	tallies memo[tally]     // of the changes of a rollout so far, by the ref
	stored  *stored
	backoff *backoff
}

// New completes a reconciler.
func New(r ReleaseReconciler) *ReleaseReconciler {
	r.polls, r.stored, r.backoff = newPolls(), newStored(), newBackoff()
	r.built, r.kept, r.tallies = newMemo[built](), newMemo[Selection](), newMemo[tally]()
	return &r
}

// pass is what the steps of one run of Reconcile share: the Release as it was when the pass began, and where to write down what
// they see.
type pass struct {
	release *v1alpha1.Release
	owner   live.Owner
	archive *renderstore.Archive
	now     time.Time
	expired *v1alpha1.Pin // the pin that has just ended by itself
	seen    *Observation
}

func (p pass) deleting() bool { return !p.release.DeletionTimestamp.IsZero() }

// Reconcile runs one pass over a Release. A process that is going says nothing of what it breaks off: the next one starts it anew.
func (r *ReleaseReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	bounded, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	p, err := r.begin(bounded, req)
	switch {
	case ctx.Err() != nil:
		return reconcile.Result{}, nil
	case p == nil || err != nil:
		return reconcile.Result{}, err
	}
	failure := r.run(bounded, *p)
	failure = r.fallBack(*p, failure)
	r.lookAtWhatRuns(bounded, *p)
	if ctx.Err() != nil {
		return reconcile.Result{}, nil
	}
	reporting, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	return r.report(reporting, *p, failure) // 10
}

// run is the line of the steps. Deletion takes the same road with the empty render, and ends by letting go of the Release.
func (r *ReleaseReconciler) run(ctx context.Context, p pass) *Failure {
	selection, failure := r.choose(ctx, p) // 1 fetch, 2 render, 3 choose
	if failure == nil {
		failure = gate(p, selection) // 4
	}
	if failure != nil {
		return r.maintain(ctx, p, selection, failure)
	}
	planned, failure := r.plan(ctx, p, selection) // 5
	if failure != nil {
		p.interrupted(selection)
		return r.maintain(ctx, p, selection, failure)
	}
	if failure := r.store(ctx, p, selection, planned); failure != nil { // 6
		return failure
	}
	changes, failure := r.apply(ctx, p, selection, planned) // 7
	if failure != nil || p.seen.Waiting != nil {
		return failure
	}
	if p.deleting() {
		return r.finalize(ctx, p)
	}
	failure = r.assess(p, changes) // 8
	r.record(ctx, p, selection)    // 9, whatever the health: the render is applied in full
	if failure == nil && selection.Origin == FromRollback {
		return p.heldBack()
	}
	return failure
}

// begin reads the Release live, so that no decision rests on a cache, and makes sure that its deletion waits for convoy.
func (r *ReleaseReconciler) begin(ctx context.Context, req reconcile.Request) (*pass, error) {
	release := &v1alpha1.Release{}
	if err := r.Client.Get(ctx, req.NamespacedName, release); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	var expired *v1alpha1.Pin
	if release.DeletionTimestamp.IsZero() {
		err := r.hold(ctx, release)
		if err != nil {
			return nil, err
		}
		if expired, err = r.endPin(ctx, release, r.Clock.Now()); err != nil {
			return nil, fmt.Errorf("take off the expired pin of Release %s/%s: %w", release.Namespace, release.Name, err)
		}
	} else if !controllerutil.ContainsFinalizer(release, v1alpha1.Finalizer) {
		return nil, nil // somebody else's finalizer holds it
	}
	return &pass{
		release: release,
		owner:   live.Owner{Namespace: release.Namespace, Name: release.Name, UID: release.UID},
		archive: r.Store.Archive(release.Namespace, release.Name),
		now:     r.Clock.Now(),
		expired: expired,
		seen:    &Observation{},
	}, nil
}

func (r *ReleaseReconciler) hold(ctx context.Context, release *v1alpha1.Release) error {
	base := release.DeepCopy()
	if !controllerutil.AddFinalizer(release, v1alpha1.Finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, release, patch, client.FieldOwner(controllerName))
	if apierrors.IsInvalid(err) {
		log.FromContext(ctx).Info("The Release cannot be worked on, since the API rejects it", "error", err.Error())
	}
	return err
}
