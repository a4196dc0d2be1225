package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/convoy-dev/convoy/render"
)

// memoryLasts is how long an unchanged object is believed to need no dry run. What changes the outcome of an apply without
// changing the object, such as a new admission webhook, is seen after that at the latest.
const memoryLasts = time.Hour

// Memory remembers which objects were last seen to be as desired, so that a pass over an unchanged object needs no request for
// it. It is safe: an object whose UID or resourceVersion moved, or whose desired state did, is tried on the server again. Losing
// it costs dry runs and nothing else.
type Memory struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	seen  map[types.UID]map[render.ObjectID]sighting
}

type sighting struct {
	uid             types.UID
	resourceVersion string
	hash            string
	at              time.Time
}

// NewMemory returns an empty memory.
func NewMemory(c clock.PassiveClock) *Memory {
	return &Memory{clock: c, seen: map[types.UID]map[render.ObjectID]sighting{}}
}

// Forget drops what is remembered of a Release.
func (m *Memory) Forget(release types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, release)
}

func (m *Memory) asDesired(release types.UID, item Item) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[release][item.ID]
	return ok && item.Live != nil && s.uid == item.Live.GetUID() && s.resourceVersion == item.Live.GetResourceVersion() &&
		s.hash == item.Hash && m.clock.Since(s.at) < memoryLasts
}

func (m *Memory) remember(release types.UID, item Item, live *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	objects := m.seen[release]
	if objects == nil {
		objects = map[render.ObjectID]sighting{}
		m.seen[release] = objects
	}
	if s, ok := objects[item.ID]; ok && s.uid == live.GetUID() && s.resourceVersion == live.GetResourceVersion() && s.hash == item.Hash &&
		m.clock.Since(s.at) < memoryLasts {
		return // the first sighting counts, or the memory would never end
	}
	objects[item.ID] = sighting{live.GetUID(), live.GetResourceVersion(), item.Hash, m.clock.Now()}
}
