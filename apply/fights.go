package apply

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// An object that had to be put back fightAfter times within fightWindow is in a fight. From then on it is put back firstPause after the
// last time, and each time after twice as long, up to lastPause. The fight is over once the object stayed as desired for fightWindow, or
// for the pause if that is longer.
const (
	fightAfter  = 3
	fightWindow = 10 * time.Minute
	firstPause  = time.Minute
	lastPause   = 30 * time.Minute
)

// Fight is an object that somebody keeps changing after it was put back.
type Fight struct {
	ID    render.ObjectID
	Drift Drift     // the last one
	Next  time.Time // when to look again: to put it back, or to find that the fight is over
}

// fight is what is remembered of the drift of one object.
type fight struct {
	putBack []time.Time   // the last times, at most fightAfter
	pause   time.Duration // 0 while it is no fight
	last    Drift
	drifted bool // it differs now
}

func (f *fight) lastPutBack() time.Time { return f.putBack[len(f.putBack)-1] }

// until is when the pause ends; if the object is as desired, when the fight is over.
func (f *fight) until() time.Time {
	pause := f.pause
	if !f.drifted {
		pause = max(pause, fightWindow)
	}
	return f.lastPutBack().Add(pause)
}

// begin notes what is tried, and forgets what was seen if it was seen with other rights.
func (m *Memory) begin(req Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(req.Owner.UID)
	known.tried = req.Cause
	if known.rights != req.Rights {
		clear(known.seen)
		known.rights = req.Rights
	}
}

// apply forgets the fights of a Release if they belong to something else than the cause of what is applied now, such as another render.
func (m *Memory) apply(release types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.of(release); known.cause != known.tried {
		clear(known.fights)
		known.cause = known.tried
	}
}

// drifted notes that an object differs, and says whether it is to be left so for now.
func (m *Memory) drifted(release types.UID, id render.ObjectID, drift Drift) (held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(release)
	f := known.fights[id]
	if f == nil || f.pause == 0 || known.cause != known.tried {
		return false
	}
	f.last, f.drifted = drift, true
	return m.clock.Now().Before(f.until())
}

// calm notes that an object is as desired.
func (m *Memory) calm(release types.UID, id render.ObjectID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(release)
	if f := known.fights[id]; f != nil && known.cause == known.tried {
		if f.drifted = false; !m.clock.Now().Before(f.until()) {
			delete(known.fights, id)
		}
	}
}

// putBack notes that an object that drifted was put back.
func (m *Memory) putBack(release types.UID, id render.ObjectID, drift Drift) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fights, now := m.of(release).fights, m.clock.Now()
	f := fights[id]
	if f == nil {
		f = &fight{}
		fights[id] = f
	}
	f.last, f.drifted = drift, false
	f.putBack = append(f.putBack, now)
	f.putBack = f.putBack[max(0, len(f.putBack)-fightAfter):]
	switch {
	case f.pause > 0:
		f.pause = min(2*f.pause, lastPause)
	case len(f.putBack) == fightAfter && now.Sub(f.putBack[0]) <= fightWindow:
		f.pause = firstPause
	}
}

// fights are the fights of a Release, in the order of the objects.
func (m *Memory) fights(owner live.Owner) []Fight {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Fight
	for id, f := range m.of(owner.UID).fights {
		if f.pause > 0 {
			list = append(list, Fight{ID: id, Drift: f.last, Next: f.until()})
		}
	}
	slices.SortFunc(list, func(a, b Fight) int { return a.ID.Compare(b.ID) })
	return list
}
