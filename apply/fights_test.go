package apply

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/convoy-dev/convoy/render"
)

// ring is a fight over one object, with a clock.
type ring struct {
	*testing.T
	*clocktesting.FakePassiveClock
	memory *Memory
	id     render.ObjectID
}

func newRing(t *testing.T) *ring {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	return &ring{t, clock, NewMemory(clock), render.ObjectID{Kind: "ConfigMap", Name: "a"}}
}

func (r *ring) after(d time.Duration) *ring {
	r.SetTime(r.Now().Add(d))
	return r
}

// drift says whether an object that drifts now is put back at once.
func (r *ring) drift() bool {
	drift := Drift{Kind: DriftChanged}
	if r.memory.drifted(testOwner.UID, r.id, drift) {
		return false
	}
	r.memory.putBack(testOwner.UID, r.id, drift)
	return true
}

func (r *ring) wantDrift(putBack bool, what string) {
	r.Helper()
	if got := r.drift(); got != putBack {
		r.Errorf("%s: put back %t, want %t", what, got, putBack)
	}
}

func (r *ring) wantFights(n int, what string) {
	r.Helper()
	if got := len(r.memory.fights(testOwner)); got != n {
		r.Errorf("%s: %d fights, want %d", what, got, n)
	}
}

// begun is a ring in which a fight has just begun.
func begun(t *testing.T) *ring {
	t.Helper()
	r := newRing(t)
	for range fightAfter {
		r.after(time.Second).wantDrift(true, "before the fight")
	}
	r.wantFights(1, "after the third time")
	return r
}

func TestDriftNowAndThenIsNoFight(t *testing.T) {
	r := newRing(t)
	for range 10 {
		r.after(fightWindow/2+time.Second).wantDrift(true, "twice in ten minutes")
		r.wantFights(0, "twice in ten minutes")
	}
}

func TestAFightIsPutBackEverMoreSlowly(t *testing.T) {
	r := begun(t)
	pause := firstPause
	for range 8 {
		r.after(pause-time.Second).wantDrift(false, "before the pause of "+pause.String()+" ends")
		if next := r.memory.fights(testOwner)[0].Next; !next.Equal(r.Now().Add(time.Second)) {
			t.Errorf("the next time is in %s, want 1s", next.Sub(r.Now()))
		}
		r.after(time.Second).wantDrift(true, "when the pause of "+pause.String()+" ends")
		pause = min(2*pause, lastPause)
	}
	if pause != lastPause {
		t.Errorf("the last pause is %s, want %s", pause, lastPause)
	}
}

func TestAFightEndsWhenTheObjectStaysAsDesired(t *testing.T) {
	r := begun(t)
	r.after(fightWindow-time.Second).memory.calm(testOwner.UID, r.id)
	r.wantFights(1, "before it stayed for long")
	r.after(time.Second).memory.calm(testOwner.UID, r.id)
	r.wantFights(0, "after it stayed for long")
	r.wantDrift(true, "after the fight")
	r.wantFights(0, "one time is no fight")
}

func TestAFightEndsWithAnotherCause(t *testing.T) {
	r := begun(t)
	r.memory.begin(Request{Owner: testOwner})
	r.wantDrift(false, "for the same cause")
	r.memory.begin(Request{Owner: testOwner, Cause: "another render"})
	r.wantFights(1, "another render is tried")
	r.memory.apply(testOwner.UID)
	r.wantFights(0, "for another render")
	r.wantDrift(true, "for another render")
}
