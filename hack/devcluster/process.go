package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/convoy-dev/convoy/internal/controlplane"
)

const (
	startDeadline = 2 * time.Minute
	stopDeadline  = 30 * time.Second
	pollInterval  = 50 * time.Millisecond
)

// daemon is a process that goes on when this one ends. Its name is that of its binary, its log and its pid file.
type daemon struct {
	path  string
	args  []string
	ready func(context.Context) error // nil when it works, else what is not so yet
}

func (d daemon) name() string { return filepath.Base(d.path) }

// startAll starts those daemons that do not run, all at once, and waits until each works.
func (c *cluster) startAll(ctx context.Context, daemons ...daemon) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	exits := make([]<-chan string, len(daemons))
	started := time.Now()
	for i, d := range daemons {
		if c.outdated(d) {
			if err := c.stop(ctx, d.name()); err != nil {
				return err
			}
		}
		if _, ok := c.pid(d.name()); ok {
			continue
		}
		exit, err := c.launch(d)
		if err != nil {
			return err
		}
		exits[i] = exit
	}
	for i, d := range daemons {
		fmt.Printf("%-26s", d.name())
		if err := c.await(ctx, d, exits[i]); err != nil {
			fmt.Println("failed")
			return err
		}
		fmt.Printf("ready after %.1f s\n", time.Since(started).Seconds())
	}
	return nil
}

// await waits until a daemon works. The error of one that ends instead, which the channel tells, shows the end of its log.
func (c *cluster) await(ctx context.Context, d daemon, exited <-chan string) error {
	for {
		err := d.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case exit := <-exited:
			return fmt.Errorf("%s ended: %s%s", d.name(), exit, c.logTail(d.name()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not work: %w%s", d.name(), err, c.logTail(d.name()))
		case <-time.After(pollInterval):
		}
	}
}

// checkRunning says which daemon has ended although it worked.
func (c *cluster) checkRunning(daemons ...daemon) error {
	for _, d := range daemons {
		if _, ok := c.pid(d.name()); !ok {
			return fmt.Errorf("%s has ended%s", d.name(), c.logTail(d.name()))
		}
	}
	return nil
}

func (c *cluster) logFile(name string) string { return c.path("log", name+".log") }

// logTail is the end of the log of a daemon, to append to a message.
func (c *cluster) logTail(name string) string {
	return fmt.Sprintf("; the end of %s:\n%s", c.logFile(name), controlplane.Tail(c.logFile(name)))
}

// launch starts the process of a daemon, out of reach of Ctrl-C, and notes its pid. The channel tells when and how it ends.
func (c *cluster) launch(d daemon) (exited <-chan string, err error) {
	output, err := os.Create(c.logFile(d.name()))
	if err != nil {
		return nil, err
	}
	defer output.Close() // the process has its own descriptor
	cmd := exec.Command(d.path, d.args...)
	cmd.Dir = c.root
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", d.name(), err)
	}
	exit := make(chan string, 1)
	go func() {
		// The state of the process says the same as the error, for success too.
		_ = cmd.Wait()
		exit <- cmd.ProcessState.String()
	}()
	return exit, os.WriteFile(c.pidFile(d.name()), []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o600)
}

// outdated says that a daemon runs, but from another binary than the one that would start now.
func (c *cluster) outdated(d daemon) bool {
	pid, ok := c.pid(d.name())
	if !ok {
		return false
	}
	running, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return true // its binary was replaced
	}
	current, err := os.Stat(d.path)
	return err == nil && !os.SameFile(running, current)
}

// stop asks processes to end, and waits for it. One that does not end is killed.
func (c *cluster) stop(ctx context.Context, names ...string) error {
	pids := map[string]int{}
	for _, name := range names {
		if pid, ok := c.pid(name); ok {
			pids[name] = pid
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stop %s, process %d: %w", name, pid, err)
			}
		}
	}
	for _, name := range names {
		if err := c.awaitEnd(ctx, name, pids[name]); err != nil {
			return err
		}
		if err := os.Remove(c.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Printf("%-26sstopped\n", name)
	}
	return nil
}

// awaitEnd waits until a process is gone, and with it its ports and locks.
func (c *cluster) awaitEnd(ctx context.Context, name string, pid int) error {
	gone := func(context.Context) (bool, error) {
		running, ok := c.pid(name)
		return !ok || running != pid, nil
	}
	err := wait.PollUntilContextTimeout(ctx, pollInterval, stopDeadline, true, gone)
	if err == nil || ctx.Err() != nil {
		return err
	}
	fmt.Printf("%-26sdoes not stop after %s, killed\n", name, stopDeadline)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s, process %d: %w", name, pid, err)
	}
	return wait.PollUntilContextTimeout(ctx, pollInterval, stopDeadline, true, gone)
}

// running are the names of the processes of this cluster that run.
func (c *cluster) running() ([]string, error) {
	files, err := filepath.Glob(c.pidFile("*"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		if _, ok := c.pid(name); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

func (c *cluster) pidFile(name string) string { return c.path("run", name+".pid") }

// pid is the process that the pid file of a daemon names, if that process is ours. A pid is given anew after its process has ended, perhaps
// to the same program of another clone. Ours runs the binary of that name, and its arguments name the folder of this cluster.
func (c *cluster) pid(name string) (int, bool) {
	content, err := os.ReadFile(c.pidFile(name))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, false
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return 0, false
	}
	args := bytes.Split(cmdline, []byte{0})
	ours := filepath.Base(string(args[0])) == name && slices.ContainsFunc(args[1:], func(arg []byte) bool {
		return bytes.Contains(arg, []byte(c.dir+"/"))
	})
	return pid, ours
}
