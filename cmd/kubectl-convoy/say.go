package main

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
)

// say prints the outcome of a command.
func (c *cli) say(format string, args ...any) { writeSafely(c.Out, fmt.Sprintf(format, args...)+"\n") }

// note prints what is no outcome: errors, questions, progress.
func (c *cli) note(format string, args ...any) {
	writeSafely(c.ErrOut, fmt.Sprintf(format, args...)+"\n")
}

// writeSafely prints text that others wrote a part of, so that nothing in it drives the terminal. That a terminal is gone is nothing
// that could be told anybody.
func writeSafely(w io.Writer, text string) { _ = printers.WriteEscaped(w, text) }

// color is how a text looks on a terminal.
type color string

// The colors, as escape sequences.
const (
	plain  color = ""
	red    color = "\x1b[31m"
	green  color = "\x1b[32m"
	yellow color = "\x1b[33m"
	cyan   color = "\x1b[36m"
)

// painter colors what goes to a terminal that wants it.
type painter bool

// painterFor decides by the terminal and the environment.
func painterFor(w io.Writer) painter { return painter(printers.AllowsColorOutput(w)) }

// paint colors a text, which it makes safe for a terminal first.
func (p painter) paint(c color, text string) string {
	text = printers.EscapeTerminal(text)
	if !p || c == plain || text == "" {
		return text
	}
	return string(c) + text + "\x1b[0m"
}

// joinNonEmpty joins the parts that are there.
func joinNonEmpty(sep string, parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, sep)
}
