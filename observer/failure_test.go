package observer_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/observer"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

// brokenDiffer fails, or does worse.
type brokenDiffer func() error

func (d brokenDiffer) Diff(context.Context, live.DiffRequest) ([]live.Change, error) { return nil, d() }

var _ = Describe("What cannot be answered", func() {
	It("is said of a render store that does not answer", func() {
		w := newWorld()
		w.create()
		ref := w.deploy(map[string]string{"a.yaml": configMap("a", "one")})
		w.faults.Inject(faultstore.Fault{})
		for _, what := range []string{"history", "diff?render=" + ref, "render?render=" + ref} {
			a := w.admin(what)
			Expect(a.code).To(Equal(http.StatusServiceUnavailable), what)
			Expect(a.message).To(And(ContainSubstring("the render store cannot be read"), ContainSubstring("injected fault")))
		}
		Expect(actions(diffOf(w.admin("diff")))).To(BeEmpty(), "the source needs no store")
		w.faults.Clear()
		Expect(w.admin("history").code).To(Equal(http.StatusOK))
	})

	It("is said of a render store that breaks while a page is read", func() {
		w := newWorld()
		w.create()
		w.fill(3)
		w.faults.Inject(faultstore.Fault{Op: "size", Skip: 1})
		Expect(w.admin("history").code).To(Equal(http.StatusServiceUnavailable))
	})

	It("is said of a corrupt render, an unknown one, and one that is none", func() {
		w := newWorld()
		w.create()
		ref := w.deploy(map[string]string{"a.yaml": configMap("a", "one")})
		Expect(os.WriteFile(filepath.Join(w.dir, w.namespace, "app", "blobs", ref), []byte(`[{"kind":"Other"}]`), 0o600)).To(Succeed())
		for _, what := range []string{"diff", "render"} {
			a := w.admin(what + "?render=" + ref)
			Expect(a.code).To(Equal(http.StatusInternalServerError))
			Expect(a.message).To(ContainSubstring("corrupt in the render store"))
			Expect(a.message).NotTo(ContainSubstring("Other"))

			a = w.admin(what + "?render=" + refA)
			Expect(a.code).To(Equal(http.StatusNotFound))
			Expect(a.message).To(And(ContainSubstring("read render sha256:aaaaaaaaaaaa"), ContainSubstring("not in the render store"),
				ContainSubstring("kubectl convoy release history")))

			a = w.admin(what + "?render=sha256:AB")
			Expect(a.code).To(Equal(http.StatusUnprocessableEntity))
			Expect(a.message).To(ContainSubstring(`render ref "sha256:AB": want sha256: and 64 lower-case hex digits`))
		}
		a := w.admin("render")
		Expect(a.code).To(Equal(http.StatusUnprocessableEntity))
		Expect(a.message).To(ContainSubstring("?render=sha256:"))
	})

	It("is said of a source that does not answer, does not render, or renders nothing", func() {
		w := newWorld()
		w.create(manual)
		w.commit(map[string]string{"a.yaml": "kind: ["})
		a := w.admin("diff")
		Expect(a.code).To(Equal(http.StatusUnprocessableEntity))
		Expect(a.message).To(And(ContainSubstring(w.url), ContainSubstring("does not render: a.yaml")))

		empty := newWorld()
		empty.create(manual)
		empty.commit(map[string]string{"README.md": "nothing"})
		a = empty.admin("diff")
		Expect(a.code).To(Equal(http.StatusUnprocessableEntity))
		Expect(a.message).To(ContainSubstring("does not render: it has no objects: check the path, or set spec.allowEmpty"))

		down := newWorld()
		down.create(manual)
		git.Break(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
		DeferCleanup(func() { git.Break(nil) })
		a = down.admin("diff")
		Expect(a.code).To(Equal(http.StatusServiceUnavailable))
		Expect(a.message).To(And(ContainSubstring("the source cannot be fetched"), ContainSubstring("502")))
	})

	It("is said of a cluster that cannot be read, and of a defect, without a value of a Secret", func() {
		w := newWorld()
		w.create(manual)
		w.commit(map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: correct-horse}\n"})
		w.observe(func(o *observer.Options) {
			o.Differ = brokenDiffer(func() error {
				return errors.New("read Secret a: unexpected value correct-horse, or Y29ycmVjdC1ob3JzZQ==")
			})
		})
		a := w.admin("diff")
		Expect(a.code).To(Equal(http.StatusServiceUnavailable))
		Expect(a.message).To(Equal("the diff cannot be made: read Secret a: unexpected value ***, or ***"))

		w.observe(func(o *observer.Options) { o.Differ = brokenDiffer(func() error { panic("correct-horse") }) })
		a = w.admin("diff")
		Expect(a.code).To(Equal(http.StatusInternalServerError))
		Expect(a.message).To(ContainSubstring("a defect of its own"))
		Expect(said.String()).NotTo(ContainSubstring("correct-horse"))
	})

	It("is said when more diffs are asked for than are worked on at once", func() {
		w := newWorld()
		w.create(manual)
		w.commit(map[string]string{"a.yaml": configMap("a", "one")})
		const atOnce = 4
		working, goOn := make(chan struct{}, atOnce), make(chan struct{})
		release := sync.OnceFunc(func() { close(goOn) })
		DeferCleanup(release)
		w.observe(func(o *observer.Options) {
			o.Differ = brokenDiffer(func() error { working <- struct{}{}; <-goOn; return nil })
		})
		codes := make(chan int, atOnce)
		for range atOnce {
			go func() {
				defer GinkgoRecover()
				codes <- w.admin("diff").code
			}()
		}
		for range atOnce {
			Eventually(working).WithTimeout(10 * time.Second).Should(Receive())
		}
		a := w.admin("diff")
		Expect(a.code).To(Equal(http.StatusTooManyRequests))
		Expect(a.header.Get("Retry-After")).To(Equal("1"))
		Expect(w.admin("render?render=" + refA).code).To(Equal(http.StatusTooManyRequests))
		Expect(w.admin("history").code).To(Equal(http.StatusOK), "histories have slots of their own")
		release()
		for range atOnce {
			Eventually(codes).WithTimeout(10 * time.Second).Should(Receive(Equal(http.StatusOK)))
		}
		Expect(w.admin("diff").code).To(Equal(http.StatusOK))
	})
})
