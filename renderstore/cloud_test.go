package renderstore_test

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob/azureblob"

	"github.com/convoy-dev/convoy/renderstore"
)

// services are the object stores in the network: each returns the URL of a store whose requests go to a server.
var services = map[string]func(t *testing.T, server string) string{
	"s3": func(_ *testing.T, server string) string {
		return "s3://renders?region=us-east-1&use_path_style=true&endpoint=" + server
	},
	"gs": func(t *testing.T, server string) string {
		t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(server, "http://"))
		return "gs://renders?anonymous=true"
	},
	"azblob": func(_ *testing.T, server string) string {
		return "azblob://renders?protocol=http&localemu=true&domain=" + strings.TrimPrefix(server, "http://")
	},
}

// serve opens a store whose requests a handler answers.
func serve(t *testing.T, url func(*testing.T, string) string, handler http.HandlerFunc) *renderstore.Archive {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, url(t, server.URL)).Archive("team", "app")
}

func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }
}

func TestObjectStoreThatDoesNotAnswerWellIsNotEmpty(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"301": answer(http.StatusMovedPermanently),
		"401": answer(http.StatusUnauthorized),
		"403": answer(http.StatusForbidden),
		"429": answer(http.StatusTooManyRequests),
		"500": answer(http.StatusInternalServerError),
		"503": answer(http.StatusServiceUnavailable),
		"half a body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("Last-Modified", "Sun, 29 Nov 2026 16:00:00 GMT")
			_, _ = w.Write([]byte(`[{"apiVersion":`))
		},
		"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		for service, url := range services {
			t.Run(service+" "+name, func(t *testing.T) {
				for what, err := range everything(t, serve(t, url, handler)) {
					switch {
					case err == nil:
						t.Errorf("%s: no error", what)
					case errors.Is(err, renderstore.ErrNotFound), errors.Is(err, renderstore.ErrCorrupt), errors.Is(err, renderstore.ErrDisabled):
						t.Errorf("%s: that the object store does not answer says nothing about the render: %v", what, err)
					case strings.Contains(err.Error(), "\n") || len(err.Error()) > 500:
						t.Errorf("%s: this error is not for people: %q", what, err)
					}
				}
			})
		}
	}
}

func TestDriverThatPanicsIsAnError(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>Sign in</html>")) }
	_, err := serve(t, services["azblob"], page).History(t.Context())
	if err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("got %v", err)
	}
}

func TestFileWithCredentialsThatIsMissingIsNoMissingRender(t *testing.T) {
	url := func(t *testing.T, server string) string {
		return services["s3"](t, server) + "&role=arn:aws:iam::123456789012:role/convoy&web_identity_token_file=/none/token"
	}
	for what, err := range everything(t, serve(t, url, answer(http.StatusOK))) {
		if err == nil || errors.Is(err, renderstore.ErrNotFound) || !strings.Contains(err.Error(), "/none/token") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestNameServerThatDoesNotAnswerIsNoMissingRender(t *testing.T) {
	var noName http.RoundTripper = roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "convoy.blob.core.windows.net", IsNotFound: true}
	})
	client, err := container.NewClientWithNoCredential("https://convoy.blob.core.windows.net/renders?sv=1&sig=hunter2",
		&container.ClientOptions{ClientOptions: azcore.ClientOptions{
			Transport: &http.Client{Transport: noName}, Retry: policy.RetryOptions{MaxRetries: -1},
		}})
	if err != nil {
		t.Fatal(err)
	}
	driver, err := azureblob.OpenBucket(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := renderstore.Open(t.Context(), "mem://", renderstore.WithBucket(func(renderstore.Bucket) renderstore.Bucket {
		return renderstore.NewCloudBucket(driver)
	}))
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range everything(t, store.Archive("team", "app")) {
		if err == nil || errors.Is(err, renderstore.ErrNotFound) || !strings.Contains(err.Error(), "no such host") {
			t.Errorf("%s: got %v", what, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows a credential: %v", what, err)
		}
	}
}

func TestMissingRenderAndMissingBucketAreTold(t *testing.T) {
	emptyListings := map[string]string{
		"s3":     `<?xml version="1.0"?><ListBucketResult><Name>renders</Name><KeyCount>0</KeyCount></ListBucketResult>`,
		"gs":     `{"kind": "storage#objects"}`,
		"azblob": `<?xml version="1.0"?><EnumerationResults><Blobs></Blobs></EnumerationResults>`,
	}
	for service, url := range services {
		t.Run(service, func(t *testing.T) {
			var bucketGone atomic.Bool
			archive := serve(t, url, func(w http.ResponseWriter, r *http.Request) {
				if isListing := strings.Contains(r.URL.RawQuery, "prefix") || strings.Contains(r.URL.RawQuery, "list"); isListing && !bucketGone.Load() {
					w.Header().Set("Content-Type", "application/"+map[bool]string{true: "json", false: "xml"}[service == "gs"])
					_, _ = w.Write([]byte(emptyListings[service]))
					return
				}
				http.Error(w, "", http.StatusNotFound)
			})
			if _, err := archive.Get(t.Context(), ref(1)); !errors.Is(err, renderstore.ErrNotFound) {
				t.Errorf("a missing render: got %v, want ErrNotFound", err)
			}
			if n, err := archive.Count(t.Context()); n != 0 || err != nil {
				t.Errorf("a Release without renders: got %d, %v", n, err)
			}
			bucketGone.Store(true)
			for what, err := range everything(t, archive) {
				switch {
				case what == "Purge" && err != nil:
					t.Errorf("Purge: nothing of the Release is left, but got %v", err)
				case what != "Purge" && (err == nil || errors.Is(err, renderstore.ErrNotFound)):
					t.Errorf("%s: a missing bucket says nothing about the render: %v", what, err)
				}
			}
		})
	}
}

func TestUploadCarriesTypeConditionAndChecksum(t *testing.T) {
	r := newRender(t, 1)
	md5sum := md5.Sum(r.Bytes())
	encoded := base64.StdEncoding.EncodeToString(md5sum[:])
	for service, wants := range map[string][]string{
		"s3":     {"Content-Type: application/json", "If-None-Match: *", "X-Amz-Checksum-Crc32: ", "X-Amz-Content-Sha256: " + r.Ref().String()[7:]},
		"gs":     {`"contentType":"application/json"`, "ifGenerationMatch=0", `"md5Hash":"` + encoded + `"`},
		"azblob": {"X-Ms-Blob-Content-Type: application/json", "If-None-Match: *", "X-Ms-Blob-Content-Md5: " + encoded},
	} {
		t.Run(service, func(t *testing.T) {
			var request []byte
			archive := serve(t, services[service], func(w http.ResponseWriter, r *http.Request) {
				request, _ = httputil.DumpRequest(r, true)
				http.Error(w, "", http.StatusForbidden)
			})
			if err := archive.Put(t.Context(), r); err == nil {
				t.Error("no error")
			}
			for _, want := range wants {
				if !strings.Contains(string(request), want) {
					t.Errorf("the upload does not say %q:\n%s", want, request)
				}
			}
		})
	}
}

func TestConflictOfTwoConditionalWritesEndsWithTheRender(t *testing.T) {
	r := newRender(t, 1)
	for name, there := range map[string]bool{"the other one was written": true, "the other one was not": false} {
		t.Run(name, func(t *testing.T) {
			var written atomic.Bool
			archive := serve(t, services["s3"], func(w http.ResponseWriter, request *http.Request) {
				switch {
				case request.Method == http.MethodPut && request.Header.Get("If-None-Match") != "":
					w.WriteHeader(http.StatusConflict)
					_, _ = w.Write([]byte("<Error><Code>ConditionalRequestConflict</Code><Message>Try again</Message></Error>"))
				case request.Method == http.MethodPut:
					written.Store(true)
				case request.Method == http.MethodHead && there:
					w.Header().Set("Content-Length", fmt.Sprint(len(r.Bytes())))
				case request.Method == http.MethodHead:
					w.WriteHeader(http.StatusNotFound)
				default:
					_, _ = w.Write([]byte("<ListBucketResult></ListBucketResult>"))
				}
			})
			if err := archive.Put(t.Context(), r); err != nil || written.Load() == there {
				t.Errorf("got %v, written again: %v", err, written.Load())
			}
		})
	}
}

// roundTripper is a function as a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// everything calls each method of an archive, with a deadline that lets the drivers not retry for long, and returns the errors.
func everything(t *testing.T, a *renderstore.Archive) map[string]error {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	put := newRender(t, 1)
	calls := map[string]func() error{
		"Put":   func() error { return a.Put(ctx, put) },
		"Purge": func() error { return a.Purge(ctx) },
		"Get": func() error {
			_, err := a.Get(ctx, ref(1))
			return err
		},
		"History": func() error {
			_, err := a.History(ctx)
			return err
		},
		"Count": func() error {
			_, err := a.Count(ctx)
			return err
		},
		"Summary": func() error {
			_, err := a.Summary(ctx, entry(1, 1))
			return err
		},
		"Append": func() error {
			_, err := a.Append(ctx, record(ref(1), 1))
			return err
		},
		"Prune": func() error {
			_, err := a.Prune(ctx, renderstore.Retention{Keep: 1, Recorded: ref(1)})
			return err
		},
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		errs  = make(map[string]error)
	)
	for what, call := range calls {
		group.Go(func() {
			err := call()
			mu.Lock()
			defer mu.Unlock()
			errs[what] = err
		})
	}
	group.Wait()
	return errs
}
