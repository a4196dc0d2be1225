package controllers_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/source"
)

// archives serves tar.gz archives by path.
type archives struct {
	*httptest.Server
	mu      sync.Mutex
	content map[string][]byte
}

func serveArchives() *archives {
	a := &archives{content: map[string][]byte{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		a.mu.Lock()
		content, ok := a.content[req.URL.Path]
		a.mu.Unlock()
		if !ok {
			http.NotFound(rw, req)
			return
		}
		_, _ = rw.Write(content)
	}))
	DeferCleanup(a.Close)
	return a
}

// put serves an archive, and returns its digest.
func (a *archives) put(path string, content []byte) (digest string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.content[path] = content
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func tarGzip(files map[string]string) []byte {
	GinkgoHelper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, content := range files {
		Expect(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644})).To(Succeed())
		_, err := w.Write([]byte(content))
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(w.Close()).To(Succeed())
	Expect(zipped.Close()).To(Succeed())
	return b.Bytes()
}

// ociRegistry is an OCI registry over https.
type ociRegistry struct{ *httptest.Server }

func newRegistry() ociRegistry {
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(GinkgoWriter, "", 0))))
	DeferCleanup(server.Close)
	return ociRegistry{server}
}

func (r ociRegistry) host() string { return strings.TrimPrefix(r.URL, "https://") }

// secret is the manifest of the Secret "registry", with what it takes to reach it.
func (r ociRegistry) secret() string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: registry}\ndata: {ca.crt: %s}\n", base64.StdEncoding.EncodeToString(ca))
}

func (r ociRegistry) repository(name string) *remote.Repository {
	GinkgoHelper()
	repository, err := remote.NewRepository(r.host() + "/" + name)
	Expect(err).NotTo(HaveOccurred())
	repository.Client = r.Client()
	return repository
}

// push stores an artifact of one layer in a repository, and returns its digest.
func (r ociRegistry) push(name, tag, config, mediaType string, content []byte) string {
	GinkgoHelper()
	repository, ctx := r.repository(name), context.Background()
	layer, err := oras.PushBytes(ctx, repository, mediaType, content)
	Expect(err).NotTo(HaveOccurred())
	manifest, err := oras.PackManifest(ctx, repository, oras.PackManifestVersion1_1, config, oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	Expect(err).NotTo(HaveOccurred())
	Expect(repository.Tag(ctx, manifest, tag)).To(Succeed())
	return manifest.Digest.String()
}

// untag removes a tag of a repository.
func (r ociRegistry) untag(name, tag string) {
	GinkgoHelper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, r.URL+"/v2/"+name+"/manifests/"+tag, nil)
	Expect(err).NotTo(HaveOccurred())
	res, err := r.Client().Do(req)
	Expect(err).NotTo(HaveOccurred())
	Expect(res.Body.Close()).To(Succeed())
	Expect(res.StatusCode).To(Equal(http.StatusAccepted))
}

// pushFiles stores an artifact of Flux in the repository team/app.
func (r ociRegistry) pushFiles(tag string, files map[string]string) string {
	GinkgoHelper()
	return r.push("team/app", tag, "application/vnd.cncf.flux.config.v1+json", "application/vnd.cncf.flux.content.v1.tar+gzip", tarGzip(files))
}

// realFetcher fetches from the outside.
func (w *world) realFetcher() *source.Fetcher {
	GinkgoHelper()
	fetcher, err := source.NewFetcher(source.Options{Reader: env.Client, CacheDir: GinkgoTB().TempDir(), Now: w.clock.Now})
	Expect(err).NotTo(HaveOccurred())
	return fetcher
}

// gitRepositories is the definition of one of Flux's kinds, as far as convoy looks at it.
const gitRepositories = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gitrepositories.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  scope: Namespaced
  names: {kind: GitRepository, listKind: GitRepositoryList, plural: gitrepositories, singular: gitrepository}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// gitRepository creates a GitRepository, as soon as the server serves them.
func (w *world) gitRepository(name string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := object("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: " + name + ", namespace: " + w.namespace + "}\n")
	Eventually(func() error { return env.Client.Create(context.Background(), obj) }).
		WithTimeout(30 * time.Second).WithPolling(50 * time.Millisecond).Should(Succeed())
	return obj
}

// artifactStatus is the status that Flux gives an object with this artifact.
func artifactStatus(url, digest, revision string) string {
	return fmt.Sprintf(`{"artifact":{"url":%q,"digest":%q,"revision":%q},"conditions":[{"type":"Ready","status":"True","reason":"Succeeded","message":"stored artifact"}]}`,
		url, digest, revision)
}

var _ = Describe("The sources of a Release", func() {
	It("are an archive, which is followed", func() {
		w, server := newWorld(), serveArchives()
		w.controller.Fetcher = w.realFetcher()
		digest := server.put("/app.tgz", tarGzip(map[string]string{"app/deploy/a.yaml": configMap("a", "one"), "app/README.md": "no manifest"}))
		w.create("app", func(r *v1alpha1.Release) {
			r.Spec.Source = v1alpha1.Source{Archive: &v1alpha1.ArchiveSource{URL: server.URL + "/app.tgz", Path: "app/deploy"}}
		})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(release.Status.LastSuccessful.Revision).To(Equal(digest))
		Expect(w.live("v1", "ConfigMap", "a").Object["data"]).To(HaveKeyWithValue("key", "one"))

		digest = server.put("/app.tgz", tarGzip(map[string]string{"app/deploy/a.yaml": configMap("a", "two")}))
		w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
		Expect(w.settle("app").Status.LastSuccessful.Revision).To(Equal(digest))
		Expect(w.live("v1", "ConfigMap", "a").Object["data"]).To(HaveKeyWithValue("key", "two"))

		By("a digest that the archive does not have")
		w.edit("app", func(r *v1alpha1.Release) {
			r.Spec.Source.Archive.Digest = "sha256:b8b6d9c85cc37db860f808ab6251044ae69d6f674f59bf645e0c09c1c315898d"
		})
		w.pass("app")
		release = w.get("app")
		Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal(failed))
		Expect(message(release, v1alpha1.ConditionRendered)).To(ContainSubstring("the digest of what the server sends is " + digest))
		Expect(w.live("v1", "ConfigMap", "a").Object["data"]).To(HaveKeyWithValue("key", "two"))
	})

	It("are an OCI artifact, whose tag is followed", func() {
		w := newWorld()
		w.controller.Fetcher = w.realFetcher()
		server := newRegistry()
		w.asUser("user", server.secret())
		digest := server.pushFiles("1.0.0", map[string]string{"deploy/a.yaml": configMap("a", "one")})
		w.create("app", func(r *v1alpha1.Release) {
			r.Spec.Source = v1alpha1.Source{OCI: &v1alpha1.OCISource{
				URL: "oci://" + server.host() + "/team/app", Ref: v1alpha1.OCIRef{Semver: ">=1.0.0"},
				SecretRef: &v1alpha1.LocalObjectReference{Name: "registry"}, Path: "deploy",
			}}
		})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(release.Status.LastSuccessful.Revision).To(Equal("1.0.0@" + digest))
		Expect(w.live("v1", "ConfigMap", "a").Object["data"]).To(HaveKeyWithValue("key", "one"))

		digest = server.pushFiles("1.1.0", map[string]string{"deploy/a.yaml": configMap("a", "two")})
		w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
		Expect(w.settle("app").Status.LastSuccessful.Revision).To(Equal("1.1.0@" + digest))
		Expect(w.live("v1", "ConfigMap", "a").Object["data"]).To(HaveKeyWithValue("key", "two"))
	})

	It("are an object of Flux, whose definition may come later and whose every change starts a pass", func() {
		clusterOfItsOwn()
		w, server := newWorld(), serveArchives()
		w.watch()
		w.controller.Fetcher = w.realFetcher()
		w.create("app", func(r *v1alpha1.Release) {
			r.Spec.Source = v1alpha1.Source{From: &v1alpha1.FromSource{Kind: v1alpha1.FromGitRepository, Name: "podinfo", Path: "deploy"}}
		})
		w.says("the cluster does not have the kind GitRepository of source.toolkit.fluxcd.io/v1: is Flux installed?")

		Expect(env.Client.Create(context.Background(), object(gitRepositories))).To(Succeed())
		repository := w.gitRepository("podinfo")
		digest := server.put("/1.tar.gz", tarGzip(map[string]string{"deploy/a.yaml": configMap("a", "one")}))
		setStatus(repository, artifactStatus(server.URL+"/1.tar.gz", digest, "main@sha1:1"))
		Expect(w.ready("app").Status.LastSuccessful.Revision).To(Equal("main@sha1:1"))
		Expect(w.live("v1", "ConfigMap", "a").Object["data"]).To(HaveKeyWithValue("key", "one"))

		By("a new artifact, long before the interval is over")
		digest = server.put("/2.tar.gz", tarGzip(map[string]string{"deploy/a.yaml": configMap("a", "two")}))
		setStatus(repository, artifactStatus(server.URL+"/2.tar.gz", digest, "main@sha1:2"))
		w.runs("main@sha1:2")
		Expect(w.live("v1", "ConfigMap", "a").Object["data"]).To(HaveKeyWithValue("key", "two"))

		By("an object that is not ready")
		setStatus(repository, `{"conditions":[{"type":"Ready","status":"False","reason":"GitOperationFailed","message":"no such branch"}]}`)
		w.says("GitRepository " + w.namespace + "/podinfo is not ready: no such branch")

		By("a definition that is deleted and comes back")
		remove(object(gitRepositories))
		Eventually(func() *unstructured.Unstructured {
			return find(crdVersion, crdKind, "", "gitrepositories.source.toolkit.fluxcd.io")
		}).
			WithTimeout(time.Minute).Should(BeNil())
		Expect(env.Client.Create(context.Background(), object(gitRepositories))).To(Succeed())
		repository = w.gitRepository("podinfo")
		digest = server.put("/3.tar.gz", tarGzip(map[string]string{"deploy/a.yaml": configMap("a", "three")}))
		setStatus(repository, artifactStatus(server.URL+"/3.tar.gz", digest, "main@sha1:3"))
		w.runs("main@sha1:3")
	})
})

// says waits until the running controller says this of the source.
func (w *world) says(text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		release := w.get("app")
		g.Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal(failed))
		g.Expect(message(release, v1alpha1.ConditionRendered)).To(ContainSubstring(text))
	}).WithTimeout(30 * time.Second).WithPolling(50 * time.Millisecond).Should(Succeed())
}

// runs waits until the running controller has deployed this revision.
func (w *world) runs(revision string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		release := w.get("app")
		g.Expect(release.Status.LastSuccessful).NotTo(BeNil())
		g.Expect(release.Status.LastSuccessful.Revision).To(Equal(revision))
	}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
}
