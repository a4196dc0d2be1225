package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// cluster is the cluster of one clone of the repository.
type cluster struct {
	root  string // of the repository
	dir   string // of all state
	ports ports
}

// state is what reset forgets, in the folder of the cluster. The binaries are not part of it.
var state = []string{"cache", "demo", "etcd", "kubeconfig", "log", "pki", "run", "store"}

// path is a path in the folder of the cluster.
func (c *cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.dir}, elements...)...)
}

// lock keeps other devclusters of this clone away until the function that it returns is called.
func (c *cluster) lock() (unlock func(), err error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(c.path("lock"))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return func() { _ = file.Close() }, nil // closing unlocks, as does the end of this process
}

// up starts what is not running, from the bottom up, and waits for each.
func (c *cluster) up(ctx context.Context) error {
	if err := c.settle(); err != nil {
		return err
	}
	store, server, rest, err := c.daemons()
	if err != nil {
		return err
	}
	if c.outdated(store) || c.outdated(server) {
		// What stands on them cannot stop in good order once they are gone.
		if err := c.down(ctx); err != nil {
			return err
		}
	}
	if err := c.startAll(ctx, store); err != nil {
		return err
	}
	if err := c.startAll(ctx, server); err != nil {
		return err
	}
	if err := c.install(ctx); err != nil {
		return err
	}
	if err := c.startAll(ctx, rest...); err != nil {
		return err
	}
	if err := c.checkRunning(append(rest, store, server)...); err != nil {
		return err
	}
	fmt.Printf("\nThe cluster is up, with convoy on it.\n\n  export KUBECONFIG=%s\n\nlogs: %s   render store: %s   to stop it: make dev-down\n",
		c.path("kubeconfig"), c.path("log"), c.path("store"))
	return nil
}

// settle makes what the processes need to be there: folders, ports, certificates and the kubeconfig.
func (c *cluster) settle() error {
	for _, dir := range []string{"etcd", "log", "run", "store", "cache/source", "cache/observer", "demo/git"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
			return err
		}
	}
	if err := c.choosePorts(); err != nil {
		return err
	}
	return c.makeCredentials()
}

// git starts the Git server of the demo and prints its URL.
func (c *cluster) git(ctx context.Context) error {
	if err := c.settle(); err != nil {
		return err
	}
	if err := c.startAll(ctx, c.gitServer()); err != nil {
		return err
	}
	fmt.Println("http://" + address(c.ports.Git))
	return nil
}

// gitStop stops the Git server of the demo.
func (c *cluster) gitStop(ctx context.Context) error { return c.stop(ctx, c.gitServer().name()) }

// down stops everything that runs, from the top down.
func (c *cluster) down(ctx context.Context) error {
	running, err := c.running()
	if err != nil {
		return err
	}
	// What stands on the API server goes first, all at once; then the API server; then etcd.
	var last []string
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if i := slices.Index(running, name); i >= 0 {
			running = slices.Delete(running, i, i+1)
			last = append(last, name)
		}
	}
	if err := c.stop(ctx, running...); err != nil {
		return err
	}
	for _, name := range last {
		if err := c.stop(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// reset stops everything and forgets the state.
func (c *cluster) reset(ctx context.Context) error {
	if err := c.down(ctx); err != nil {
		return err
	}
	var errs []error
	for _, name := range state {
		errs = append(errs, os.RemoveAll(c.path(name)))
	}
	return errors.Join(errs...)
}

// status says what runs.
func (c *cluster) status(context.Context) error {
	running, err := c.running()
	if err != nil {
		return err
	}
	if len(running) == 0 {
		fmt.Println("nothing runs; to start it: make dev-up")
		return nil
	}
	fmt.Printf("running: %s\nkubeconfig: %s\n", strings.Join(running, ", "), c.path("kubeconfig"))
	return nil
}
