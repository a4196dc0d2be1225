package gitserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Options are how a Server listens and whom it serves.
type Options struct {
	// Address is where it listens. Default 127.0.0.1 and a free port.
	Address string

	// TLS makes it serve https. Default: http.
	TLS *tls.Config

	// Username and Password, or BearerToken, must be sent with every request. Default: everybody is served.
	Username, Password string
	BearerToken        string
}

// Server serves the bare repositories of a folder. It can be broken, stopped and started again, and counts what it is asked.
type Server struct {
	root    string
	options Options
	scheme  string
	address string
	git     http.Handler

	mu     sync.Mutex
	http   *http.Server // nil while stopped
	broken http.Handler
	counts Counts
}

// Counts are the requests that a Server got since it was made, answered or not.
type Counts struct {
	Resolves  int // for the list of references
	Downloads int // for objects
}

// Start serves the repositories in the folder root.
func Start(root string, o Options) (*Server, error) {
	s := &Server{root: root, options: o, scheme: "http", address: o.Address, git: authenticate(o, Handler(root))}
	if o.TLS != nil {
		s.scheme = "https"
	}
	if s.address == "" {
		s.address = "127.0.0.1:0"
	}
	return s, s.Resume()
}

// URL is the address of a repository, by its path in the root folder. It stays the same for the life of the Server.
func (s *Server) URL(repository string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scheme + "://" + s.address + "/" + repository
}

// Counts returns how often the Server was asked so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Break makes h answer every request in Git's place, until Break(nil).
func (s *Server) Break(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = h
}

// Stop cuts all connections and takes no new ones.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return nil
	}
	server := s.http
	s.http = nil
	return server.Close()
}

// Resume starts the Server again after Stop, at the same address.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return errors.New("the Git server runs already")
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	if s.options.TLS != nil {
		listener = tls.NewListener(listener, s.options.TLS)
	}
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	go s.http.Serve(listener) //nolint:errcheck // it ends with Stop
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	switch {
	case strings.HasSuffix(req.URL.Path, "/info/refs"):
		s.counts.Resolves++
	case strings.HasSuffix(req.URL.Path, "/git-upload-pack"):
		s.counts.Downloads++
	}
	handler := s.git
	if s.broken != nil {
		handler = s.broken
	}
	s.mu.Unlock()
	handler.ServeHTTP(w, req)
}
