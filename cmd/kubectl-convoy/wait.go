package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// defaultWait is how long --wait waits.
const defaultWait = 5 * time.Minute

// errTimeUp is the cause of a wait that took too long.
var errTimeUp = errors.New("the time is up")

// waitOptions are the flags of a command that can wait.
type waitOptions struct {
	wait    bool
	timeout span
}

func (o *waitOptions) addTo(cmd *cobra.Command, until string) {
	o.timeout = span(defaultWait)
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait "+until+".")
	cmd.Flags().Var(&o.timeout, "timeout", "How long --wait waits.")
}

func (o *waitOptions) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("timeout") && !o.wait {
		return usageError(cmd, "flag --timeout: it says how long --wait waits, so give that too")
	}
	return nil
}

// waiting watches a Release until a goal is reached or cannot be.
type waiting struct {
	goal     goal
	progress *progress
	last     verdict
}

// see judges a Release.
func (w *waiting) see(release *v1alpha1.Release) bool {
	if release == nil {
		w.last = verdict{failed, "the Release was deleted"}
		return true
	}
	w.last = w.goal(release)
	if w.last.state == pending {
		w.progress.show(w.last.message)
	}
	return w.last.state != pending
}

// lost tells of a cluster that cannot be reached.
func (w *waiting) lost(err error) { w.progress.show("Trying again: " + err.Error()) }

// await waits until a goal is reached, which it tells. What it returns otherwise has the exit code of a wait without success, and says
// what stays set all the same. Ctrl-C ends the wait; a second one the process.
func (c *cli) await(ctx context.Context, k *cluster, name string, goal goal, o waitOptions, stays string) error {
	ctx, restore := signal.NotifyContext(ctx, os.Interrupt)
	defer restore()
	context.AfterFunc(ctx, restore)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(o.timeout), errTimeUp)
	defer cancel()
	w := &waiting{goal: goal, progress: newProgress(c.ErrOut)}
	err := k.follow(ctx, name, w)
	w.progress.end()
	switch {
	case err == nil && w.last.state == reached:
		c.note("%s", w.last.message)
		return nil
	case err == nil:
		err = errors.New(w.last.message)
	case errors.Is(err, errTimeUp):
		err = fmt.Errorf("it is not done after %s: %s", o.timeout.String(), w.last.message)
	case ctx.Err() != nil:
		err = errors.New("the wait was interrupted")
	}
	return &exitError{codeWaitEnded, fmt.Errorf("wait for Release %s in namespace %s: %w\n%s", name, k.namespace, err, stays)}
}
