package inputs

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// capabilitiesAge is how old what is known of the target may be. A definition that comes or goes is seen by charts after that.
const capabilitiesAge = time.Minute

// requestTimeout is the deadline of one question to the target.
const requestTimeout = 30 * time.Second

// Reader reads the inputs of renders. It is safe for concurrent use.
type Reader struct {
	objects client.Reader
	server  discovery.DiscoveryInterfaceWithContext // nil where the capabilities are given

	mu           sync.Mutex
	capabilities render.Capabilities
	seen         time.Time
}

// New makes a reader of a cluster. objects reads ConfigMaps and Secrets.
func New(config *rest.Config, objects client.Reader) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Reader{objects: objects, server: server}, nil
}

// Given makes a reader that asks no server what the target can do, since that is given. Of what is not given, charts see Helm's defaults.
func Given(capabilities render.Capabilities, objects client.Reader) *Reader {
	return &Reader{objects: objects, capabilities: capabilities}
}

// Read returns the inputs for a Release whose source has these files. The error names the field and the object, and never holds a value.
func (r *Reader) Read(ctx context.Context, release *v1alpha1.Release, files fs.FS) (render.Inputs, error) {
	in := render.Inputs{Namespace: release.Namespace, Name: release.Name}
	var err error
	if in.Variables, err = r.variables(ctx, release); err != nil {
		return in, err
	}
	if chart, err := render.IsChart(files, release.Spec.Source.Path(), release.Spec.Render); err != nil || !chart {
		return in, nil //nolint:nilerr // the render says what is wrong with the files
	}
	if in.Values, err = r.values(ctx, release); err != nil {
		return in, err
	}
	in.Capabilities, err = r.target(ctx)
	return in, err
}

// target is what the target can do. While a part of it does not answer, it is what it was: a chart would take the kinds for missing, and
// all charts would fail for one aggregated API that is down.
func (r *Reader) target(ctx context.Context) (render.Capabilities, error) {
	if r.server == nil {
		return r.capabilities, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.seen) < capabilitiesAge {
		return r.capabilities, nil
	}
	capabilities, err := live.Capabilities(ctx, r.server)
	if err != nil && !r.seen.IsZero() {
		// What was seen last is better than nothing at all.
		return r.capabilities, nil
	}
	if err != nil {
		return render.Capabilities{}, fmt.Errorf("ask the cluster what it serves: %w", err)
	}
	r.capabilities, r.seen = capabilities, time.Now()
	return capabilities, nil
}
