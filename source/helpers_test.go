package source

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

const namespace = "team"

// world is a Git server with one repository, a cluster that holds objects, a clock, and a fetcher for them.
type world struct {
	*testing.T
	root    string
	repo    *gitserver.Repository
	server  *gitserver.Server
	cluster *cluster
	clock   *clock
	options Options
	fetcher *Fetcher
}

// newWorld starts it; the repository app.git has one commit, with app.yaml.
func newWorld(t *testing.T, o gitserver.Options, change ...func(*Options)) *world {
	t.Helper()
	w := newWorldWithoutGit(t, change...)
	w.root = t.TempDir()
	w.repo = w.newRepository("app.git")
	w.commit(map[string]string{"app.yaml": "version: 1\n"})
	server, err := gitserver.Start(w.root, o)
	w.must(err)
	w.server = server
	t.Cleanup(func() { w.must(server.Stop()) })
	return w
}

// newWorldWithoutGit is a world for other servers.
func newWorldWithoutGit(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{T: t, cluster: &cluster{}, clock: &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	w.options = Options{Reader: w.cluster, CacheDir: filepath.Join(t.TempDir(), "cache"), Now: w.clock.Now}
	for _, f := range change {
		f(&w.options)
	}
	w.restart()
	return w
}

// restart replaces the fetcher by one of a new process.
func (w *world) restart() {
	w.Helper()
	fetcher, err := NewFetcher(w.options)
	w.must(err)
	w.fetcher = fetcher
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) newRepository(name string) *gitserver.Repository {
	w.Helper()
	repo, err := gitserver.Init(filepath.Join(w.root, name))
	w.must(err)
	return repo
}

func (w *world) commit(files map[string]string) string {
	w.Helper()
	hash, err := w.repo.Commit("change", files)
	w.must(err)
	return hash
}

func (w *world) git(args ...string) string {
	w.Helper()
	out, err := w.repo.Git(args...)
	w.must(err)
	return out
}

// request asks for app.git at a reference.
func (w *world) request(ref v1alpha1.GitRef) Request {
	return gitRequest(w.server.URL("app.git"), ref, "")
}

func gitRequest(url string, ref v1alpha1.GitRef, secret string) Request {
	src := &v1alpha1.GitSource{URL: url, Ref: ref}
	if secret != "" {
		src.SecretRef = &v1alpha1.LocalObjectReference{Name: secret}
	}
	return Request{Namespace: namespace, Source: v1alpha1.Source{Git: src}}
}

// fetch returns an artifact, which the end of the test closes.
func (w *world) fetch(req Request) *Artifact {
	w.Helper()
	a, err := w.fetcher.Fetch(w.Context(), req)
	w.must(err)
	w.Cleanup(a.Close)
	return a
}

// fail wants the error of a request to have all these parts.
func (w *world) fail(req Request, parts ...string) {
	w.Helper()
	_ = w.failure(req, parts...)
}

// failure returns the error of a request, which must have all these parts.
func (w *world) failure(req Request, parts ...string) error {
	w.Helper()
	a, err := w.fetcher.Fetch(w.Context(), req)
	if err == nil {
		a.Close()
		w.Fatalf("no error, and revision %s", a.Revision)
	}
	wantError(w.T, err, parts...)
	return err
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

func (w *world) wantCounts(resolves, downloads int) {
	w.Helper()
	want := gitserver.Counts{Resolves: resolves, Downloads: downloads}
	if diff := cmp.Diff(want, w.server.Counts()); diff != "" {
		w.Errorf("requests (-want +got):\n%s", diff)
	}
}

// cached lists the commits that the cache has on disk.
func (w *world) cached() []string {
	w.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.options.CacheDir, entriesDir, "*", "*"))
	w.must(err)
	commits := []string{}
	for _, dir := range dirs {
		commits = append(commits, filepath.Base(dir))
	}
	return commits
}

// wantFiles compares all regular files, and what symlinks to files lead to.
func wantFiles(t *testing.T, files fs.FS, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		got[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// inBounds fails if f takes more time or memory than what is refused may take.
func inBounds(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("%s, %d MiB allocated over the whole time", took.Round(time.Millisecond), allocated)
	if took > time.Minute || allocated > 512 {
		t.Errorf("took %s and %d MiB", took, allocated)
	}
}

// clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// cluster is the objects that can be read.
type cluster struct {
	client.Reader
	mu      sync.Mutex
	objects []client.Object
	err     error
}

func (c *cluster) set(objects ...client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects = objects
}

// Get implements client.Reader.
func (c *cluster) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(ctx.Err(), c.err); err != nil {
		return err
	}
	for _, obj := range c.objects {
		if client.ObjectKeyFromObject(obj) == key && reflect.TypeOf(obj) == reflect.TypeOf(into) &&
			obj.GetObjectKind().GroupVersionKind() == into.GetObjectKind().GroupVersionKind() {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, key.Name)
}

func secret(name string, data map[string]string) *corev1.Secret {
	obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		obj.Data[key] = []byte(value)
	}
	return obj
}
