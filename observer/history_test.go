package observer_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/observer"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

// refs are the renders of a history.
func refs(h subresources.ReleaseHistory) []string {
	var refs []string
	for _, item := range h.Items {
		refs = append(refs, item.RenderRef)
	}
	return refs
}

// fill writes entries into the history, without renders, the oldest first, and returns their refs.
func (w *world) fill(entries int) []string {
	GinkgoHelper()
	var refs []string
	start := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	dir := filepath.Join(w.dir, w.namespace, "app", "history")
	Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	for i := range entries {
		ref := render.RefOf(fmt.Append(nil, w.namespace, i)).String()
		at := start.Add(time.Duration(i) * time.Second)
		content := fmt.Sprintf(`{"renderRef":%q,"syncedAt":%q,"summary":"entry %d"}`, ref, at.Format(time.RFC3339Nano), i)
		name := at.Format("20060102T150405.000000000Z") + "-" + ref + ".json"
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
		refs = append(refs, ref)
	}
	return refs
}

var _ = Describe("The history", func() {
	It("has each render once, the newest first, and marks the current, the pinned and the healthy one", func() {
		w := newWorld()
		w.create()
		Expect(history(w.admin("history")).Items).To(BeEmpty())
		Expect(string(w.admin("history").body)).To(ContainSubstring(`"items":[]`))

		first := w.deploy(map[string]string{"a.yaml": configMap("a", "one")})
		second := w.deploy(map[string]string{"a.yaml": configMap("a", "two")})
		w.deploy(map[string]string{"a.yaml": configMap("a", "one")})
		release := w.settle()
		w.pin(second)

		h := history(w.admin("history"))
		Expect(h.Kind).To(Equal("ReleaseHistory"))
		Expect(h.Continue).To(BeEmpty())
		Expect(h.RemainingItemCount).To(BeNil())
		Expect(refs(h)).To(Equal([]string{second, first}))
		Expect(h.Items[0]).To(And(HaveField("Current", false), HaveField("Pinned", true), HaveField("Healthy", false)))
		Expect(h.Items[1]).To(And(HaveField("Current", true), HaveField("Pinned", false), HaveField("Healthy", true)))
		Expect(release.Status.LastSuccessful.RenderRef).To(Equal(first))
		for _, item := range h.Items {
			Expect(item.Summary).To(MatchRegexp(`^` + w.url + `@\S+@sha1:[0-9a-f]{40}$`))
			Expect(item.SyncedAt.Time).To(BeTemporally("~", time.Now(), time.Minute))
			info, err := os.Stat(filepath.Join(w.dir, w.namespace, "app", "blobs", item.RenderRef))
			Expect(err).NotTo(HaveOccurred())
			Expect(item.Size).To(HaveValue(Equal(info.Size())))
		}
	})

	It("of 10,000 entries answers a page from one listing, and opens only what is on it", func() {
		w := newWorld()
		w.create()
		all := w.fill(10_000)
		var lists, reads, sizes, others atomic.Int32
		w.faults.OnCall(func(op, _ string) {
			counter, ok := map[string]*atomic.Int32{renderstore.OpList: &lists, renderstore.OpRead: &reads, renderstore.OpSize: &sizes}[op]
			if !ok {
				counter = &others
			}
			counter.Add(1)
		})
		started := time.Now()
		h := history(w.admin("history"))
		AddReportEntry("first page", time.Since(started).String())
		Expect(h.Items).To(HaveLen(50))
		Expect(h.RemainingItemCount).To(HaveValue(BeEquivalentTo(9_950)))
		Expect(h.Items[0].RenderRef).To(Equal(all[9_999]))
		Expect(h.Items[49].Summary).To(Equal("entry 9950"))
		Expect([]int32{lists.Load(), reads.Load(), sizes.Load(), others.Load()}).To(Equal([]int32{1, 50, 50, 0}))
	})

	It("is read in pages to its end, each entry once, while entries are added and collected", func() {
		w := newWorld()
		w.create()
		all := w.fill(7)
		dir := filepath.Join(w.dir, w.namespace, "app", "history")
		archive := w.store.Archive(w.namespace, "app")
		var seen []string
		page := history(w.admin("history?limit=3"))
		seen = append(seen, refs(page)...)
		Expect(page.RemainingItemCount).To(HaveValue(BeEquivalentTo(4)))

		By("adding a new one, and collecting the last of the page and the next one")
		_, err := archive.Append(context.Background(), renderstore.Record{Ref: render.RefOf([]byte("new")), SyncedAt: time.Now()})
		Expect(err).NotTo(HaveOccurred())
		for _, gone := range []string{all[4], all[3]} {
			files, err := filepath.Glob(filepath.Join(dir, "*"+gone+".json"))
			Expect(err).NotTo(HaveOccurred())
			Expect(files).To(HaveLen(1))
			Expect(os.Remove(files[0])).To(Succeed())
		}
		for page.Continue != "" {
			page = history(w.admin("history?limit=2&continue=" + page.Continue))
			seen = append(seen, refs(page)...)
		}
		Expect(seen).To(Equal([]string{all[6], all[5], all[4], all[2], all[1], all[0]}))
	})

	It("shows an entry whose render is gone without a size, and leaves out one that is collected just then", func() {
		w := newWorld()
		w.create()
		all := w.fill(3)
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Key: all[1], Err: renderstore.ErrNotFound})
		h := history(w.admin("history"))
		Expect(refs(h)).To(Equal([]string{all[2], all[0]}))
		Expect(h.Items[0].Size).To(BeNil())
	})

	It("shows an entry that is corrupt without its summary", func() {
		w := newWorld()
		w.create()
		all := w.fill(2)
		w.faults.Inject(faultstore.Fault{Op: renderstore.OpRead, Key: all[1], Effect: faultstore.Garble})
		h := history(w.admin("history"))
		Expect(refs(h)).To(Equal([]string{all[1], all[0]}))
		Expect(h.Items[0].Summary).To(BeEmpty())
		Expect(h.Items[1].Summary).To(Equal("entry 0"))
	})

	DescribeTable("refuses what is malformed", func(query, message string) {
		w := newWorld()
		w.create()
		a := w.admin("history?" + query)
		Expect(a.code).To(Equal(http.StatusUnprocessableEntity))
		Expect(a.message).To(ContainSubstring(message))
	},
		Entry("no limit", "limit=many", "limit \"many\": want a number from 1 to 500"),
		Entry("nothing", "limit=0", "want a number from 1 to 500"),
		Entry("too much", "limit=501", "want a number from 1 to 500"),
		Entry("no token", "continue=%20", "want the token of an earlier page"),
		Entry("another token", "continue=Zm9v", "want the token of an earlier page"),
	)

	It("of a Release that is not there is not found", func() {
		w := newWorld()
		for _, what := range []string{"history", "diff", "render?render=" + refA} {
			a := w.admin(what)
			Expect(a.code).To(Equal(http.StatusNotFound))
			Expect(a.message).To(Equal(`releases.convoy.dev "app" not found`))
		}
	})

	It("of a store in memory is empty, and the answer says why", func() {
		w := newWorldWithStore("mem://")
		w.create()
		store, err := renderstore.Open(context.Background(), "mem://")
		Expect(err).NotTo(HaveOccurred())
		w.observe(func(o *observer.Options) { o.Store, o.OwnStore = store, true })
		ref := w.deploy(map[string]string{"a.yaml": configMap("a", "one")})
		a := w.admin("history")
		Expect(history(a).Items).To(BeEmpty())
		Expect(a.header.Get("Warning")).To(And(HavePrefix("299 - "), ContainSubstring("with mem:// each process has a render store of its own")))
		for _, what := range []string{"diff", "render"} {
			a = w.admin(what + "?render=" + ref)
			Expect(a.code).To(Equal(http.StatusNotFound))
			Expect(a.message).To(ContainSubstring("with mem:// each process has a render store of its own"))
		}
	})
})

// refA is a render that no store has.
var refA = "sha256:" + strings.Repeat("a", 64)
