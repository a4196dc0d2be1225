package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	codeDone      = 0
	codeError     = 1
	codeUsage     = 2
	codeWaitEnded = 3 // what was asked for is set, and the wait for it ended without success
	codeRefused   = 4 // the user answered no

	// Those of diff are those of kubectl diff.
	codeDiffers = 1
	codeTrouble = 2
)

// exitCodes tells users of them.
const exitCodes = `Exit codes:
  0  done
  1  an error; nothing was changed, unless it says otherwise
  2  the command line is wrong
  3  --wait ended without success: the time is up, it cannot be applied, or the wait was interrupted; what was asked for stays set
  4  you answered no`

// ownExitCodes tells where there are others.
const ownExitCodes = `

"release diff" has those of kubectl diff; see its help.`

// diffExitCodes tells users of those of diff.
const diffExitCodes = `Exit codes, as those of kubectl diff:
  0  nothing would change
  1  something would change, or the apply would be refused
  2  an error, or the command line is wrong`

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

// Unwrap is the error without the code.
func (e *exitError) Unwrap() error { return e.err }

// errDiffers is what diff returns where something would change. That is no error, so it is not reported: the code says it.
var errDiffers = &exitError{codeDiffers, errors.New("something would change")}

// usageError is a command line that makes no sense, and the command whose help says what does.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &exitError{codeUsage, fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())}
}

// report says what went wrong, and returns the exit code.
func (c *cli) report(err error) int {
	switch {
	case err == nil:
		return codeDone
	case errors.Is(err, errDiffers):
		return codeDiffers
	}
	c.note("error: %s", err.Error())
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return codeError
}

// oneName takes exactly one argument, the name of a Release.
func oneName(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usageError(cmd, "%s needs the name of a Release", cmd.CommandPath())
	case len(args) > 1:
		return usageError(cmd, "%s takes one name, not %d: %q", cmd.CommandPath(), len(args), args)
	case args[0] == "":
		return usageError(cmd, "the name of a Release must not be empty")
	}
	return nil
}

// noArguments takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(cmd, "%s takes no arguments, and got %q", cmd.CommandPath(), args)
	}
	return nil
}
