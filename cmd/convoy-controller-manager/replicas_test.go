package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// traffic notes what a manager asks of the API server about one namespace, except for its lease.
type traffic struct {
	namespace string

	mu       sync.Mutex
	requests int
	writes   int // what is no read: dry runs count
	last     time.Time
}

// see is for a proxy.
func (c *traffic) see(req *http.Request) verdict {
	_, path, ok := strings.Cut(req.URL.Path, "/namespaces/"+c.namespace+"/")
	if !ok || strings.HasPrefix(path, "leases") {
		return verdict{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.last = time.Now()
	if req.Method != http.MethodGet {
		c.writes++
	}
	return verdict{}
}

// counts are the requests and the writes so far, and how long ago the last was.
func (c *traffic) counts() (requests, writes int, quiet time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.writes, time.Since(c.last)
}

// watched starts a manager behind a proxy that notes its traffic about the team's namespace.
func (w *team) watched(args ...string) (*process, *traffic) {
	w.Helper()
	c := &traffic{namespace: w.namespace, last: time.Now()}
	return startManager(w.T, startProxy(w.T, c.see).Kubeconfig, append(args, "--render-store-url="+w.storeURL())...), c
}

// awaitQuiet waits until managers have nothing to do.
func (w *team) awaitQuiet(managers ...*traffic) {
	w.Helper()
	w.eventually("the managers to have nothing to do", func() error {
		for _, c := range managers {
			if _, _, quiet := c.counts(); quiet < 3*time.Second {
				return fmt.Errorf("the last request was %s ago", quiet)
			}
		}
		return nil
	})
}

// holder is who has the lease; empty if nobody.
func (w *team) holder() string {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "controller-manager.convoy.dev"}}
	if err := w.env.Client.Get(w.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func TestAnotherReplicaTakesOverFromOneThatIsKilled(t *testing.T) {
	w := newTeam(t)
	elect := []string{"--leader-elect=true", "--leader-election-namespace=" + w.namespace}
	first, _ := w.watched(elect...)
	w.eventually("a leader", func() error {
		if w.holder() == "" {
			return errors.New("nobody has the lease")
		}
		return nil
	})
	second, idle := w.watched(elect...)
	w.setSource(version1)
	w.create("app", fromSource, hourly)
	w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	w.eventually("the second replica to be ready", func() error {
		if code, text := second.get(second.probesURL + "/readyz"); code != http.StatusOK {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
	if _, writes, _ := idle.counts(); writes > 0 {
		t.Errorf("the replica that is not the leader sent %d writes", writes)
	}

	leader := w.holder()
	first.kill()
	w.setSource(version2)
	w.awaitValue("added", "two")
	w.awaitHistory("app", 2)
	if w.holder() == leader {
		t.Errorf("%s was killed and has the lease", leader)
	}
	first.logged()
	second.logged()
}

func TestItGoesInGoodOrderWhenItIsAskedTo(t *testing.T) {
	w := newTeam(t)
	w.setSource(version1)
	p, traffic := w.watched("--leader-elect=true", "--leader-election-namespace="+w.namespace)
	w.create("app", fromSource, hourly)
	w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	w.awaitWatched("kept", "one")
	w.awaitQuiet(traffic)
	if code := p.terminate(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if holder := w.holder(); holder != "" {
		t.Errorf("the lease is still held, by %s", holder)
	}
	p.wantNoErrors()
}

func TestItGoesAlsoInTheMiddleOfAPass(t *testing.T) {
	w := newTeam(t)
	w.setSource(version1)
	reached, release := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	c := &traffic{namespace: w.namespace, last: time.Now()}
	proxy := startProxy(t, func(req *http.Request) verdict {
		if strings.HasSuffix(req.URL.Path, "/configmaps/added") && req.Method == http.MethodPatch && req.URL.Query().Get("dryRun") == "" {
			reach()
			<-release
		}
		return c.see(req)
	})
	t.Cleanup(func() { close(release) })
	p := startManager(t, proxy.Kubeconfig, "--render-store-url="+w.storeURL())
	w.create("app", fromSource, hourly, keepOne)
	w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	w.awaitQuiet(c)
	before := w.get("app").Status
	w.setSource(version2)
	<-reached
	if code := p.terminate(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p.wantNoErrors()
	if diff := cmp.Diff(before, w.get("app").Status); diff != "" {
		t.Errorf("it reports a pass that it broke off (-before +after):\n%s", diff)
	}
	startManager(t, w.env.Kubeconfig, "--render-store-url="+w.storeURL())
	want := w.awaitEnd([]map[string]string{version1, version2}, map[string]string{"kept": "two", "added": "two"})
	if diff := cmp.Diff(want, w.end()); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
}

func TestTwoAtOnceWithoutALeaderDoTheSame(t *testing.T) {
	w := newTeam(t)
	_, first := w.watched()
	_, second := w.watched()
	w.setSource(version1)
	w.create("app", fromSource, hourly, keepOne)
	want := w.awaitEnd([]map[string]string{version1}, map[string]string{"kept": "one", "gone": "one"})
	w.awaitQuiet(first, second)
	if diff := cmp.Diff(want, w.end()); diff != "" {
		t.Errorf("after the first version (-want +got):\n%s", diff)
	}

	w.setSource(version2)
	want = w.awaitEnd([]map[string]string{version1, version2}, map[string]string{"kept": "two", "added": "two"})
	w.awaitQuiet(first, second)
	if diff := cmp.Diff(want, w.end()); diff != "" {
		t.Errorf("after the second version (-want +got):\n%s", diff)
	}

	w.must(w.env.Client.Delete(t.Context(), w.get("app")))
	w.awaitReleaseGone("app")
	w.awaitQuiet(first, second)
	if diff := cmp.Diff(end{Owned: map[string]string{}}, w.end()); diff != "" {
		t.Errorf("after the deletion (-want +got):\n%s", diff)
	}
	for _, c := range []*traffic{first, second} {
		requests, _, _ := c.counts()
		if requests > 300 { // about 60 are usual
			t.Errorf("a manager sent %d requests: they undo each other's work", requests)
		}
	}
}
