package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"
)

// eraseLine goes to the beginning of the line of a terminal and empties it.
const eraseLine = "\r\x1b[K"

// progress shows what a wait waits for: on a terminal in one line that changes, elsewhere in a line for each change.
type progress struct {
	w     io.Writer
	width int // of the terminal; 0 if it is none
	last  string
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	if file, ok := w.(*os.File); ok && printers.IsTerminal(file) && os.Getenv("TERM") != "dumb" {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			p.width = width
		}
	}
	return p
}

// show shows a message, unless it is the one that is there.
func (p *progress) show(message string) {
	message = printers.EscapeTerminal(strings.Join(strings.Fields(message), " "))
	if message == p.last {
		return
	}
	p.last = message
	if p.width == 0 {
		_, _ = io.WriteString(p.w, message+"\n")
		return
	}
	// One column stays free, since a full line wraps on some terminals.
	if line := []rune(message); len(line) >= p.width {
		message = string(line[:max(p.width-2, 0)]) + "…"
	}
	_, _ = io.WriteString(p.w, eraseLine+message)
}

// Write writes a text of others in place of the line that may be shown.
func (p *progress) Write(text []byte) (int, error) {
	if p.width > 0 {
		_, _ = io.WriteString(p.w, eraseLine)
	}
	return p.w.Write(text)
}

// end leaves the terminal as it was.
func (p *progress) end() {
	if p.width > 0 && p.last != "" {
		_, _ = io.WriteString(p.w, eraseLine)
	}
}

// busy shows on a terminal what a command does that may take a while, and for how long by now, until the returned function is called.
// Elsewhere it shows nothing.
func (c *cli) busy(doing string) (done func()) {
	p := newProgress(c.ErrOut)
	if p.width == 0 {
		return func() {}
	}
	stop, stopped, begun := make(chan struct{}), make(chan struct{}), time.Now()
	p.show(doing)
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.show(fmt.Sprintf("%s (%s)", doing, duration.HumanDuration(time.Since(begun))))
			case <-stop:
				p.end()
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
}
