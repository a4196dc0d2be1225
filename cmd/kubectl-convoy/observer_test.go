package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/observer"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

// stored is a Release in a namespace of its own, and its renders: the cluster is as current says, and older was applied a day before that.
// gone is in the history, and the store does not have it any more.
type stored struct {
	namespace            string
	older, current, gone string
}

const (
	olderPassword   = "correct horse battery staple"
	currentPassword = "tr0ub4dor&3 tr0ub4dor&3"
)

// The objects of the renders. The source is a ConfigMap that renders what current has.
func olderObjects() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		object("ConfigMap", "podinfo", map[string]any{"data": map[string]any{"color": "blue"}}),
		object("ConfigMap", "only-older", map[string]any{"data": map[string]any{"color": "grey"}}),
		object("Secret", "podinfo", map[string]any{"stringData": map[string]any{"password": olderPassword, "user": "podinfo-user"}}),
	}
}

func currentObjects() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		object("ConfigMap", "podinfo", map[string]any{"data": map[string]any{"color": "red"}}),
		object("ConfigMap", "only-current", map[string]any{"data": map[string]any{"color": "white"}}),
		object("Secret", "podinfo", map[string]any{"stringData": map[string]any{"password": currentPassword, "user": "podinfo-user"}}),
	}
}

func object(kind, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: maps.Clone(content)}
	o.SetAPIVersion("v1")
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// stored makes a Release, with a store that convoy-observer reads from now on.
func (w *world) stored(t *testing.T) stored {
	t.Helper()
	s := stored{namespace: w.Namespace(t)}
	dir := t.TempDir()
	store, err := renderstore.Open(t.Context(), "file://"+dir+"?no_tmp_dir=true")
	if err != nil {
		t.Fatal(err)
	}
	w.observer.Use(func(o *observer.Options) { o.Store = store })
	t.Cleanup(func() {
		w.observer.Use(func(*observer.Options) {})
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	archive := store.Archive(s.namespace, "podinfo")
	keep := func(at time.Time, objects ...*unstructured.Unstructured) string {
		t.Helper()
		r, err := render.New(objects)
		if err != nil {
			t.Fatal(err)
		}
		record := renderstore.Record{Ref: r.Ref(), SyncedAt: at, Summary: "ConfigMap/files@sha256:" + r.Ref().Short()}
		if err := archive.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		return r.Ref().String()
	}
	s.gone = keep(noon.Add(-48*time.Hour), object("ConfigMap", "gone", nil))
	if err := os.Remove(filepath.Join(dir, s.namespace, "podinfo", "blobs", s.gone)); err != nil {
		t.Fatal(err)
	}
	s.older = keep(noon.Add(-24*time.Hour), olderObjects()...)
	s.current = keep(noon, currentObjects()...)
	w.applied(t, s)
	return s
}

// applied makes the cluster what it is after the current render was applied.
func (w *world) applied(t *testing.T, s stored) {
	t.Helper()
	files := &unstructured.UnstructuredList{}
	files.SetAPIVersion("v1")
	files.SetKind("List")
	for _, o := range currentObjects() {
		files.Items = append(files.Items, *o)
	}
	text, err := files.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	source := object("ConfigMap", "files", map[string]any{"data": map[string]any{"all.yaml": string(text)}})
	source.SetNamespace(s.namespace)
	if err := w.Client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	r := named("podinfo")
	r.Spec.Source = v1alpha1.Source{From: &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}}
	r.Status.LastSuccessful, r.Status.LastAttempted, r.Status.LastHealthy = record(s.current, "", 0), record(s.current, "", 0), nil
	r = create(t, w.Environment, s.namespace, r)
	inventory := &v1alpha1.Inventory{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: "podinfo", Labels: v1alpha1.OwnerLabels(s.namespace, r.Name),
	}}
	for _, o := range currentObjects() {
		desired, err := live.Desired(live.Owner{Namespace: s.namespace, Name: r.Name, UID: r.UID}, o, true)
		if err != nil {
			t.Fatal(err)
		}
		err = w.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(desired), client.FieldOwner(v1alpha1.FieldManager))
		if err != nil {
			t.Fatal(err)
		}
		inventory.Entries = append(inventory.Entries, v1alpha1.InventoryEntry{Version: "v1", Kind: o.GetKind(), Namespace: s.namespace, Name: o.GetName()})
	}
	if err := w.Client.Create(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
}

// readable replaces the refs and the namespace by names.
func (s stored) readable(text string) string {
	return strings.NewReplacer(s.older, "OLDER", s.current, "CURRENT", s.gone, "GONE",
		short(s.older), "older-render", short(s.current), "currentrendr", short(s.gone), "gone--render", s.namespace, "NAMESPACE").Replace(text)
}

func historyIsThatOfTheStore(t *testing.T, w *world) {
	s := w.stored(t)
	got := as(t.Context(), w.vera, s.namespace, "release history podinfo")
	want := `RENDER         SYNCED AT              SUMMARY                               MARKS
currentrendr   2026-11-29T12:00:00Z   ConfigMap/files@sha256:currentrendr   current
older-render   2026-11-28T12:00:00Z   ConfigMap/files@sha256:older-render   <none>
gone--render   2026-11-27T12:00:00Z   ConfigMap/files@sha256:gone--render   gone
`
	if diff := cmp.Diff(outcome{want, "", codeDone}, outcome{s.readable(got.stdout), got.stderr, got.code}, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = as(t.Context(), w.vera, s.namespace, "release history podinfo -o name --limit 1")
	expect(t, got, codeDone, []string{s.current + "\n"}, []string{"2 older entries are not shown"})
	var history subresources.ReleaseHistory
	got = as(t.Context(), w.vera, s.namespace, "release history podinfo -o json")
	if err := json.Unmarshal([]byte(got.stdout), &history); err != nil || len(history.Items) != 3 || history.Items[2].Size != nil || *history.Items[0].Size == 0 {
		t.Errorf("-o json: error %v, %+v", err, history)
	}
}

func diffPreviewsARollback(t *testing.T, w *world) {
	s := w.stored(t)
	got := as(t.Context(), w.vera, s.namespace, "release diff podinfo --render "+short(s.older))
	got.stdout = s.readable(got.stdout)
	expect(t, got, codeDiffers, []string{
		"from currentrendr (current) to older-render (stored ConfigMap/files@sha256:older-render)\n",
		"\ndelete ConfigMap NAMESPACE/only-current\n", "\ncreate ConfigMap NAMESPACE/only-older\n",
		"\nupdate ConfigMap NAMESPACE/podinfo\n", "\n-  color: red\n+  color: blue\n",
		"\nupdate Secret NAMESPACE/podinfo\n", "\n-  password: '***'\n+  password: '*** (changed)'\n", "\n   user: '***'\n",
		"\n1 to create, 2 to update, 1 to delete\n",
	}, nil)
	cmd := kubectlCommand(t, w.vera, "convoy", "release", "diff", "podinfo", "--render", s.older, "-n", s.namespace)
	if _, err := cmd.Output(); cmd.ProcessState.ExitCode() != codeDiffers {
		t.Errorf("kubectl ends with %v, want code %d", err, codeDiffers)
	}
	expect(t, as(t.Context(), w.vera, s.namespace, "release diff podinfo --render "+s.current), codeDone, []string{"Nothing would change\n"}, nil)
	got = as(t.Context(), w.vera, s.namespace, "release diff podinfo")
	expect(t, got, codeDone, []string{"(source ConfigMap/files@sha256:", "Nothing would change\n"}, nil)
}

func noValueOfASecretIsPrinted(t *testing.T, w *world) {
	s := w.stored(t)
	for _, line := range []string{
		"release diff podinfo --render " + s.older, "release show podinfo --render " + s.older, "release show podinfo",
	} {
		for _, format := range []string{"", " -o json", " -o yaml", " -o kyaml"} {
			got := as(t.Context(), w.vera, s.namespace, line+format)
			if !strings.Contains(got.stdout, "***") {
				t.Errorf("%s%s: nothing is masked in %+v", line, format, got)
			}
			for _, value := range []string{
				olderPassword, currentPassword, "podinfo-user", // and in base64
				"Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ", "dHIwdWI0ZG9yJjMgdHIwdWI0ZG9yJjM", "cG9kaW5mby11c2Vy",
			} {
				if strings.Contains(got.stdout+got.stderr, value) {
					t.Errorf("%s%s: %q is in\n%s%s", line, format, value, got.stdout, got.stderr)
				}
			}
		}
	}
}

func showPrintsAStoredRender(t *testing.T, w *world) {
	s := w.stored(t)
	got := as(t.Context(), w.vera, s.namespace, "release show podinfo --render "+short(s.older))
	expect(t, got, codeDone, []string{"# render " + s.older, "do not apply this", "color: blue", "name: only-older"}, nil)
	got = as(t.Context(), w.vera, s.namespace, "release show podinfo -o name")
	expect(t, got, codeDone, []string{"configmap/only-current\nconfigmap/podinfo\nsecret/podinfo\n"}, nil)
}

func whatTheObserverRefusesIsTold(t *testing.T, w *world) {
	s := w.stored(t)
	unknown := "sha256:" + strings.Repeat("0", 64)
	for line, want := range map[string][]string{
		"release diff podinfo --render " + unknown: {"get the diff of Release podinfo in namespace " + s.namespace, "kubectl convoy release history"},
		"release show podinfo --render " + s.gone:  {"get the render of Release podinfo in namespace " + s.namespace, "kubectl convoy release history"},
		"release diff podinfo --render 00000000":   {"it knows these:", s.current, s.older, s.gone},
		"release history nope":                     {"There is no Release nope in namespace " + s.namespace},
		"release diff nope":                        {"There is no Release nope in namespace " + s.namespace},
		"release show nope":                        {"There is no Release nope in namespace " + s.namespace},
	} {
		got := as(t.Context(), w.vera, s.namespace, line)
		code := codeError
		if strings.Contains(line, "diff") {
			code = codeTrouble
		}
		expect(t, got, code, nil, want)
	}
}

func whoMayNotLookIsToldWhatToAskFor(t *testing.T, w *world) {
	s := w.stored(t)
	for line, subresource := range map[string]string{
		"release history podinfo": "history", "release diff podinfo": "diff", "release show podinfo --render " + s.older: "render",
	} {
		got := as(t.Context(), w.paul, s.namespace, line)
		if want := "You need the verb get on releases/" + subresource + " of subresources.convoy.dev in namespace " + s.namespace +
			". The ClusterRole convoy-view grants it."; !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%s: got %+v, want %q", line, got, want)
		}
	}
}

func withoutAStoreThereIsADiffOfTheSource(t *testing.T, w *world) {
	s := w.stored(t)
	w.observer.Use(func(*observer.Options) {})
	for line, code := range map[string]int{
		"release history podinfo":                  codeError,
		"release diff podinfo --render " + s.older: codeTrouble,
		"release show podinfo --render " + s.older: codeError,
	} {
		got := as(t.Context(), w.vera, s.namespace, line)
		expect(t, got, code, nil, []string{"--render-store-url"})
		if strings.Contains(got.stderr, "is not reachable") {
			t.Errorf("%s: convoy-apiserver is blamed:\n%s", line, got.stderr)
		}
	}
	expect(t, as(t.Context(), w.vera, s.namespace, "release diff podinfo"), codeDone, []string{"Nothing would change"}, nil)
}

func pinTakesARenderOfTheHistory(t *testing.T, w *world) {
	s := w.stored(t)
	got := as(t.Context(), w.alice, s.namespace, "release pin podinfo --dry-run=server --render-ref "+short(s.older))
	expect(t, got, codeDone, []string{"would be pinned on render " + short(s.older) + ", a rollback",
		"To see what that changes: kubectl convoy release diff podinfo --render " + short(s.older) + " -n " + s.namespace}, nil)
	got = as(t.Context(), w.alice, s.namespace, "release pin podinfo --render-ref "+s.gone)
	expect(t, got, codeError, nil, []string{"The render store does not have render " + short(s.gone) + " of Release podinfo any more.", "add --yes"})
	unknown := strings.Repeat("0", 64)
	got = as(t.Context(), w.alice, s.namespace, "release pin podinfo --render-ref "+unknown)
	expect(t, got, codeError, nil, []string{"Neither the status nor the history of Release podinfo names render 000000000000.", "add --yes"})
	if pin := w.now(t, s.namespace).Pin; pin != nil {
		t.Fatalf("it was pinned without an answer: %+v", pin)
	}
	expect(t, as(t.Context(), w.alice, s.namespace, "release pin podinfo --render-ref "+s.older), codeDone, []string{"a rollback"}, nil)
	if pin := w.now(t, s.namespace).Pin; pin == nil || pin.RenderRef != s.older {
		t.Errorf("the pin is %+v, want %s", pin, s.older)
	}
	got = as(t.Context(), w.vera, s.namespace, "release diff podinfo")
	expect(t, got, codeDiffers, []string{"to " + short(s.older) + " (pinned ConfigMap/files@sha256:" + short(s.older) + ")"}, nil)
}

func rendersAreCompletedFromTheHistory(t *testing.T, w *world) {
	s := w.stored(t)
	for _, command := range []string{"diff podinfo --render", "show podinfo --render", "pin podinfo --render-ref"} {
		got := completed(t.Context(), w.vera, s.namespace, "release "+command, "sha")
		want := []string{
			s.current + "\tcurrent ConfigMap/files@sha256:" + short(s.current),
			s.older + "\tConfigMap/files@sha256:" + short(s.older),
			s.gone + "\tgone ConfigMap/files@sha256:" + short(s.gone),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
	if got := completed(t.Context(), w.vera, s.namespace, "release diff podinfo --render", s.older[:20]); len(got) != 1 {
		t.Errorf("the beginning of one completes to %q", got)
	}
	got := completed(t.Context(), w.vera, s.namespace, "release diff podinfo --render", short(s.older))
	if want := strings.TrimPrefix(s.older, refScheme) + "\tConfigMap/files@sha256:" + short(s.older); len(got) != 1 || got[0] != want {
		t.Errorf("digits complete to %q, want %q", got, want)
	}
	w.observer.Use(func(*observer.Options) {})
	if diff := cmp.Diff([]string{s.current}, completed(t.Context(), w.vera, s.namespace, "release diff podinfo --render", "")); diff != "" {
		t.Errorf("without a store (-want +got):\n%s", diff)
	}
}

// completed are the completions of a word.
func completed(ctx context.Context, user testenv.User, namespace, line, word string) []string {
	fields := strings.Fields(line)
	at := len(fields) - 1 // the flag that is completed is the last
	args := slices.Concat([]string{"__complete"}, fields[:at], []string{"--kubeconfig", user.Kubeconfig, "-n", namespace}, fields[at:], []string{word})
	var words []string
	for line := range strings.Lines(execute(ctx, args...).stdout) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, ":") {
			words = append(words, line)
		}
	}
	return words
}

func aStoreInMemoryHasNoHistory(t *testing.T, w *world) {
	s := w.stored(t)
	store, err := renderstore.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	w.observer.Use(func(o *observer.Options) { o.Store, o.OwnStore = store, true })
	got := as(t.Context(), w.vera, s.namespace, "release history podinfo")
	expect(t, got, codeDone, nil, []string{"Warning: ", "with mem:// each process has a render store of its own", "The history of Release podinfo"})
}

func theObserverMayBeDown(t *testing.T, w *world) {
	s := w.stored(t)
	w.observer.Use(func(o *observer.Options) { o.ClientName = "somebody-else" })
	got := as(t.Context(), w.vera, s.namespace, "release history podinfo")
	expect(t, got, codeError, nil, []string{"get the history of Release podinfo in namespace " + s.namespace, "convoy-observer at", "cannot be asked"})
	// A pin does not need it.
	expect(t, as(t.Context(), w.alice, s.namespace, "release pin podinfo --render-ref "+short(s.current)), codeDone, []string{"a freeze"}, nil)
	got = as(t.Context(), w.alice, s.namespace, "release pin podinfo --render-ref "+s.older)
	expect(t, got, codeError, nil, []string{"convoy cannot see from here whether the store has this render", "cannot be asked", "add --yes"})
	expect(t, as(t.Context(), w.alice, s.namespace, "release pin podinfo --yes --render-ref "+s.older), codeDone, []string{"a rollback"}, []string{"This replaces a pin"})
}
