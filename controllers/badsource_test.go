package controllers_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
	"github.com/convoy-dev/convoy/source"
)

// fromGit is a world whose Release "app" is deployed from a real Git repository.
type fromGit struct {
	*deployed
	repo   *gitserver.Repository
	server *gitserver.Server
}

// newFromGit serves a repository with the ConfigMap "a" in the folder deploy, and deploys it after the changes.
func newFromGit(o gitserver.Options, change ...func(*world, *v1alpha1.GitSource)) *fromGit {
	GinkgoHelper()
	root := GinkgoTB().TempDir()
	repo, err := gitserver.Init(filepath.Join(root, "app.git"))
	Expect(err).NotTo(HaveOccurred())
	g := &fromGit{repo: repo}
	g.push(map[string]string{"deploy/a.yaml": configMap("a", "good")})
	g.git("tag", "v1")
	g.server, err = gitserver.Start(root, o)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(g.server.Stop)
	g.deployed = newDeployed(func(w *world) {
		w.controller.Fetcher, err = source.NewFetcher(source.Options{Reader: env.Client, CacheDir: GinkgoTB().TempDir(), Now: w.clock.Now})
		Expect(err).NotTo(HaveOccurred())
		src := &v1alpha1.GitSource{URL: g.server.URL("app.git"), Path: "deploy"}
		for _, c := range change {
			c(w, src)
		}
		w.create("app", func(r *v1alpha1.Release) { r.Spec.Source.Git = src })
	})
	return g
}

// push commits files.
func (g *fromGit) push(files map[string]string) {
	GinkgoHelper()
	_, err := g.repo.Commit("change", files)
	Expect(err).NotTo(HaveOccurred())
}

func (g *fromGit) git(args ...string) string {
	GinkgoHelper()
	out, err := g.repo.Git(args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// link commits a symbolic link.
func (g *fromGit) link(name, target string) {
	GinkgoHelper()
	Expect(g.repo.FastImport(fmt.Appendf(nil,
		"commit refs/heads/main\ncommitter convoy <convoy@example.com> 1700000000 +0000\ndata 4\nlink\nfrom refs/heads/main^0\nM 120000 inline %s\ndata %d\n%s\n",
		name, len(target), target))).To(Succeed())
}

// later lets the interval pass.
func (g *fromGit) later() { g.clock.SetTime(g.clock.Now().Add(10 * time.Minute)) }

// point changes the source of the Release.
func (g *fromGit) point(change func(*v1alpha1.GitSource)) {
	GinkgoHelper()
	g.edit("app", func(r *v1alpha1.Release) { change(r.Spec.Source.Git) })
}

const failed, unrendered = "False SourceFailed", "False RenderFailed"

var _ = Describe("A bad source", func() {
	// Each breaks the source, says what the message must have, and mends it with a new commit.
	DescribeTable("is named in a condition and an event, changes nothing, and is forgotten once it is mended",
		func(says string, words []string, breakIt, mend func(*fromGit)) {
			g := newFromGit(gitserver.Options{})
			breakIt(g)
			g.later()
			g.expectRefused(v1alpha1.ConditionRendered, says, words...)
			mend(g)
			g.push(map[string]string{"deploy/a.yaml": configMap("a", "mended")})
			g.expectMended("mended")
		},
		Entry("a branch that is not there", failed, []string{"branch", "release-9", "app.git"},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Branch = "release-9" }) },
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Branch = "main" }) }),
		Entry("a tag that is not there", failed, []string{"tag", "v9"},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Tag = "v9" }) },
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Tag = "" }) }),
		Entry("a range without a version in it", failed, []string{"semver", ">=9"},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Semver = ">=9" }) },
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Semver = "" }) }),
		Entry("a range that is none", failed, []string{"semver", "newest"},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Semver = "newest" }) },
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Semver = "" }) }),
		Entry("a commit that is not there", failed, []string{strings.Repeat("12345678", 5)},
			func(g *fromGit) {
				g.point(func(s *v1alpha1.GitSource) { s.Ref.Commit = strings.Repeat("12345678", 5) })
			},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Ref.Commit = "" }) }),
		Entry("credentials that would be sent in the clear", failed, []string{"no credentials are sent over http://"},
			func(g *fromGit) {
				g.point(func(s *v1alpha1.GitSource) { s.SecretRef = &v1alpha1.LocalObjectReference{Name: "git"} })
			},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.SecretRef = nil }) }),
		Entry("a repository that is not there", failed, []string{"404", "other.git"},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.URL = g.server.URL("other.git") }) },
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.URL = g.server.URL("app.git") }) }),
		Entry("a folder that is not there", unrendered, []string{`"prod"`, "does not exist"},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Path = "prod" }) },
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Path = "deploy" }) }),
		Entry("a file in place of a folder", unrendered, []string{"deploy/a.yaml", "is a file"},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Path = "deploy/a.yaml" }) },
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Path = "deploy" }) }),
		Entry("a link out of the source", unrendered, []string{"deploy/b.yaml", "leaves the source"},
			func(g *fromGit) { g.link("deploy/b.yaml", "../../etc/passwd") },
			func(g *fromGit) { g.link("deploy/b.yaml", "a.yaml") }),
		Entry("an absolute link", unrendered, []string{"deploy/b.yaml", "leaves the source"},
			func(g *fromGit) { g.link("deploy/b.yaml", "/etc/passwd") },
			func(g *fromGit) { g.link("deploy/b.yaml", "../deploy/a.yaml") }),
		Entry("a folder that is a link out of the source", unrendered, []string{"leaves the source"},
			func(g *fromGit) {
				g.link("out", "../../etc")
				g.point(func(s *v1alpha1.GitSource) { s.Path = "out" })
			},
			func(g *fromGit) { g.point(func(s *v1alpha1.GitSource) { s.Path = "deploy" }) }),
		Entry("a server that is down", failed, []string{"connection refused"},
			func(g *fromGit) { Expect(g.server.Stop()).To(Succeed()) },
			func(g *fromGit) { Expect(g.server.Resume()).To(Succeed()) }),
		Entry("a server that answers errors", failed, []string{"503 Service Unavailable"},
			func(g *fromGit) {
				g.server.Break(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
			},
			func(g *fromGit) { g.server.Break(nil) }),
		Entry("a server that answers with a page", failed, []string{"text/html", "not with Git"},
			func(g *fromGit) {
				g.server.Break(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Welcome</html>") }))
			},
			func(g *fromGit) { g.server.Break(nil) }),
	)

	It("is not what a tag is that moves: it is followed, and the status says to which commit", func() {
		g := newFromGit(gitserver.Options{}, func(_ *world, s *v1alpha1.GitSource) { s.Ref.Tag = "v1" })
		old := g.get("app").Status.LastSuccessful.Revision
		Expect(old).To(Equal("v1@sha1:" + g.git("rev-parse", "v1")))
		g.push(map[string]string{"deploy/a.yaml": configMap("a", "moved")})
		g.git("tag", "--force", "v1", "main")
		Expect(g.settle("app").Status.LastSuccessful.Revision).To(Equal(old), "within the interval")
		Expect(g.facts()).To(Equal(g.before))
		g.expectMended("moved")
		Expect(g.get("app").Status.LastSuccessful.Revision).To(Equal("v1@sha1:" + g.git("rev-parse", "main")))
		Expect(g.history("app")).To(HaveLen(2))

		g.before = g.facts()
		g.git("tag", "--delete", "v1")
		g.later()
		g.expectRefused(v1alpha1.ConditionRendered, failed, `no tag "v1"`)
	})

	Describe("that is private", func() {
		const password = "hunter2-5d1e"
		secret := func(namespace string, data map[string]string) *corev1.Secret {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "git"}, StringData: data}
		}
		var certificate tls.Certificate
		var data map[string]string
		var g *fromGit
		// update replaces the Secret and lets the interval pass.
		update := func(data map[string]string) {
			GinkgoHelper()
			Expect(env.Client.Delete(context.Background(), secret(g.namespace, nil))).To(Succeed())
			if data != nil {
				Expect(env.Client.Create(context.Background(), secret(g.namespace, data))).To(Succeed())
			}
			g.later()
		}
		refused := func(words ...string) {
			GinkgoHelper()
			g.expectRefused(v1alpha1.ConditionRendered, failed, words...)
			Expect(message(g.get("app"), v1alpha1.ConditionRendered) + strings.Join(g.events.All(), "\n")).NotTo(ContainSubstring(password))
		}
		BeforeEach(func() {
			certificate = newCertificate(time.Hour)
			data = map[string]string{"username": "bob", "password": password, "caFile": pemOf(certificate)}
			options := gitserver.Options{Username: "bob", Password: password, TLS: &tls.Config{
				GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil },
			}}
			g = newFromGit(options, func(w *world, s *v1alpha1.GitSource) {
				s.SecretRef = &v1alpha1.LocalObjectReference{Name: "git"}
				Expect(env.Client.Create(context.Background(), secret(w.namespace, data))).To(Succeed())
			})
		})
		AfterEach(func() {
			g.push(map[string]string{"deploy/a.yaml": configMap("a", "mended")})
			g.expectMended("mended")
		})

		It("needs its Secret", func() {
			update(nil)
			refused("Secret "+g.namespace+"/git", "does not exist")
			Expect(env.Client.Create(context.Background(), secret(g.namespace, data))).To(Succeed())
		})
		It("needs the keys of its Secret", func() {
			update(map[string]string{"password": password})
			refused("Secret "+g.namespace+"/git", `key "username"`)
			update(data)
		})
		It("needs the right password", func() {
			update(map[string]string{"username": "bob", "password": password + "!", "caFile": data["caFile"]})
			refused("401", "does not accept the credentials of Secret "+g.namespace+"/git")
			update(data)
		})
		It("needs a certificate of a CA that is known", func() {
			update(map[string]string{"username": "bob", "password": password})
			refused("certificate", "caFile")
			update(data)
		})
		It("needs a certificate that has not expired", func() {
			good := certificate
			certificate = newCertificate(-time.Hour)
			update(map[string]string{"username": "bob", "password": password, "caFile": pemOf(certificate)})
			refused("certificate of the server has expired")
			certificate = good
			update(data)
		})
	})
})

// newCertificate makes a certificate of its own CA for 127.0.0.1 that ends after a while.
func newCertificate(lasts time.Duration) tls.Certificate {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(lasts),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func pemOf(certificate tls.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}))
}
