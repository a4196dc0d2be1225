package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// breaker counts the requests of the passes over one namespace, and kills the manager at one of them.
type breaker struct {
	mu        sync.Mutex
	namespace string // empty: it lets everything pass
	at        int
	after     bool
	kill      func()
	killed    chan struct{}
	seen      []string
}

// arm kills at a request, before or after it is served. The channel is closed then.
func (b *breaker) arm(namespace string, at int, after bool, kill func()) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.namespace, b.at, b.after, b.kill, b.killed, b.seen = namespace, at, after, kill, make(chan struct{}), nil
	return b.killed
}

// disarm kills no more.
func (b *breaker) disarm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.namespace = ""
}

// requests are those that were counted.
func (b *breaker) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

// see is for a proxy.
func (b *breaker) see(req *http.Request) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	request, ok := b.countable(req)
	if !ok {
		return verdict{}
	}
	b.seen = append(b.seen, request)
	switch {
	case len(b.seen)-1 != b.at:
		return verdict{}
	case b.after:
		return verdict{then: b.fire}
	}
	b.fire()
	return verdict{drop: true}
}

func (b *breaker) fire() {
	b.kill()
	close(b.killed)
}

// countable names a request that is a point of a pass.
func (b *breaker) countable(req *http.Request) (string, bool) {
	_, path, ok := strings.Cut(req.URL.Path, "/namespaces/"+b.namespace+"/")
	isRead := req.Method == http.MethodGet
	betweenHistoryAndCollection := path == "releases/app" && len(b.seen) > 0 && strings.Contains(b.seen[len(b.seen)-1], " inventories")
	switch {
	case b.namespace == "" || !ok || path == "events" || isRead && !betweenHistoryAndCollection:
		return "", false
	case isDryRun(req):
		return "dry run", true
	}
	return req.Method + " " + path, true
}

// isDryRun says that a request changes nothing. A delete says so in its body, which is put back.
func isDryRun(req *http.Request) bool {
	if req.Method != http.MethodDelete {
		return req.URL.Query().Get("dryRun") != ""
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return false // the manager is gone
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var options metav1.DeleteOptions
	return json.Unmarshal(body, &options) == nil && len(options.DryRun) > 0
}
