package faultstore

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/convoy-dev/convoy/renderstore"
)

// ErrInjected is what a broken operation fails with, unless the Fault says otherwise.
var ErrInjected = errors.New("injected fault")

// Effect is how an operation breaks.
type Effect int

const (
	// Fail does nothing and returns the error.
	Fail Effect = iota

	// LoseAnswer does the operation and returns the error all the same.
	LoseAnswer

	// Hang does nothing until the deadline of the operation.
	Hang

	// Half returns half of an object and io.ErrUnexpectedEOF, or half of a listing and no error. It fails every other operation.
	Half

	// Garble returns an object with one byte changed, and no error. It fails every other operation.
	Garble
)

// Fault says which operations break, and how. The zero value fails all of them.
type Fault struct {
	Op     string // one of the Op constants of package renderstore; empty: every operation
	Key    string // a part of the key, or of the prefix of a listing; empty: every key
	Skip   int    // how many operations that match still work
	Times  int    // how many break after that; 0: all of them, until Clear
	Effect Effect
	Err    error // nil: ErrInjected
}

// Faults breaks the operations of one store. It may be used while the store is.
type Faults struct {
	mu     sync.Mutex
	faults []*Fault
	broken int
	onCall func(op, key string)
}

// Wrap opens the store that a URL names, with faults to be injected.
func Wrap(ctx context.Context, url string, opts ...renderstore.Option) (*renderstore.Store, *Faults, error) {
	f := &Faults{}
	opts = append(opts, renderstore.WithBucket(func(next renderstore.Bucket) renderstore.Bucket { return &bucket{next: next, faults: f} }))
	store, err := renderstore.Open(ctx, url, opts...)
	return store, f, err
}

// Inject adds a fault. If an operation matches several, the first that was added and is not used up breaks it.
func (f *Faults) Inject(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault)
}

// Clear takes all faults away.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Broken is how many operations have been broken so far.
func (f *Faults) Broken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// OnCall has a function called before each operation, broken or not, with its key or prefix. It is called concurrently.
func (f *Faults) OnCall(call func(op, key string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onCall = call
}

// next returns the fault that breaks an operation; nil if it works.
func (f *Faults) next(op, key string) *Fault {
	f.mu.Lock()
	onCall, fault := f.onCall, f.take(op, key)
	if fault != nil {
		f.broken++
	}
	f.mu.Unlock()
	if onCall != nil {
		onCall(op, key)
	}
	return fault
}

// take uses up the first fault that matches.
func (f *Faults) take(op, key string) *Fault {
	for i, fault := range f.faults {
		if fault.Op != "" && fault.Op != op || !strings.Contains(key, fault.Key) {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			continue
		}
		taken := *fault
		if fault.Times--; fault.Times == 0 {
			f.faults = append(f.faults[:i:i], f.faults[i+1:]...)
		}
		return &taken
	}
	return nil
}
