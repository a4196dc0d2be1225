package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// openAPI serves schemas as kube-apiserver does.
type openAPI struct {
	mu       sync.Mutex
	hash     string         // of the only document
	content  string         // of it
	requests map[string]int // by path
	hang     chan struct{}  // not nil: the document comes when it is closed
}

const oneKind = `{"openapi":"3.0.0","info":{"title":"","version":""},"components":{"schemas":{"B":{"type":"object",
	"x-kubernetes-group-version-kind":[{"group":"a","version":"v1","kind":"B"}]}}}}`

func (o *openAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.requests[r.URL.Path]++
	hash, content, hang := o.hash, o.content, o.hang
	o.mu.Unlock()
	switch {
	case r.URL.Path == "/openapi/v3":
		fmt.Fprintf(w, `{"paths":{"apis/a/v1":{"serverRelativeURL":"/openapi/v3/apis/a/v1?hash=%s"}}}`, hash)
	case content == "":
		http.Error(w, "no answer", http.StatusInternalServerError)
	default:
		if hang != nil {
			<-hang
		}
		fmt.Fprint(w, content)
	}
}

// counted is how often the index and the document were read.
func (o *openAPI) counted() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprint(o.requests["/openapi/v3"], " ", o.requests["/openapi/v3/apis/a/v1"])
}

func newOpenAPI(t *testing.T) (*openAPI, *schemas) {
	t.Helper()
	served := &openAPI{hash: "1", content: oneKind, requests: map[string]int{}}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return served, newSchemas(discovery.ToDiscoveryInterfaceWithContext(client))
}

var groupA = schema.GroupVersion{Group: "a", Version: "v1"}

func TestASchemaIsLoadedOncePerHash(t *testing.T) {
	served, s := newOpenAPI(t)
	now := time.Now()
	s.now = func() time.Time { return now }
	read := func(want string) {
		t.Helper()
		for range 3 {
			if converter, err := s.converter(t.Context(), groupA); converter == nil || err != nil {
				t.Fatalf("got %v and %v", converter, err)
			}
		}
		if got := served.counted(); got != want {
			t.Errorf("index and document were read %s times, want %s", got, want)
		}
	}
	read("1 1")
	now = now.Add(indexLasts)
	read("2 1")
	served.hash = "2"
	read("2 1")
	now = now.Add(indexLasts)
	read("3 2")
}

func TestAVersionWithoutASchemaHasNone(t *testing.T) {
	_, s := newOpenAPI(t)
	if converter, err := s.converter(t.Context(), schema.GroupVersion{Version: "v1"}); converter != nil || err != nil {
		t.Errorf("got %v and %v, want neither", converter, err)
	}
}

func TestASchemaThatFailsIsAskedForAgain(t *testing.T) {
	served, s := newOpenAPI(t)
	for content, want := range map[string]string{"{": "load the schema of a/v1", "{}": "it has no components"} {
		served.content = content
		if _, err := s.converter(t.Context(), groupA); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	served.content = oneKind
	if converter, err := s.converter(t.Context(), groupA); converter == nil || err != nil {
		t.Errorf("got %v and %v, want the schema", converter, err)
	}
}

func TestASchemaThatHangsHoldsNobodyPastTheDeadline(t *testing.T) {
	served, s := newOpenAPI(t)
	served.hang = make(chan struct{})
	defer close(served.hang)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var g sync.WaitGroup
	for range 2 { // one loads it, one waits for that
		g.Go(func() {
			if _, err := s.converter(ctx, groupA); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the deadline", err)
			}
		})
	}
	g.Wait()
}
