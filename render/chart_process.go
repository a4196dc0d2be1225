package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// chartTemplates runs the templates of a chart. It gets a chartRequest and gives a chartAnswer, in JSON.
var chartTemplates = isolated{name: "chart", time: 30 * time.Second, memory: 512 << 20, serve: serveChart}

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

func serveChart(in io.Reader, out io.Writer) error {
	var request chartRequest
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return err
	}
	var answer chartAnswer
	manifests, err := helmTemplate(request)
	if err != nil {
		answer.Error = err.Error()
	} else {
		answer.Manifests = manifests
	}
	return json.NewEncoder(out).Encode(answer)
}

// templateChart runs the templates of a chart.
func templateChart(ctx context.Context, request chartRequest) ([]chartManifest, error) {
	encoded, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	out := &boundedBuffer{limit: 2 * maxOutput} // encoded, it is a third longer
	err = chartTemplates.run(ctx, func(cmd *exec.Cmd) error {
		out.full = cmd.Cancel
		cmd.Stdin, cmd.Stdout = bytes.NewReader(encoded), out
		if err := cmd.Run(); !out.exceeded {
			return err
		}
		return errOutput
	})
	if err != nil {
		return nil, err
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
	full     func() error
	exceeded bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.limit {
		b.exceeded = true
		return 0, errors.Join(io.ErrShortBuffer, b.full())
	}
	return b.kept.Write(p)
}
