//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// terminal is a terminal, and somebody who sits at it.
type terminal struct {
	*os.File // what a command is given
	person   *os.File
	mu       sync.Mutex
	shown    bytes.Buffer
	closed   chan struct{}
}

// newTerminal opens a terminal of 40 columns.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	command, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(command.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 40}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{File: command, person: person, closed: make(chan struct{})}
	go term.watch()
	return term
}

// watch reads what is shown, until the command's end is closed.
func (term *terminal) watch() {
	defer close(term.closed)
	for {
		chunk := make([]byte, 4096)
		n, err := term.person.Read(chunk)
		term.mu.Lock()
		term.shown.Write(chunk[:n])
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// text is all that was shown. The terminal is of no use afterwards.
func (term *terminal) text(t *testing.T) string {
	t.Helper()
	if err := term.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	<-term.closed
	return term.shown.String()
}

// awaits returns once a text is shown.
func (term *terminal) awaits(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		term.mu.Lock()
		shown := term.shown.String()
		term.mu.Unlock()
		if strings.Contains(shown, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q was not shown within %s: %q", text, patience, shown)
		}
	}
}

// types types a line.
func (term *terminal) types(t *testing.T, line string) {
	t.Helper()
	if _, err := term.person.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
}

// colorTerminal makes the environment one in which a terminal gets colors.
func colorTerminal(t *testing.T) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	if value, ok := os.LookupEnv("NO_COLOR"); ok {
		t.Setenv("NO_COLOR", value) // puts it back after the test
		os.Unsetenv("NO_COLOR")
	}
}

func TestColorOnlyOnATerminalThatWantsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		setUp func(*testing.T)
		want  bool
	}{
		"a terminal":      {func(*testing.T) {}, true},
		"with NO_COLOR":   {func(t *testing.T) { t.Setenv("NO_COLOR", "") }, false},
		"a dumb terminal": {func(t *testing.T) { t.Setenv("TERM", "dumb") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			colorTerminal(t)
			tc.setUp(t)
			if got := painterFor(newTerminal(t).File); bool(got) != tc.want {
				t.Errorf("color is %t, want %t", got, tc.want)
			}
		})
	}
	t.Run("a buffer", func(t *testing.T) {
		colorTerminal(t)
		if painterFor(&bytes.Buffer{}) {
			t.Error("it gets colors, and is no terminal")
		}
	})
}

func TestProgressOnATerminalIsOneLineThatChanges(t *testing.T) {
	colorTerminal(t)
	term := newTerminal(t)
	p := newProgress(term.File)
	p.show("Waiting for wave 1")
	p.show("Waiting for wave 1")
	p.show("Waiting for wave 2 to be healthy: Deployment podinfo:\n0 of 1 \x1b[31mreplicas")
	p.end()
	want := "\r\x1b[KWaiting for wave 1" +
		"\r\x1b[KWaiting for wave 2 to be healthy: Depl…" +
		"\r\x1b[K"
	if got := term.text(t); got != want {
		t.Errorf("shown is %q, want %q", got, want)
	}
}

func TestProgressElsewhereIsALineForEachChange(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.show("Waiting for wave 1")
	p.show("Waiting for wave 1")
	p.show("Waiting for wave 2:\n0 of 1 \x1b[31mreplicas")
	p.end()
	if want := "Waiting for wave 1\nWaiting for wave 2: 0 of 1 ^[[31mreplicas\n"; out.String() != want {
		t.Errorf("shown is %q, want %q", out.String(), want)
	}
}

func TestConfirmTakesOnlyYesForYes(t *testing.T) {
	for typed, want := range map[string]int{"y": codeDone, "Y": codeDone, " yes ": codeDone, "n": codeRefused, "": codeRefused, "no": codeRefused, "yess": codeRefused} {
		term := newTerminal(t)
		var out bytes.Buffer
		c := &cli{IOStreams: genericiooptions.IOStreams{In: term.File, Out: &out, ErrOut: &out}}
		term.types(t, typed)
		if got := c.report(c.confirm("Continue?", "")); got != want {
			t.Errorf("%q: code %d, want %d", typed, got, want)
		}
		if !strings.HasPrefix(out.String(), "Continue? [y/N] ") {
			t.Errorf("%q: asked %q", typed, out.String())
		}
		term.text(t)
	}
}

func TestConfirmAsksNobodyWhereNobodyIs(t *testing.T) {
	var out bytes.Buffer
	c := &cli{IOStreams: genericiooptions.IOStreams{In: strings.NewReader("y\n"), Out: &out, ErrOut: &out}}
	code := c.report(c.confirm("Continue?", "it asks: add --yes"))
	if want := "error: the input is no terminal, and it asks: add --yes\n"; code != codeError || out.String() != want {
		t.Errorf("code %d, printed %q; want code %d and %q", code, out.String(), codeError, want)
	}
}
