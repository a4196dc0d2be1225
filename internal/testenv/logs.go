package testenv

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// EventLog keeps the events of a controller. It is an events.EventRecorder, safe for concurrent use.
type EventLog struct {
	mu     sync.Mutex
	events []string
}

// Eventf notes "type reason note".
func (l *EventLog) Eventf(_ runtime.Object, _ runtime.Object, kind, reason, _, note string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, kind+" "+reason+" "+fmt.Sprintf(note, args...))
}

// All are the events so far, the oldest first.
func (l *EventLog) All() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// Output gathers what several goroutines write, such as a process or a logger.
type Output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// Tail is the end of it, at most 8 KiB.
func (o *Output) Tail() string {
	const most = 8 << 10
	all := o.String()
	return all[max(0, len(all)-most):]
}
