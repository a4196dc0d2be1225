package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/source"
)

// shareFor is how old a resolved revision may be that another Release with the same source has just asked for.
const shareFor = 3 * time.Second

// fetch gets the files of the source. The source is asked once an interval, when the Release changes, and when somebody asks for a sync; passes in between, which
// a watch started, work on what it said then.
func (r *ReleaseReconciler) fetch(ctx context.Context, p pass) (*source.Artifact, *Failure) {
	defer r.Metrics.step("fetch")()
	due := r.polls.due(p.release, p.now)
	req := source.Request{Namespace: p.release.Namespace, Source: p.release.Spec.Source, MaxAge: r.polls.maxAge(p.release, p.now)}
	artifact, err := r.Fetcher.Fetch(ctx, req)
	if err != nil {
		return nil, notRendered(v1alpha1.ReasonSourceFailed, Backoff, "The source cannot be fetched: %w", err)
	}
	if due {
		r.polls.done(p.release, p.now)
	}
	return artifact, nil
}

// polls remembers when the source of each Release was last asked. Losing it costs one more question.
type polls struct {
	mu   sync.Mutex
	last map[types.UID]poll
}

type poll struct {
	at         time.Time
	generation int64
	request    string // the sync request
}

// answers says whether nobody has changed the Release, or asked for a sync, since.
func (p poll) answers(release *v1alpha1.Release) bool {
	return p.generation == release.Generation && p.request == syncRequest(release)
}

func newPolls() *polls { return &polls{last: map[types.UID]poll{}} }

// next is how long until the source is to be asked again.
func (p *polls) next(release *v1alpha1.Release, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[release.UID]
	if !ok || !last.answers(release) || last.at.After(now) {
		return 0
	}
	return last.at.Add(release.Spec.Interval.Duration).Sub(now)
}

// maxAge is how old a resolved revision may be that a pass works on.
func (p *polls) maxAge(release *v1alpha1.Release, now time.Time) time.Duration {
	p.mu.Lock()
	last, ok := p.last[release.UID]
	p.mu.Unlock()
	switch {
	case ok && !last.answers(release):
		return 0 // somebody asks, and may just have pushed what they ask for
	case p.due(release, now):
		return shareFor
	default:
		return 2 * release.Spec.Interval.Duration
	}
}

func (p *polls) due(release *v1alpha1.Release, now time.Time) bool { return p.next(release, now) <= 0 }

func (p *polls) done(release *v1alpha1.Release, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[release.UID] = poll{now, release.Generation, syncRequest(release)}
}

func (p *polls) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, uid)
}
