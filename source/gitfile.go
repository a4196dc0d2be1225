package source

import (
	"context"
	"net/url"
	"os/exec"
	"sync"
	"time"
)

// killDelay is how long the output of a killed program is waited for.
const killDelay = 5 * time.Second

// dialFile starts the git-upload-pack of the machine on a local repository.
func (d dialer) dialFile(ctx context.Context, u *url.URL) (conversation, error) {
	program := exec.CommandContext(context.WithoutCancel(ctx), "git", "upload-pack", "--", u.Path) // it outlives this call
	talk := &pipe{limits: d.limits, stderr: &head{max: maxMessage}}
	program.Stderr, program.WaitDelay = talk.stderr, killDelay
	var err error
	if talk.stdin, err = program.StdinPipe(); err != nil {
		return nil, err
	}
	if talk.stdout, err = program.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := program.Start(); err != nil {
		return nil, err
	}
	talk.wait = sync.OnceValue(program.Wait)
	talk.abort = func() error {
		_ = program.Process.Kill() // it may have ended
		_ = talk.wait()            // killed, as intended
		return nil
	}
	return talk, nil
}
