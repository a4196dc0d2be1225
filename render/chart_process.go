package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// Templates of a chart are programs: they may loop for ever, or fill the memory. text/template cannot be stopped from outside, so they
// run in a process of their own, which can. It is this program once more, with this variable in its environment and nothing else.
const chartProcess = "CONVOY_CHART_PROCESS"

const (
	// chartTime is how long the templates of a chart may take.
	chartTime = 30 * time.Second

	// chartMemory is the most bytes of memory that they may take.
	chartMemory = 512 << 20

	// maxChartOutput is the most bytes that they may make. It is more than a render may have, as its encoding is shorter.
	maxChartOutput = MaxBytes / 2 * 3
)

// chartGate lets as many charts be templated at once as there are processors, so that their memory is bounded together.
var chartGate = semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))

// namedText is a file or values with a name.
type namedText struct {
	Name string `json:"name"`
	Text []byte `json:"text"`
}

// chartRequest is what the process gets.
type chartRequest struct {
	Files        []namedText  `json:"files"`  // of the chart, by path in it
	Values       []namedText  `json:"values"` // later ones win
	Name         string       `json:"name"`
	Namespace    string       `json:"namespace"`
	Capabilities Capabilities `json:"capabilities"`
	SkipCRDs     bool         `json:"skipCRDs"`
}

// chartAnswer is what the process gives.
type chartAnswer struct {
	Manifests []chartManifest `json:"manifests"`
	Error     string          `json:"error"`
}

func init() {
	if os.Getenv(chartProcess) != "" {
		os.Exit(serveChart(os.Stdin, os.Stdout))
	}
}

// serveChart is what the process does.
func serveChart(in io.Reader, out io.Writer) int {
	if err := limitMemory(chartMemory); err != nil {
		return 1
	}
	var request chartRequest
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return 1
	}
	var answer chartAnswer
	manifests, err := helmTemplate(request)
	if err != nil {
		answer.Error = err.Error()
	} else {
		answer.Manifests = manifests
	}
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		return 1
	}
	return 0
}

// templateChart runs the templates of a chart in a process of their own.
func templateChart(ctx context.Context, request chartRequest) ([]chartManifest, error) {
	encoded, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if err := chartGate.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait to run its templates: %w", err)
	}
	defer chartGate.Release(1)
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: find the program to run them with: %w", ErrUnfinished, err)
	}
	bounded, cancel := context.WithTimeout(ctx, chartTime)
	defer cancel()
	cmd := exec.CommandContext(bounded, program)
	cmd.Env = []string{chartProcess + "=1"}
	cmd.Stdin = bytes.NewReader(encoded)
	out := &boundedBuffer{limit: 2 * maxChartOutput, full: cancel} // encoded, it is a third longer
	cmd.Stdout = out
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.exceeded:
		return nil, errChartOutput
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%w within %s", ErrUnfinished, chartTime)
	case err != nil:
		return nil, fmt.Errorf("%w within %d MiB of memory: %w", ErrUnfinished, chartMemory>>20, err)
	}
	var answer chartAnswer
	if err := json.Unmarshal(out.kept.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("read what its templates made: %w", err)
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Manifests, nil
}

// boundedBuffer keeps what is written up to a limit, and calls full at the end of it.
type boundedBuffer struct {
	kept     bytes.Buffer
	limit    int
	full     func()
	exceeded bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.limit {
		b.exceeded = true
		b.full()
		return 0, io.ErrShortBuffer
	}
	return b.kept.Write(p)
}
