package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/semaphore"
)

// Templates and kustomizations are programs: they may loop for ever, or fill the memory. Helm and kustomize cannot be stopped from outside, so
// they run in a process of their own, which can. It is this program once more, with this variable in its environment and nothing else. Its
// value names the work.
const processVariable = "CONVOY_RENDER_PROCESS"

// isolated is what runs in a process of its own, within these limits.
type isolated struct {
	name   string
	time   time.Duration
	memory uint64 // bytes
	serve  func(in io.Reader, out io.Writer) error
}

// maxOutput is the most bytes that it may make. It is more than a render may have, as its encoding is shorter.
const maxOutput = MaxBytes / 2 * 3

const (
	// processSlots is how many of them run at once, so that their memory is bounded together.
	processSlots = 2

	// maxProcessMemory is the most bytes of memory that one of them takes.
	maxProcessMemory = 1 << 30

	// ProcessMemory is the most bytes of memory that the processes take together, beside that of the program that starts them. A pod that has
	// less is killed with all its processes.
	ProcessMemory = processSlots * maxProcessMemory
)

var processGate = semaphore.NewWeighted(processSlots)

func init() {
	for _, work := range []isolated{chartTemplates, kustomizeBuild} {
		if os.Getenv(processVariable) == work.name {
			os.Exit(work.main())
		}
	}
}

// main is what the process does.
func (w isolated) main() int {
	if err := limitMemory(w.memory); err != nil {
		return 1
	}
	if err := w.serve(os.Stdin, os.Stdout); err != nil {
		return 1
	}
	return 0
}

// run runs the work. talk starts the command, exchanges with it what is to be exchanged, and waits for it. The error is ErrUnfinished if it
// did not end within its limits, or could not be run at all; errOutput is passed on.
func (w isolated) run(ctx context.Context, talk func(*exec.Cmd) error) error {
	if err := processGate.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait to run it: %w", err)
	}
	defer processGate.Release(1)
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: find the program to run it with: %w", ErrUnfinished, err)
	}
	bounded, cancel := context.WithTimeout(ctx, w.time)
	defer cancel()
	cmd := exec.CommandContext(bounded, program)
	cmd.Env = []string{processVariable + "=" + w.name}
	err = talk(cmd)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.Is(err, errOutput):
		return err
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w within %s", ErrUnfinished, w.time)
	default:
		return fmt.Errorf("%w within %d MiB of memory: %w", ErrUnfinished, w.memory>>20, err)
	}
}
