package apply

import (
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// An object that nobody touched is tried on the server once in fullComparison, give or take spread, so that not all are at once. What
// changes the outcome of an apply without changing the object, such as a new admission webhook, is seen then at the latest.
const (
	fullComparison = time.Hour
	spread         = 15 * time.Minute
)

// stillUnhealthy is how long an object that nobody touched is believed to be unhealthy: some fail by the time that they take.
const stillUnhealthy = 15 * time.Second

// Memory remembers which objects were last seen to be as desired, so that a pass over an untouched object needs no request for it. It is
// safe: an object whose metadata tells that somebody changed it, or whose desired state changed, is tried on the server again. Losing
// it costs dry runs and nothing else.
type Memory struct {
	clock    clock.PassiveClock
	mu       sync.Mutex
	releases map[types.UID]*recollection
}

// recollection is what is remembered of one Release.
type recollection struct {
	seen   map[render.ObjectID]sighting
	fights map[render.ObjectID]*fight
	cause  string // what the fights belong to
	tried  string // the cause of the last plan
	rights string // whose rights the objects were seen with
}

// sighting is an object that was as desired.
type sighting struct {
	baseline live.Baseline
	hash     string // of the object in the render
	health   live.Health
	at       time.Time // of the health
	until    time.Time // when it is to be tried again, whatever its metadata says
}

// NewMemory returns an empty memory.
func NewMemory(c clock.PassiveClock) *Memory {
	return &Memory{clock: c, releases: map[types.UID]*recollection{}}
}

// Forget drops what is remembered of a Release.
func (m *Memory) Forget(release types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releases, release)
}

// of is what is remembered of a Release. The caller holds the lock.
func (m *Memory) of(release types.UID) *recollection {
	known := m.releases[release]
	if known == nil {
		known = &recollection{seen: map[render.ObjectID]sighting{}, fights: map[render.ObjectID]*fight{}}
		m.releases[release] = known
	}
	return known
}

// remember notes an object that is as desired. sent is what was applied, or tried, to know that.
func (m *Memory) remember(owner live.Owner, item Item, obj, sent *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	until := now.Add(fullComparison - spread + rand.N(2*spread))
	m.of(owner.UID).seen[item.ID] = sighting{live.BaselineOf(obj, sent), item.Hash, healthOf(owner, item.ID, obj), now, until}
}

// recall returns the sighting of an object in the form that the render has now. It is fresh if it need not be tried again yet.
func (m *Memory) recall(release types.UID, id render.ObjectID, hash string) (s sighting, known, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, known = m.of(release).seen[id]
	known = known && s.hash == hash
	return s, known, known && m.clock.Now().Before(s.until)
}

// move notes that an object that is still as desired was seen at later metadata.
func (m *Memory) move(owner live.Owner, s sighting, obj *unstructured.Unstructured) live.Health {
	s.baseline, s.health, s.at = s.baseline.Moved(live.MetadataOf(obj)), healthOf(owner, render.IDOf(obj), obj), m.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner.UID).seen[render.IDOf(obj)] = s
	return s.health
}

// drop forgets an object.
func (m *Memory) drop(release types.UID, id render.ObjectID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of(release).seen, id)
}

// healthIsKnown says that the health of an untouched object is what it was.
func (m *Memory) healthIsKnown(s sighting) bool {
	return s.health.Verdict == live.Healthy || m.clock.Since(s.at) < stillUnhealthy
}

// untouched says that metadata is what the sighting was made from, or older: then the event of what convoy wrote is still to come, and
// starts another pass.
func (s sighting) untouched(meta *metav1.ObjectMeta) bool {
	order, err := resourceversion.CompareResourceVersion(meta.ResourceVersion, s.baseline.ResourceVersion)
	return err == nil && order <= 0
}

// healthOf assesses a live object, nil if it is gone. A Release that deploys itself is healthy when the rest is.
func healthOf(owner live.Owner, id render.ObjectID, obj *unstructured.Unstructured) live.Health {
	switch {
	case obj == nil:
		return live.Health{ID: id, Verdict: live.Failed, Message: "it is not there"}
	case obj.GetUID() == owner.UID:
		return live.Health{ID: id, Verdict: live.Healthy}
	}
	return live.Assess(obj)
}
