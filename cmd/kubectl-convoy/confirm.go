package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
)

// errAnsweredNo is what a command returns that the user stopped.
var errAnsweredNo = errors.New("you answered no; nothing was changed")

// confirm asks the user a question. Where nobody is there to answer, that is an error, which says so and what to do.
func (c *cli) confirm(question, unattended string) error {
	if !printers.IsTerminal(c.In) {
		return fmt.Errorf("the input is no terminal, and %s", unattended)
	}
	writeSafely(c.ErrOut, question+" [y/N] ")
	answer, err := bufio.NewReader(c.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &exitError{codeRefused, errAnsweredNo}
}
