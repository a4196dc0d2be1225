package testenv

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// guard stops processes when the test binary dies without having stopped them: a panic, a timeout, Ctrl-C.
//
// It is a process that waits for the end of its standard input, which the kernel closes when the test binary is gone.
type guard struct {
	process *exec.Cmd
	input   io.Closer // held open as long as the test binary lives
}

// newGuard guards processes, given by their ids, and the folder with their files.
func newGuard(dir string, pids []string) (*guard, error) {
	args := append([]string{"-c", `dir=$1; shift; cat >/dev/null; kill -9 "$@"; rm -rf "$dir"`, "guard", dir}, pids...)
	cmd := exec.Command("sh", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // out of reach of Ctrl-C
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &guard{process: cmd, input: input}, cmd.Start()
}

// release ends the guard and leaves the processes alone.
func (g *guard) release() error {
	if err := g.process.Process.Kill(); err != nil {
		return err
	}
	// Being killed is the only way in which it ends here, so its exit status says nothing.
	_ = g.process.Wait()
	return nil
}

// children are the ids of the processes that this one started.
func children() []string {
	var pids []string
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		// A thread that ended since has no children.
		content, _ := os.ReadFile(list)
		pids = append(pids, strings.Fields(string(content))...)
	}
	return pids
}
