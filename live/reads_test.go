package live_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/live/builtin"
)

// roundTripper is a function that sends a request.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through is the administrator, with something between the client and the server.
func through(t testing.TB, between func(http.RoundTripper) http.RoundTripper) *rest.Config {
	config := rest.CopyConfig(testenv.Shared(t).Config)
	config.Wrap(between)
	return config
}

func TestADiffOnlyReads(t *testing.T) {
	w := newWorld(t)
	w.deploy(manifest(t, widgets))
	w.apply(w.fill(oneContainer)...)
	var mu sync.Mutex
	methods := map[string]int{}
	config := through(t, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			methods[r.Method]++
			return next.RoundTrip(r)
		})
	})
	w.differ = differ(t, config)
	req := w.request(twoContainers + "\n---\n" + widget("v1", "size: large") + "\n---\n" + secret("data: {a: Yg==}"))
	req.Inventory = w.recorded(w.fill(configMap("a: b"))...)
	if changes := w.changes(req); len(changes) != 3 {
		t.Errorf("%d changes, want 3", len(changes))
	}
	if methods[http.MethodGet] == 0 || len(methods) != 1 {
		t.Errorf("requests by method: %v, want nothing but GET", methods)
	}
}

// TestManyNewObjectsAreLookedForTogether has one object that is there already, of nobody: it must not count as new.
func TestManyNewObjectsAreLookedForTogether(t *testing.T) {
	const n = 700 // more than a page
	w := newWorld(t)
	must(t, w.client.Create(t.Context(), w.fill(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c7, namespace: NS}}`)[0]))
	var requests atomic.Int32
	w.differ = differ(t, through(t, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "/configmaps") {
				requests.Add(1)
			}
			return next.RoundTrip(r)
		})
	}))
	var text []string
	for i := range n {
		text = append(text, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {a: b}}", i))
	}
	changes := w.changes(w.request(strings.Join(text, "\n---\n")))
	actions := map[live.ChangeAction]int{}
	for _, change := range changes {
		actions[change.Action]++
	}
	if diff := cmp.Diff(map[live.ChangeAction]int{live.Create: n - 1, live.Update: 1}, actions); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if got := requests.Load(); got > 5 {
		t.Errorf("%d requests for ConfigMaps, want at most 5", got)
	}
}

func TestAReaderWithGetAndListIsEnough(t *testing.T) {
	w := newWorld(t)
	w.deploy(manifest(t, widgets))
	reader := testenv.Shared(t).AddUser(t, "reader-of-"+w.owner.Namespace)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader-of-" + w.owner.Namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}},
	}
	must(t, w.client.Create(t.Context(), role))
	must(t, w.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "reader-of-" + w.owner.Namespace}},
	}))
	w.differ = differ(t, reader.Config)
	if changes := w.changes(w.request(oneContainer + "\n---\n" + widget("v1", ""))); len(changes) != 2 {
		t.Errorf("%d changes, want 2", len(changes))
	}
}

func is(want string) func(string) bool { return func(path string) bool { return path == want } }

func ends(suffix string) func(string) bool {
	return func(path string) bool { return strings.HasSuffix(path, suffix) }
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	base := newWorld(t)
	base.deploy(manifest(t, widgets))
	for name, tc := range map[string]struct {
		broken func(path string) bool // what gets no answer
		want   string
	}{
		"the list of the schemas": {is("/openapi/v3"), "list the server's schemas"},
		"a schema":                {is("/openapi/v3/api/v1"), "load the schema of v1"},
		"a list":                  {ends("/configmaps"), "list its kind"},
		"an object":               {ends("/configmaps/x"), "get ConfigMap"},
		"a namespace": {func(path string) bool {
			return strings.HasPrefix(path, "/api/v1/namespaces/") && strings.Count(path, "/") == 4
		}, "get Namespace"},
		"a definition":     {ends("/widgets.test.convoy.dev"), "get CustomResourceDefinition widgets.test.convoy.dev"},
		"what is recorded": {ends("/secrets/x"), "get Secret"},
		"the kinds":        {is("/apis"), "look up the kind"},
	} {
		t.Run(name, func(t *testing.T) {
			w := base.another(t)
			w.differ = differ(t, through(t, func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if tc.broken(r.URL.Path) {
						return nil, errors.New("no answer")
					}
					return next.RoundTrip(r)
				})
			}))
			req := w.request(configMap("a: b") + "\n---\n" + widget("v1", ""))
			req.Inventory = w.recorded(w.fill(secret("data: {a: Yg==}"))...)
			changes, err := w.differ.Diff(t.Context(), req)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "no answer") || changes != nil {
				t.Errorf("got %d changes and %v, want an error with %q", len(changes), err, tc.want)
			}
		})
	}
}

func TestAnOwnerThatCannotBeLookedUpIsAnError(t *testing.T) {
	w := newWorld(t)
	by("convoy", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {convoy.dev/release-name: other, convoy.dev/release-namespace: NS}}}`)(w)
	w.differ.OwnerName = func(context.Context, string, string) (string, error) { return "", errors.New("no answer") }
	_, err := w.differ.Diff(t.Context(), w.request(configMap("a: b")))
	if err == nil || !strings.Contains(err.Error(), "look up its owner") {
		t.Errorf("got %v, want an error", err)
	}
}

func TestDiffsAtTheSameTimeAreTheSame(t *testing.T) {
	w := newWorld(t)
	w.deploy(manifest(t, widgets))
	w.apply(w.fill(oneContainer)...)
	req := w.request(strings.Join([]string{twoContainers, webService, autoscaler, widget("v1", "set: [a]"), configMap("a: b"), binding}, "\n---\n"))
	results := make([][]live.Change, 4)
	var g sync.WaitGroup
	for i := range results {
		g.Go(func() {
			var err error
			if results[i], err = w.differ.Diff(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	if len(results[0]) != 6 {
		t.Errorf("%d changes, want 6", len(results[0]))
	}
	for _, other := range results[1:] {
		if d := cmp.Diff(results[0], other); d != "" {
			t.Error(d)
		}
	}
}

func TestTheRenderAndTheLiveObjectsStayAsTheyAre(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fill(oneContainer)...)
	req := w.request(twoContainers)
	before := req.Objects[0].DeepCopy()
	change := w.changes(req)["Deployment x"]
	change.Next.SetLabels(nil)
	change.Next.Object["spec"] = nil
	if d := cmp.Diff(before, req.Objects[0]); d != "" {
		t.Error(d)
	}
	if change.Live.Object["spec"] == nil {
		t.Error("live and next share what they hold")
	}
}

// unaware knows no kind of Kubernetes, as if the server were much newer.
type unaware struct{ builtin.Normalizer }

func (unaware) BuiltIn(schema.GroupVersionKind) live.NormalKind { return nil }

func TestAKindThatIsNotKnownIsMergedByItsSchemaAlone(t *testing.T) {
	w := newWorld(t)
	env := testenv.Shared(t)
	server, err := discovery.NewDiscoveryClientForConfig(env.Config)
	must(t, err)
	w.differ = live.NewDiffer(live.DifferOptions{
		Client: w.client, Mapper: w.mapper, Discovery: discovery.ToDiscoveryInterfaceWithContext(server), Normalizer: unaware{},
	})
	w.apply(w.fill(twoContainers)...)
	if changes := w.changes(w.request(twoContainers)); len(changes) != 0 {
		t.Errorf("%v of what was applied", actions(changes))
	}
	change := w.changes(w.request(oneContainer))["Deployment x"]
	if change.Action != live.Update || len(change.Notes) != 1 || !strings.Contains(change.Notes[0], "not known") {
		t.Errorf("got %s %q, want an update and a note", change.Action, change.Notes)
	}
}
