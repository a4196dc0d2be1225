package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/convoy-dev/convoy/internal/testenv"
)

// stopTimeout is how long a process may take to end.
const stopTimeout = 30 * time.Second

// process is a convoy-controller-manager in a process of its own.
type process struct {
	t       *testing.T
	command *exec.Cmd
	output  *testenv.Output
	exited  chan struct{}

	metricsURL, probesURL string
}

// startProcess starts the command with these arguments. It is killed when the test ends.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, command: exec.Command(os.Args[0], args...), output: &testenv.Output{}, exited: make(chan struct{})}
	p.command.Env = append(os.Environ(), asManager+"=1")
	p.command.Stdout, p.command.Stderr = p.output, p.output
	if _, err := p.command.StdinPipe(); err != nil { // it ends when this end of the pipe does
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.command.Wait() // exitCode says how it ended
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the end of the output of the process:\n%s", p.output.Tail())
		}
	})
	return p
}

// startManager starts a manager that works on a cluster, with its own cache and ports.
func startManager(t *testing.T, kubeconfig string, args ...string) *process {
	t.Helper()
	metrics, probes := testenv.FreeAddress(t), testenv.FreeAddress(t)
	p := startProcess(t, append([]string{
		"--kubeconfig=" + kubeconfig, "--source-cache-dir=" + t.TempDir(), "--leader-elect=false", "--zap-log-level=debug",
		"--metrics-bind-address=" + metrics, "--health-probe-bind-address=" + probes,
	}, args...)...)
	p.metricsURL, p.probesURL = "http://"+metrics+"/metrics", "http://"+probes
	return p
}

// kill ends the process at once, as a machine that loses its power does.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have ended
	<-p.exited
}

// terminate asks the process to end, and returns its exit code.
func (p *process) terminate() int {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	return p.exitCode()
}

// exitCode waits for the end of the process.
func (p *process) exitCode() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.command.ProcessState.ExitCode()
	case <-time.After(stopTimeout):
		p.t.Fatalf("the process did not end within %s", stopTimeout)
		return 0
	}
}

// get asks one of the servers of the process.
func (p *process) get(url string) (int, string) {
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(body)
}

// logged are the lines of the log, which must be JSON.
func (p *process) logged() []map[string]any {
	p.t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(p.output.String()) {
		if !strings.HasSuffix(line, "\n") {
			break // still being written
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			p.t.Errorf("a line of the log is no JSON: %s", line)
		}
		lines = append(lines, fields)
	}
	return lines
}

// wantNoErrors checks that nothing was logged as an error. A renewal of the lease that is under way when the process is asked to go is logged as
// one by client-go, and by controller-runtime.
func (p *process) wantNoErrors() {
	p.t.Helper()
	for _, line := range p.logged() {
		brokenOff := line["logger"] == "leaderelection" && line["error"] == context.Canceled.Error() ||
			line["msg"] == "error received after stop sequence was engaged" && line["error"] == "leader election lost"
		if line["level"] == "error" && !brokenOff {
			p.t.Errorf("it logs an error: %v", line)
		}
	}
}
