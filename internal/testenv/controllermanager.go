package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/internal/controlplane"
)

const (
	controllerManagerStart = 2 * time.Minute
	controllerManagerStop  = 20 * time.Second
)

// StartControllerManager starts a kube-controller-manager, with all its controllers, until the test ends. It returns when namespaces go away
// and objects without an owner are garbage collected. Kinds that are new to the API server are garbage collected from half a minute on.
func (e *Environment) StartControllerManager(tb testing.TB) {
	tb.Helper()
	exited, log, err := e.runControllerManager(tb)
	if err != nil {
		tb.Fatalf("start kube-controller-manager: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), controllerManagerStart)
	defer cancel()
	go func() {
		<-exited
		cancel()
	}()
	if err := e.awaitControllers(ctx); err != nil {
		tb.Fatalf("wait for kube-controller-manager: %v\nthe end of its log:\n%s", err, controlplane.Tail(log))
	}
}

// runControllerManager starts the process. The channel is closed when it has ended; the path is that of its log.
func (e *Environment) runControllerManager(tb testing.TB) (<-chan struct{}, string, error) {
	binary, err := controlplane.Binary("kube-controller-manager")
	if err != nil {
		return nil, "", err
	}
	rootCA := filepath.Join(e.dir, "ca.crt")
	if err := os.WriteFile(rootCA, e.Config.CAData, 0o600); err != nil {
		return nil, "", err
	}
	log, err := os.CreateTemp(e.dir, "controller-manager-*.log")
	if err != nil {
		return nil, "", err
	}
	defer log.Close() // the process has its own descriptor
	serviceAccountKey := filepath.Join(e.envtest.ControlPlane.APIServer.CertDir, "sa-signer.key")
	cmd := exec.Command(binary, controlplane.ControllerManagerArgs(e.Kubeconfig, serviceAccountKey, rootCA)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		// How it ended is in its log; that it ended is what counts.
		_ = cmd.Wait()
	}()
	guard, err := newGuard(e.dir, []string{strconv.Itoa(cmd.Process.Pid)})
	tb.Cleanup(func() { stopProcess(tb, cmd.Process, exited, guard) })
	return exited, log.Name(), err
}

// stopProcess ends a process, by force where it does not end by itself.
func stopProcess(tb testing.TB, process *os.Process, exited <-chan struct{}, guard *guard) {
	if err := guard.release(); err != nil {
		tb.Errorf("release the guard of process %d: %v", process.Pid, err)
	}
	// Of a process that has ended already there is nothing to stop.
	_ = process.Signal(syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(controllerManagerStop):
		tb.Errorf("process %d did not stop within %s", process.Pid, controllerManagerStop)
		_ = process.Kill()
	}
}

// awaitControllers waits until a dependent goes with its owner, and a namespace with its content.
func (e *Environment) awaitControllers(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "controllers-"}}
	if err := e.Client.Create(ctx, namespace); err != nil {
		return err
	}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "owner"}}
	if err := e.Client.Create(ctx, owner); err != nil {
		return err
	}
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "dependent"}}
	dependent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	if err := e.Client.Create(ctx, dependent); err != nil {
		return err
	}
	for _, step := range []struct{ remove, awaited client.Object }{{owner, dependent}, {namespace, namespace}} {
		if err := e.Client.Delete(ctx, step.remove); err != nil {
			return err
		}
		if err := e.awaitGone(ctx, step.awaited); err != nil {
			return fmt.Errorf("after %s was deleted: %w", step.remove.GetName(), err)
		}
	}
	return nil
}

// awaitGone waits until an object does not exist.
func (e *Environment) awaitGone(ctx context.Context, obj client.Object) error {
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("%s is still there: %w", obj.GetName(), err)
	}
	return nil
}
