// Command devcluster runs a Kubernetes cluster, and convoy on it, as processes in the background of this machine: what make dev-up,
// make dev-down and make dev-reset call.
//
// All state lies in .local of the repository, and clusters of several clones run side by side. Pods do not really run: kwok plays the nodes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/convoy-dev/convoy/internal/controlplane"
)

const usage = `usage: devcluster up|git|git-stop|down|reset|status

  up        start what is not running, and wait until it works
  git       start the Git server of the demo, and print its URL
  git-stop  stop the Git server of the demo
  down      stop everything; the state stays
  reset     stop everything, and forget the state
  status    say what runs
`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "devcluster: %v\n", err)
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(*cluster, context.Context) error{
		"up":       (*cluster).up,
		"git":      (*cluster).git,
		"git-stop": (*cluster).gitStop,
		"down":     (*cluster).down,
		"reset":    (*cluster).reset,
		"status":   (*cluster).status,
	}
	if len(args) != 1 || commands[args[0]] == nil {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("want one of these commands")
	}
	log.SetLogger(logr.Discard()) // the client has nothing to say that an error does not
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	c := &cluster{root: root, dir: filepath.Join(root, ".local")}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return commands[args[0]](c, ctx)
}
