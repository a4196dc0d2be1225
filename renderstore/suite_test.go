package renderstore_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
)

// drivers are what the suite runs over: each returns the URL of an empty store.
var drivers = map[string]func(t testing.TB) string{
	"mem":  func(testing.TB) string { return "mem://" },
	"file": fileURL,
	"s3":   s3URL,
}

// TestMain gives the drivers credentials to open with, since some look for them once for the whole process.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID":         "convoy",
		"AWS_SECRET_ACCESS_KEY":     "convoy-secret",
		"AWS_EC2_METADATA_DISABLED": "true",
		"AZURE_STORAGE_ACCOUNT":     "convoy",
		"STORAGE_EMULATOR_HOST":     "127.0.0.1:1",
		"AZURE_STORAGE_KEY":         "Y29udm95LXNlY3JldA==",
	} {
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

func fileURL(t testing.TB) string { return "file://" + t.TempDir() + "?no_tmp_dir=true" }

func s3URL(t testing.TB) string {
	server := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true)).Server())
	t.Cleanup(server.Close)
	return "s3://renders?endpoint=" + server.URL + "&region=us-east-1&use_path_style=true&disable_https=true&hostname_immutable=true"
}

// fixture is a store of which a test also sees what lies underneath.
type fixture struct {
	*renderstore.Store
	bucket renderstore.Bucket
	url    string
}

// onEveryDriver is the suite: what it runs must hold for every driver.
func onEveryDriver(t *testing.T, test func(t *testing.T, f fixture)) {
	for name, url := range drivers {
		t.Run(name, func(t *testing.T) { test(t, open(t, url(t))) })
	}
}

func open(t testing.TB, url string, opts ...renderstore.Option) fixture {
	t.Helper()
	f := fixture{url: url}
	tap := renderstore.WithBucket(func(b renderstore.Bucket) renderstore.Bucket {
		f.bucket = b
		return b
	})
	store, err := renderstore.Open(t.Context(), url, append(opts, tap)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	f.Store = store
	return f
}

// another opens a second store over the same bucket, as another process does.
func (f fixture) another(t testing.TB) *renderstore.Store {
	t.Helper()
	store, err := renderstore.Open(t.Context(), "mem://", renderstore.WithBucket(func(renderstore.Bucket) renderstore.Bucket { return f.bucket }))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// put writes an object behind the back of the store.
func (f fixture) put(t testing.TB, key, data string) {
	t.Helper()
	if err := f.bucket.Replace(t.Context(), key, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

// object reads an object behind the back of the store.
func (f fixture) object(t testing.TB, key string) string {
	t.Helper()
	data, err := f.bucket.Read(t.Context(), key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// keys are all keys below a prefix that ends in a slash, sorted.
func (f fixture) keys(t testing.TB, prefix string) []string {
	t.Helper()
	keys, err := f.bucket.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// newRender is a render of one ConfigMap; another number is another render.
func newRender(t testing.TB, number int) render.Render {
	t.Helper()
	r, err := render.New([]*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings", "namespace": "team"},
		"data":     map[string]any{"number": fmt.Sprint(number)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ref is the ref of a render that need not be stored.
func ref(number int) render.Ref { return render.RefOf(fmt.Append(nil, number)) }

// at is a time; a larger number is later.
func at(number int) time.Time { return time.Date(2026, 11, 29, 16, 0, number, 123456789, time.UTC) }

// record is what the history says about a render that was applied at a time.
func record(r render.Ref, number int) renderstore.Record {
	return renderstore.Record{Ref: r, SyncedAt: at(number), Summary: fmt.Sprintf("https://git.example/app@main/%d", number)}
}

// apply does what a pass does with the store, except for the collection.
func apply(t testing.TB, a *renderstore.Archive, r render.Render, number int) {
	t.Helper()
	if err := a.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Append(t.Context(), record(r.Ref(), number)); err != nil {
		t.Fatal(err)
	}
}

func history(t testing.TB, a *renderstore.Archive) []renderstore.Entry {
	t.Helper()
	entries, err := a.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// stored says whether a render can be read.
func stored(t testing.TB, a *renderstore.Archive, r render.Ref) bool {
	t.Helper()
	_, err := a.Get(t.Context(), r)
	switch {
	case err == nil:
		return true
	case !errors.Is(err, renderstore.ErrNotFound):
		t.Fatal(err)
	}
	return false
}
