package live_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// BenchmarkDiff predicts what a Release of 5,000 objects would change, 50 of them changed. Beside it, kubectl diff --server-side of the
// same objects in the same run asks the server to try each, eight at once.
func BenchmarkDiff(b *testing.B) {
	const objects, deployments, changed = 5000, 300, 50
	w := newWorld(b)
	render := manyObjects(b, objects, deployments)
	var g errgroup.Group
	g.SetLimit(8)
	for _, obj := range render {
		desired := w.desired(obj)
		g.Go(func() error { _, err := w.serverSideApply(desired); return err })
	}
	must(b, g.Wait())
	for i := range changed {
		render[i].SetAnnotations(map[string]string{"example.com/changed": "yes"})
	}
	kubectl := kubectlDiff(b, w, render, changed)

	debug.FreeOSMemory()
	forgetPeak(b)
	var took time.Duration
	for b.Loop() {
		started := time.Now()
		if got := len(w.diff(render...)); got != changed {
			b.Fatalf("%d changes, want %d", got, changed)
		}
		took = time.Since(started)
	}
	b.ReportMetric(peak(b), "peak-MB")
	b.ReportMetric(kubectl.took.Seconds(), "kubectl-s")
	b.ReportMetric(kubectl.peak, "kubectl-peak-MB")
	b.ReportMetric(kubectl.took.Seconds()/took.Seconds(), "times-faster")
}

// manyObjects are ConfigMaps of 1.3 KB, and some Deployments of two containers.
func manyObjects(b *testing.B, objects, deployments int) []*unstructured.Unstructured {
	b.Helper()
	var render []*unstructured.Unstructured
	for i := range objects {
		text := configMap("a: " + strings.Repeat("b", 1200))
		if i >= objects-deployments {
			text = deployment("", `containers: [{name: main, image: "main:1", env: [{name: A, value: a}], ports: [{containerPort: 80}], resources: {limits: {cpu: 1}}},
				{name: side, image: "side:1", livenessProbe: {httpGet: {port: 80}}}]`)
		}
		obj := manifest(b, text)[0]
		obj.SetName(fmt.Sprintf("x-%d", i))
		render = append(render, obj)
	}
	return render
}

// cost is what a command took.
type cost struct {
	took time.Duration
	peak float64 // MB
}

// kubectlDiff runs kubectl diff, which has to find the changes too.
func kubectlDiff(b *testing.B, w *world, render []*unstructured.Unstructured, changed int) cost {
	b.Helper()
	kubectl, err := controlplane.Binary("kubectl")
	must(b, err)
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, obj := range render {
		list.Items = append(list.Items, *w.desired(obj))
	}
	content, err := json.Marshal(list)
	must(b, err)
	file := filepath.Join(b.TempDir(), "render.json")
	must(b, os.WriteFile(file, content, 0o600))
	var out bytes.Buffer
	cmd := exec.CommandContext(b.Context(), kubectl, "--kubeconfig", testenv.Shared(b).Kubeconfig, "diff", "--server-side", "--force-conflicts",
		"--field-manager", "convoy", "--concurrency", "8", "-f", file)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	started := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		b.Fatalf("kubectl diff: %v", err)
	}
	if found := strings.Count(out.String(), "example.com/changed"); found < changed {
		b.Fatalf("kubectl diff finds %d changes, want %d", found, changed)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{time.Since(started), float64(usage.Maxrss) / 1024}
}

// forgetPeak makes peak count from now on. Only Linux tells.
func forgetPeak(b *testing.B) {
	b.Helper()
	must(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
}

// peak is the most memory that this process had, in MB.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	must(b, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		b.Fatal("the system does not tell the peak of the memory")
	}
	kb, err := strconv.ParseFloat(string(found[1]), 64)
	must(b, err)
	return kb / 1024
}
