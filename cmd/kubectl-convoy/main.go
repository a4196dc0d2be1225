// Command kubectl-convoy is a plugin of kubectl: kubectl convoy release list, get, history, diff, show, pin, unpin and sync, and kubectl convoy
// render. It hides which of the two APIs of convoy answers, what has to be read before something is pinned, how a status or a diff becomes
// sentences and exit codes, and what of a Release can be rendered where there is no cluster.
package main

import (
	"context"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl has
	"k8s.io/klog/v2"
)

func main() {
	os.Exit(run(context.Background(), genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, os.Args[1:]))
}

// run runs one command and returns its exit code.
func run(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	ctx = klog.NewContext(ctx, logr.Discard()) // what the libraries log is for programs that nobody watches
	c := &cli{IOStreams: streams, config: genericclioptions.NewConfigFlags(true), now: time.Now}
	root := newRoot(c) //nolint:contextcheck // completions have the context of the command
	root.SetArgs(args)
	return c.report(root.ExecuteContext(ctx))
}

// cli is what every command has at hand.
type cli struct {
	genericiooptions.IOStreams
	config *genericclioptions.ConfigFlags
	now    func() time.Time
}
