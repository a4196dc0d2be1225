package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/testenv"
)

var _ = Describe("kubectl", func() {
	var namespace string
	var alice testenv.User
	BeforeEach(func() {
		namespace = env.Namespace(GinkgoTB())
		alice = granted(namespace, "alice", "convoy-pin")
	})
	resource := func(release *v1alpha1.Release) []string {
		return []string{"releases.subresources.convoy.dev", release.Name, "--subresource=pin", "-n", namespace}
	}

	It("pins, shows, edits and unpins, as a user who may only pin", func() {
		release := applied(namespace)
		said, ok := kubectl(alice, "", append([]string{"patch", "--type=merge", "-p", `{"spec":{"reason":"INC-1234"}}`}, resource(release)...)...)
		Expect(ok).To(BeTrue(), said)
		Expect(current(release).Pin).To(And(HaveField("RenderRef", refA), HaveField("PinnedBy", "alice")))

		said, ok = kubectl(alice, "", append([]string{"get"}, resource(release)...)...)
		Expect(ok).To(BeTrue(), said)
		Expect(said).To(MatchRegexp(`NAME +RENDER +INTENT +PINNED-BY +PINNED-AT +EXPIRES-AT\n` + release.Name + ` +aaaaaaaaaaaa +freeze +alice +20\S+Z +\n`))
		said, _ = kubectl(alice, "", append([]string{"get", "-o", "wide"}, resource(release)...)...)
		Expect(said).To(ContainSubstring("INC-1234"))

		said, ok = kubectl(alice, "", append([]string{"edit"}, resource(release)...)...)
		Expect(ok).To(BeTrue(), said)
		Expect(current(release).Pin).To(And(HaveField("RenderRef", refB), HaveField("Reason", "INC-1234")))

		said, ok = kubectl(alice, encoded(pinOn(release, refA)), "replace", "--subresource=pin", "-f", "-")
		Expect(ok).To(BeTrue(), said)
		Expect(current(release).Pin.RenderRef).To(Equal(refA))

		said, ok = kubectl(alice, encoded(pinOn(release, refB)), "apply", "--server-side", "--force-conflicts", "--subresource=pin", "-f", "-")
		Expect(ok).To(BeTrue(), said)
		Expect(current(release).Pin.RenderRef).To(Equal(refB))

		said, ok = kubectl(alice, "", append([]string{"patch", "--type=merge", "-p", `{"spec":null}`}, resource(release)...)...)
		Expect(ok).To(BeTrue(), said)
		Expect(current(release).Pin).To(BeNil())
		said, _ = kubectl(alice, "", append([]string{"get", "--no-headers"}, resource(release)...)...)
		Expect(said).To(MatchRegexp(`^` + release.Name + `\s*$`))
	})

	It("replaces a pin by the sample", func() {
		root, err := controlplane.Root()
		Expect(err).NotTo(HaveOccurred())
		content, err := os.ReadFile(filepath.Join(root, "config", "samples", "pin.yaml"))
		Expect(err).NotTo(HaveOccurred())
		release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "podinfo"}}
		release.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}
		Expect(env.Client.Create(context.Background(), release)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return env.Client.Delete(ctx, release) })
		setApplied(release, refA)
		said, ok := kubectl(env.User, string(content), "replace", "--subresource=pin", "-f", "-")
		Expect(ok).To(BeTrue(), said)
		Expect(current(release).Pin).To(And(HaveField("RenderRef", refA), HaveField("ExpiresAt.Time.Year()", 2099)))
	})

	It("sends raw requests", func() {
		release := applied(namespace)
		path := fmt.Sprintf("/apis/%s/namespaces/%s/releases/%s/", subresources.GroupVersion, namespace, release.Name)
		said, ok := kubectl(alice, encoded(pinOn(release, refB)), "replace", "--raw", path+"pin", "-f", "-")
		Expect(ok).To(BeTrue(), said)
		said, ok = kubectl(alice, "", "get", "--raw", path+"pin")
		Expect(ok).To(BeTrue(), said)
		Expect(said).To(ContainSubstring(refB))
		said, ok = kubectl(alice, "{}", "create", "--raw", path+"sync", "-f", "-")
		Expect(ok).To(BeTrue(), said)
		Expect(said).To(ContainSubstring(current(release).Annotations[v1alpha1.SyncRequestedAtAnnotation]))
		said, ok = kubectl(alice, "", "delete", "--raw", path+"pin")
		Expect(ok).To(BeTrue(), said)
		Expect(current(release).Pin).To(BeNil())
	})

	It("answers whether one may pin", func() {
		release := applied(namespace)
		question := []string{"auth", "can-i", "update", "releases.subresources.convoy.dev/" + release.Name, "--subresource=pin", "-n", namespace}
		said, ok := kubectl(alice, "", question...)
		Expect(ok).To(BeTrue(), said)
		Expect(said).To(Equal("yes\n"))
		said, _ = kubectl(env.AddUser(GinkgoTB(), "nobody"), "", question...)
		Expect(said).To(HavePrefix("no"))
	})

	It("still means the Releases of convoy.dev by releases", func() {
		release := applied(namespace)
		said, ok := kubectl(env.User, "", "get", "releases", "-n", namespace, "-o", "name")
		Expect(ok).To(BeTrue(), said)
		Expect(said).To(Equal("release.convoy.dev/" + release.Name + "\n"))
		said, ok = kubectl(env.User, "", "explain", "releases.pin")
		Expect(ok).To(BeTrue(), said)
		Expect(said).To(ContainSubstring("GROUP:      convoy.dev"))
		said, ok = kubectl(env.User, "", "api-resources", "--api-group="+subresources.GroupVersion.Group)
		Expect(ok).To(BeTrue(), said)
		Expect(said).NotTo(ContainSubstring("releases"))
	})
})

var _ = Describe("The API", func() {
	It("is discovered", func() {
		c, err := discovery.NewDiscoveryClientForConfig(env.Config)
		Expect(err).NotTo(HaveOccurred())
		list, err := c.ServerResourcesForGroupVersion(subresources.GroupVersion.String())
		Expect(err).NotTo(HaveOccurred())
		verbs := map[string][]string{}
		for _, resource := range list.APIResources {
			Expect(resource.Namespaced).To(BeTrue())
			verbs[resource.Name] = resource.Verbs
		}
		Expect(verbs).To(Equal(map[string][]string{
			"releases": {}, "releases/pin": {"delete", "get", "patch", "update"}, "releases/sync": {"create"},
			"releases/history": {"get"}, "releases/diff": {"get"}, "releases/render": {"get"},
		}))
	})

	It("is described in OpenAPI v2 and v3", func() {
		var v2 struct {
			Paths       map[string]any
			Definitions map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
		read("/openapi/v2", &v2)
		for _, subresource := range []string{"pin", "sync", "history", "diff", "render"} {
			Expect(v2.Paths).To(HaveKey("/apis/" + subresources.GroupVersion.String() + "/namespaces/{namespace}/releases/{name}/" + subresource))
		}
		spec := v2.Definitions["dev.convoy.subresources.v1alpha1.ReleasePinSpec"]
		Expect(spec.Properties["renderRef"].Description).To(ContainSubstring("64 lower-case hex digits"))

		var v3 struct {
			Components struct {
				Schemas map[string]map[string]json.RawMessage
			}
		}
		read("/openapi/v3/apis/"+subresources.GroupVersion.String(), &v3)
		for _, kind := range []string{"ReleaseHistory", "ReleaseDiff", "ReleaseRender"} {
			Expect(v3.Components.Schemas).To(HaveKey("dev.convoy.subresources.v1alpha1." + kind))
		}
		pin := v3.Components.Schemas["dev.convoy.subresources.v1alpha1.ReleasePin"]
		Expect(string(pin["x-kubernetes-group-version-kind"])).To(MatchJSON(`[{"group":"subresources.convoy.dev","kind":"ReleasePin","version":"v1alpha1"}]`))
	})

	It("answers 503 for what the observer serves, and says so, where there is none", func() {
		release := applied(env.Namespace(GinkgoTB()))
		for _, subresource := range []string{"history", "diff", "render"} {
			a := admin().send(http.MethodGet, release, subresource, "", "", nil)
			Expect(a.code).To(Equal(http.StatusServiceUnavailable))
			Expect(a.status().Message).To(ContainSubstring("--observer-url"))
		}
	})

	It("has no Releases of its own", func() {
		release := applied(env.Namespace(GinkgoTB()))
		path := fmt.Sprintf("/apis/%s/namespaces/%s/releases", subresources.GroupVersion, release.Namespace)
		for _, path := range []string{path, path + "/" + release.Name} {
			var code int
			admin().requests.Get().AbsPath(path).Do(context.Background()).StatusCode(&code)
			Expect(code).To(Equal(http.StatusNotFound), path)
		}
	})

	It("is used by controller-runtime", func() {
		release := applied(env.Namespace(GinkgoTB()))
		scheme := testenv.Scheme()
		Expect(subresources.AddToScheme(scheme)).To(Succeed())
		c, err := client.New(env.Config, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		parent := pinOn(release, "")
		Expect(c.SubResource("pin").Update(context.Background(), parent, client.WithSubResourceBody(pinOn(release, refB)))).To(Succeed())
		Expect(current(release).Pin.RenderRef).To(Equal(refB))
	})
})

var _ = Describe("Asked directly", func() {
	var release *v1alpha1.Release
	BeforeEach(func() { release = applied(env.Namespace(GinkgoTB())) })

	// direct reaches convoy-apiserver itself with the credentials of a configuration.
	direct := func(config *rest.Config) caller {
		GinkgoHelper()
		config = rest.CopyConfig(config)
		config.Host = fmt.Sprintf("https://127.0.0.1:%d", server.Port)
		config.CAData, config.ServerName = server.Authority.Cert(), manifests.APIServerName
		return as(testenv.User{Config: config})
	}

	It("the server knows the users of the cluster, and asks what they may do", func() {
		Expect(direct(env.Config).get(release).code).To(Equal(http.StatusOK))
		Expect(direct(granted(release.Namespace, "alice", "convoy-pin").Config).put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		Expect(current(release).Pin.PinnedBy).To(Equal("alice"))
		Expect(direct(env.AddUser(GinkgoTB(), "nobody").Config).get(release).code).To(Equal(http.StatusForbidden))
		Expect(direct(rest.AnonymousClientConfig(env.Config)).get(release).code).To(Equal(http.StatusForbidden))
	})

	It("the server knows ServiceAccounts by their tokens", func() {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: "robot"}}
		Expect(env.Client.Create(context.Background(), account)).To(Succeed())
		request := &authenticationv1.TokenRequest{}
		Expect(env.Client.SubResource("token").Create(context.Background(), account, request)).To(Succeed())
		config := rest.AnonymousClientConfig(env.Config)
		config.BearerToken = request.Status.Token
		a := direct(config).put(release, pinOn(release, refB))
		Expect(a.code).To(Equal(http.StatusForbidden))
		Expect(a.status().Message).To(ContainSubstring(`User "system:serviceaccount:` + release.Namespace + `:robot" cannot`))
	})

	It("nobody but kube-apiserver may speak for somebody else", func() {
		for name, config := range map[string]*rest.Config{
			"nobody": rest.AnonymousClientConfig(env.Config), "a user": env.AddUser(GinkgoTB(), "nobody").Config,
		} {
			config = rest.CopyConfig(config)
			config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
				return headers{next, map[string]string{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}}
			}
			Expect(direct(config).patch(release, types.MergePatchType, `{"spec":{}}`).code).To(Equal(http.StatusForbidden), name)
		}
		Expect(current(release).Pin).To(BeNil())
	})

	It("the server tells probes how it is", func() {
		for _, path := range []string{"/livez", "/readyz", "/healthz"} {
			content, err := direct(rest.AnonymousClientConfig(env.Config)).requests.Get().AbsPath(path).DoRaw(context.Background())
			Expect(err).NotTo(HaveOccurred(), path)
			Expect(string(content)).To(Equal("ok"))
		}
	})
})

// headers adds headers to requests.
type headers struct {
	next http.RoundTripper
	add  map[string]string
}

func (h headers) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, value := range h.add {
		request.Header.Set(name, value)
	}
	return h.next.RoundTrip(request)
}

// read reads a document of kube-apiserver once it is complete: it gathers the parts of other servers in the background.
func read(path string, into any) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		content, err := admin().requests.Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(context.Background())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(content)).To(ContainSubstring("ReleasePinSpec"))
		g.Expect(json.Unmarshal(content, into)).To(Succeed())
	}).WithTimeout(2 * 60e9).Should(Succeed())
}
