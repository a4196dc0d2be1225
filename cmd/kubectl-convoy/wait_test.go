package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// patience is how long something may take that has to come.
const patience = 30 * time.Second

// transcript is what a command prints, for somebody who reads along.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and renewed at each write
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

// Write implements io.Writer.
func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.more)
	tr.more = make(chan struct{})
	return tr.text.Write(p)
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String()
}

// await returns once a text was printed.
func (tr *transcript) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		tr.mu.Lock()
		found, more := strings.Contains(tr.text.String(), text), tr.more
		tr.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%q was not printed within %s:\n%s", text, patience, tr)
		}
	}
}

// running is a command that runs in the background.
type running struct {
	stdout, stderr *transcript
	code           chan int
}

// start starts a command as a user, in a namespace.
func start(ctx context.Context, user testenv.User, namespace, line string) *running {
	r := &running{newTranscript(), newTranscript(), make(chan int, 1)}
	args := append(strings.Fields(line), "--kubeconfig", user.Kubeconfig, "--namespace", namespace)
	go func() {
		r.code <- run(ctx, genericiooptions.IOStreams{In: strings.NewReader(""), Out: r.stdout, ErrOut: r.stderr}, args)
	}()
	return r
}

// ends waits for the end of the command.
func (r *running) ends(t *testing.T) outcome {
	t.Helper()
	select {
	case code := <-r.code:
		return outcome{r.stdout.String(), r.stderr.String(), code}
	case <-time.After(patience):
		t.Fatalf("the command goes on after %s:\n%s%s", patience, r.stdout, r.stderr)
		return outcome{}
	}
}

// gated plays a script, whose second and later steps wait for the gate to be closed.
func gated(play script, gate <-chan struct{}) script {
	first := true
	return func(r *v1alpha1.Release) bool {
		if !first && (r.Pin != nil || r.Status.LastHandledSyncAt != "") {
			select {
			case <-gate:
			case <-time.After(patience): // the test has failed
			}
		}
		moved := play(r)
		first = first && !moved
		return moved
	}
}

func waitUntilApplied(t *testing.T, w *world) {
	for name, tc := range map[string]struct {
		line, says, runs string
		pinned           bool
	}{
		"a rollback": {"release pin podinfo --render-ref b7e1406f --wait", "is pinned on render b7e1406f9c33", refB, false},
		"a freeze":   {"release pin podinfo --wait", "is pinned on render 3a5f0c9be1d2", refA, false},
		"an unpin":   {"release unpin podinfo --wait", "is unpinned", fromSource, true},
		"a sync":     {"release sync podinfo --wait", "is asked to sync", fromSource, false},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := w.release(t)
			if tc.pinned {
				expect(t, as(t.Context(), w.alice, namespace, "release pin podinfo"), codeDone, []string{"a freeze"}, nil)
			}
			gate := make(chan struct{})
			cmd := start(t.Context(), w.alice, namespace, tc.line)
			cmd.stderr.await(t, "convoy has not")
			control(t, w.Environment, namespace, gated(works, gate))
			cmd.stderr.await(t, "Waiting for wave 2 to be healthy: Deployment podinfo\n")
			close(gate)
			got := cmd.ends(t)
			expect(t, got, codeDone, []string{tc.says}, []string{"Applied 2 objects of render " + short(tc.runs) + "; all are healthy"})
			if r := w.now(t, namespace); lastApplied(r.Status) != tc.runs {
				t.Errorf("the command ended while %s runs, want %s", lastApplied(r.Status), tc.runs)
			}
			if lines := strings.Count(got.stderr, "\n"); lines != 3 || strings.Contains(got.stderr, "\x1b") {
				t.Errorf("progress is %q, want a line for each change", got.stderr)
			}
		})
	}
}

func waitTellsWhyItCannotBe(t *testing.T, w *world) {
	for reason, message := range map[string]string{
		v1alpha1.ReasonPinned:       "the pinned render cannot be had: it is not in the render store",
		v1alpha1.ReasonPruneRefused: "the render would delete 5 objects",
		v1alpha1.ReasonDeployFailed: "Wave 1 failed: Job migrate",
	} {
		t.Run(reason, func(t *testing.T) {
			namespace := w.release(t)
			control(t, w.Environment, namespace, fails(reason, message, v1alpha1.ConditionStalled))
			got := start(t.Context(), w.alice, namespace, "release pin podinfo --render-ref b7e1406f --wait").ends(t)
			expect(t, got, codeWaitEnded, []string{"a rollback"}, []string{
				"error: wait for Release podinfo in namespace " + namespace + ": " + reason + ": " + message,
				"The pin stays in place", "To undo it: kubectl convoy release unpin podinfo -n " + namespace,
			})
			if pin := w.now(t, namespace).Pin; pin == nil || pin.RenderRef != refB {
				t.Errorf("the pin is %+v, want it left in place", pin)
			}
		})
	}
}

func waitGoesOnWhileConvoyTriesOn(t *testing.T, w *world) {
	namespace := w.release(t)
	gate := make(chan struct{})
	cmd := start(t.Context(), w.alice, namespace, "release pin podinfo --render-ref b7e1406f --wait")
	cmd.stderr.await(t, "convoy has not looked")
	control(t, w.Environment, namespace, gated(recovers, gate))
	cmd.stderr.await(t, "DeployFailed: The render store does not answer (convoy tries on)")
	close(gate)
	expect(t, cmd.ends(t), codeDone, []string{"a rollback"}, []string{"Applied 2 objects of render b7e1406f9c33"})
}

func waitEndsWhenTheTimeIsUp(t *testing.T, w *world) {
	namespace := w.release(t) // and no controller
	got := start(t.Context(), w.alice, namespace, "release pin podinfo --wait --timeout 1s").ends(t)
	expect(t, got, codeWaitEnded, []string{"a freeze"}, []string{
		"it is not done after 1s: convoy has not looked at the change yet", "The pin stays in place, and convoy goes on",
	})
}

func waitEndsWhenThePinIsChanged(t *testing.T, w *world) {
	for name, tc := range map[string]struct {
		change func(*testing.T, string)
		says   string
	}{
		"unpinned": {func(t *testing.T, namespace string) {
			expect(t, as(t.Context(), w.bob, namespace, "release unpin podinfo"), codeDone, []string{"unpinned"}, nil)
		}, "the pin was taken off in the meantime"},
		"pinned otherwise": {func(t *testing.T, namespace string) {
			expect(t, as(t.Context(), w.bob, namespace, "release pin podinfo --render-ref b7e1406f"), codeDone, []string{"a rollback"}, []string{"alice"})
		}, "bob pinned render b7e1406f9c33 in the meantime"},
		"deleted": {func(t *testing.T, namespace string) {
			if err := w.Client.Delete(t.Context(), &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "podinfo"}}); err != nil {
				t.Fatal(err)
			}
		}, "the Release was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := w.release(t)
			cmd := start(t.Context(), w.alice, namespace, "release pin podinfo --wait")
			cmd.stderr.await(t, "convoy has not looked")
			tc.change(t, namespace)
			expect(t, cmd.ends(t), codeWaitEnded, []string{"a freeze"}, []string{tc.says})
		})
	}
}

// cable is a connection to the API server that can be cut.
type cable struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	broken   bool
	conns    []net.Conn
}

// newCable leads to the API server of a user, and returns the user with a kubeconfig that goes through it.
func newCable(t *testing.T, user testenv.User) (*cable, testenv.User) {
	t.Helper()
	server, err := url.Parse(user.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{target: server.Host}
	if c.target == "" {
		c.target = user.Config.Host
	}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go c.accept()
	t.Cleanup(func() {
		_ = c.listener.Close()
		c.cut()
	})
	config, err := clientcmd.LoadFromFile(user.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + c.listener.Addr().String()
	}
	user.Kubeconfig = filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, user.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return c, user
}

// accept passes connections on until the listener is closed.
func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := new(net.Dialer).DialContext(context.Background(), "tcp", c.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		if !c.hold(near, far) {
			continue
		}
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = pair[0].Close(), pair[1].Close()
			}()
		}
	}
}

// hold keeps a connection for the time that it may be cut, unless the cable is broken.
func (c *cable) hold(near, far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		_, _ = near.Close(), far.Close()
		return false
	}
	c.conns = append(c.conns, near, far)
	return true
}

// cut ends all connections, and lets no new one through until mend.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = false
}

func waitSurvivesALostConnection(t *testing.T, w *world) {
	namespace := w.release(t)
	cable, alice := newCable(t, w.alice)
	gate := make(chan struct{})
	cmd := start(t.Context(), alice, namespace, "release pin podinfo --wait")
	cmd.stderr.await(t, "convoy has not looked")
	control(t, w.Environment, namespace, gated(works, gate))
	cmd.stderr.await(t, "Waiting for wave 2") // it came by the watch
	cable.cut()
	cmd.stderr.await(t, "Trying again: list Releases in namespace "+namespace)
	close(gate)
	cable.mend()
	expect(t, cmd.ends(t), codeDone, []string{"a freeze"}, []string{"all are healthy"})
}

// ctrlCLeavesThePin sends the signal to a process of its own.
func ctrlCLeavesThePin(t *testing.T, w *world) {
	namespace := w.release(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "release", "pin", "podinfo", "--wait", "--kubeconfig", w.alice.Kubeconfig, "-n", namespace)
	cmd.Env = append(os.Environ(), asPlugin+"=1")
	stderr := newTranscript()
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.await(t, "convoy has not looked")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code says how it ended
	got := outcome{"", stderr.String(), cmd.ProcessState.ExitCode()}
	expect(t, got, codeWaitEnded, nil, []string{"the wait was interrupted", "The pin stays in place, and convoy goes on. To undo it:"})
	if pin := w.now(t, namespace).Pin; pin == nil || pin.RenderRef != refA {
		t.Errorf("the pin is %+v, want it left in place", pin)
	}
}
