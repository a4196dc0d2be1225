package observer

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/inputs"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/source"
)

const (
	// requestDeadline is how long the answer to a request may take. It is below that of convoy-apiserver, so that the one who knows why
	// says it.
	requestDeadline = 50 * time.Second

	// diffsAtOnce is how many diffs and renders are worked on at once: each may hold a render of 32 MiB, decoded.
	diffsAtOnce = 4

	// historiesAtOnce is how many histories are read at once.
	historiesAtOnce = 32
)

// Options are what a Server answers from.
type Options struct {
	// Reader reads Releases and their Inventories, live. Required.
	Reader client.Reader

	// Store is the render store; one that is disabled serves diffs against the source alone. Required.
	Store *renderstore.Store

	// OwnStore says that the store belongs to this process alone, as mem:// does, so that no render ever gets into it.
	OwnStore bool

	// Fetcher gets the files of a source. Required.
	Fetcher Fetcher

	// Inputs reads what a render needs beside the files. Required.
	Inputs *inputs.Reader

	// Differ predicts what an apply would do. Required.
	Differ Differ

	// DefaultServiceAccount is the ServiceAccount of Releases that name none; empty: they are deployed with convoy's own rights.
	DefaultServiceAccount string

	// ClientName is the common name of the one client whose certificate gets in. Required.
	ClientName string

	// Metrics count the requests. Required.
	Metrics *Metrics

	// Log says who asked for what.
	Log logr.Logger
}

// Fetcher gets the files of a source; see source.Fetcher.
type Fetcher interface {
	Fetch(ctx context.Context, req source.Request) (*source.Artifact, error)
}

// Server answers requests about Releases.
type Server struct{ Options }

// New makes a server.
func New(o Options) *Server { return &Server{o} }

// Handler serves the subresources, under the paths that they have in the API.
func (s *Server) Handler() http.Handler {
	diffs, histories := make(slots, diffsAtOnce), make(slots, historiesAtOnce)
	mux := http.NewServeMux()
	for _, e := range []endpoint{
		{"history", histories, s.history},
		{"diff", diffs, s.diff},
		{"render", diffs, s.render},
	} {
		mux.Handle("GET "+pathPrefix+"/namespaces/{namespace}/releases/{name}/"+e.name, s.serve(e))
	}
	mux.Handle("/", s.serve(endpoint{name: "unknown", slots: histories, answer: nil}))
	return s.onlyClient(mux)
}

var pathPrefix = "/apis/" + subresources.GroupVersion.String()

// endpoint is what is served under one name.
type endpoint struct {
	name   string
	slots  slots // for the requests that are worked on at once
	answer func(context.Context, request) (runtime.Object, error)
}

// request is a question about a Release.
type request struct {
	release *v1alpha1.Release // as it is now
	archive *renderstore.Archive
	query   url.Values
	warn    func(string) // tells the user something beside the answer
}

// owner is for whom the objects of the Release are deployed.
func (r request) owner() live.Owner {
	return live.Owner{Namespace: r.release.Namespace, Name: r.release.Name, UID: r.release.UID}
}

// slots limit how many requests are worked on at once.
type slots chan struct{}

// take takes a slot, unless all are taken.
func (s slots) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) giveBack() { <-s }
