package source

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/internal/gitserver"
)

const short = 200 * time.Millisecond

// silence is a server that accepts connections and never answers. A closed connection is sent to cut.
func silence(t *testing.T) (address string, cut chan struct{}) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	cut = make(chan struct{}, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
				cut <- struct{}{}
			}()
		}
	}()
	return listener.Addr().String(), cut
}

func TestAServerThatNeverAnswersIsCutOff(t *testing.T) {
	for scheme, secretName := range map[string]string{"http": "", "https": "", "ssh": "alice"} {
		t.Run(scheme, func(t *testing.T) {
			w, _ := newSSHWorld(t)
			w.options.ResolveTimeout = short
			w.restart()
			address, cut := silence(t)
			start := time.Now()
			w.fail(gitRequest(scheme+"://"+address+"/app.git", mainBranch, secretName), "no answer within 200ms")
			if took := time.Since(start); took > 50*short {
				t.Errorf("it took %s", took)
			}
			<-cut
		})
	}
}

func TestADownloadThatNeverEndsIsCutOff(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.DownloadTimeout = short })
	git := gitserver.Handler(w.root)
	for name, begin := range map[string]func(http.ResponseWriter){
		"before the first byte": func(http.ResponseWriter) {},
		"in the pack": func(rw http.ResponseWriter) {
			rw.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = io.WriteString(rw, "0034shallow "+w.git("rev-parse", "main")+"00000008NAK\n0010\x01PACK\x00\x00\x00\x02")
			_ = http.NewResponseController(rw).Flush()
		},
	} {
		t.Run(name, func(*testing.T) {
			cut := make(chan struct{})
			w.server.Break(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				if req.Method == http.MethodGet {
					git.ServeHTTP(rw, req)
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				begin(rw)
				<-req.Context().Done()
				close(cut)
			}))
			w.clock.advance(failureMemory)
			w.fail(w.request(mainBranch), "the download is not complete within 200ms")
			<-cut
		})
	}
}

func TestReadingASecretHasADeadline(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.ResolveTimeout = short })
	w.fetcher.objects.reader = stuck{}
	w.fail(fromRequest("Secret", "app"), "read Secret team/app", context.DeadlineExceeded.Error())
}

// stuck is a cluster that answers when the context ends.
type stuck struct{ client.Reader }

func (stuck) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestACallersDeadlineHolds(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	address, _ := silence(t)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	w.options.ResolveTimeout = 10 * short // what is left behind ends soon too
	w.restart()
	if _, err := w.fetcher.Fetch(ctx, gitRequest("http://"+address+"/app.git", mainBranch, "")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
