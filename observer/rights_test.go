package observer_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/testenv"
	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/observer"
)

// bound is a user with a role in the namespace of a world.
func (w *world) bound(name, kind, role, subresource string) testenv.User {
	GinkgoHelper()
	user := env.AddUser(GinkgoTB(), name)
	Expect(env.Client.Create(context.Background(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "user-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})).To(Succeed())
	right := authorizationv1.ResourceAttributes{Namespace: w.namespace, Verb: "get", Group: subresources.GroupVersion.Group, Resource: "releases",
		Subresource: subresource}
	Eventually(func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name, ResourceAttributes: &right}}
		Expect(env.Client.Create(context.Background(), review)).To(Succeed())
		return review.Status.Allowed
	}).WithTimeout(time.Minute).WithPolling(10 * time.Millisecond).Should(BeTrue())
	return user
}

// granted is a user who may get one subresource of the Releases, and nothing else.
func (w *world) granted(name, subresource string) testenv.User {
	GinkgoHelper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "only-"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{subresources.GroupVersion.Group}, Resources: []string{"releases/" + subresource}, Verbs: []string{"get"},
		}},
	}
	Expect(env.Client.Create(context.Background(), role)).To(Succeed())
	return w.bound(name, "Role", role.Name, subresource)
}

var _ = Describe("The right", func() {
	It("to each of history, diff and render is one of its own", func() {
		w := newWorld()
		w.create()
		ref := w.deploy(map[string]string{"a.yaml": configMap("a", "one")})
		paths := map[string]string{"history": "history", "diff": "diff", "render": "render?render=" + ref}
		for granted := range paths {
			user := w.granted("only-"+granted+"-"+w.namespace, granted)
			for asked, path := range paths {
				a := w.get(user, path)
				if asked == granted {
					Expect(a.code).To(Equal(http.StatusOK), "%s with a right to %s", asked, granted)
					continue
				}
				Expect(a.code).To(Equal(http.StatusForbidden), "%s with a right to %s", asked, granted)
				Expect(a.message).To(ContainSubstring(`cannot get resource "releases/` + asked + `"`))
			}
		}
	})

	It("to all three is part of convoy-view, and gives no right to write", func() {
		w := newWorld()
		w.create()
		viewer := w.bound("viewer-"+w.namespace, "ClusterRole", "convoy-view", "history")
		for _, what := range []string{"history", "diff?render=" + refA, "render?render=" + refA} {
			Expect(w.get(viewer, what).code).NotTo(Equal(http.StatusForbidden))
		}
		path := "/apis/" + subresources.GroupVersion.String() + "/namespaces/" + w.namespace + "/releases/app/"
		Expect(send(viewer, http.MethodPost, path+"sync", "{}").code).To(Equal(http.StatusForbidden))
		for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			a := send(viewer, verb, path+"history", "{}")
			Expect(a.code).To(BeElementOf(http.StatusForbidden, http.StatusMethodNotAllowed), verb)
		}
	})

	It("is that of the user whom the observer logs, whatever the request says", func() {
		w := newWorld()
		w.create()
		user := w.granted("alice-"+w.namespace, "history")
		Expect(w.get(user, "history").code).To(Equal(http.StatusOK))
		Expect(said.String()).To(MatchRegexp(`Answered a request\s+\{"user": "alice-` + w.namespace + `", "path": "/apis/subresources.convoy.dev/v1alpha1/namespaces/` +
			w.namespace + `/releases/app/history", "code": 200, "took": "`))
		Expect(said.String()).NotTo(ContainSubstring("mallory"))

		odd := w.granted("Ünder the sea/%41\u2028-"+w.namespace, "history")
		Expect(w.get(odd, "history").code).To(Equal(http.StatusOK))
		Expect(said.String()).To(ContainSubstring("Ünder the sea/%41"))
	})
})

// bodyOf are bodies that would do, if they got as far.
var bodyOf = map[string]string{http.MethodPost: "{}", http.MethodPut: "{}", http.MethodPatch: `{"metadata":{"labels":{"a":"b"}}}`, http.MethodDelete: "{}"}

// requestLog is a differ that keeps what it is asked.
type requestLog struct{ requests []live.DiffRequest }

func (l *requestLog) Diff(_ context.Context, req live.DiffRequest) ([]live.Change, error) {
	l.requests = append(l.requests, req)
	return nil, nil
}

var _ = Describe("A Release that names a ServiceAccount, or gets one by default", func() {
	It("is compared with its own objects alone, since its author may not read more", func() {
		for name, tc := range map[string]struct {
			account, byDefault string
			confined           bool
		}{
			"none": {"", "", false}, "its own": {"deployer", "", true}, "by default": {"", "deployer", true},
		} {
			w := newWorld()
			asked := &requestLog{}
			w.observe(func(o *observer.Options) { o.Differ, o.DefaultServiceAccount = asked, tc.byDefault })
			w.commit(map[string]string{"a.yaml": configMap("a", "one")})
			release := w.create(manual, func(r *v1alpha1.Release) { r.Spec.ServiceAccountName = tc.account })
			Expect(diffOf(w.admin("diff")).Changes).To(BeEmpty())
			Expect(asked.requests).To(ConsistOf(And(
				HaveField("Confined", tc.confined), HaveField("Owner", live.Owner{Namespace: w.namespace, Name: "app", UID: release.UID}),
				HaveField("Objects", HaveLen(1)), HaveField("Policy.Delete", true),
			)), name)
		}
	})
})

var _ = Describe("The ServiceAccount of the observer", func() {
	var w *world
	var user testenv.User
	BeforeEach(func() {
		w = newWorld()
		w.create()
		user = env.AddUser(GinkgoTB(), manifests.ObserverUser, "system:serviceaccounts", "system:serviceaccounts:convoy-system", "system:authenticated")
	})

	It("reads everything", func() {
		for _, path := range []string{
			"/api/v1/secrets", "/api/v1/namespaces/kube-system/configmaps", "/apis/apps/v1/deployments", "/apis/convoy.dev/v1alpha1/releases",
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		} {
			Expect(send(user, http.MethodGet, path, "").code).To(Equal(http.StatusOK), path)
		}
	})

	It("writes nothing", func() {
		Expect(env.Client.Create(context.Background(), w.newConfigMap("mine"))).To(Succeed())
		release := "/apis/convoy.dev/v1alpha1/namespaces/" + w.namespace + "/releases/app"
		sub := "/apis/subresources.convoy.dev/v1alpha1/namespaces/" + w.namespace + "/releases/app"
		core := "/api/v1/namespaces/" + w.namespace
		for _, request := range []string{
			"POST " + core + "/configmaps", "POST " + core + "/secrets", "POST " + core + "/configmaps?dryRun=All", "POST " + core + "/pods",
			"PUT " + core + "/configmaps/mine", "PATCH " + core + "/configmaps/mine", "PATCH " + core + "/configmaps/mine?dryRun=All",
			"PATCH " + core + "/configmaps/new?fieldManager=convoy&force=true", "DELETE " + core + "/configmaps/mine", "DELETE " + core + "/configmaps",
			"DELETE " + core + "/configmaps/mine?dryRun=All",
			"PUT " + release, "PATCH " + release, "PATCH " + release + "/status", "DELETE " + release,
			"POST /apis/convoy.dev/v1alpha1/namespaces/" + w.namespace + "/inventories",
			"PUT " + sub + "/pin", "PATCH " + sub + "/pin", "DELETE " + sub + "/pin", "POST " + sub + "/sync",
			"POST /api/v1/namespaces", "DELETE /api/v1/namespaces/" + w.namespace,
			"POST /apis/apps/v1/namespaces/" + w.namespace + "/deployments", "PATCH /apis/apps/v1/namespaces/" + w.namespace + "/deployments/a/scale",
			"POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			"POST " + core + "/serviceaccounts/default/token", "POST " + core + "/pods/a/eviction", "POST " + core + "/pods/a/exec?command=true",
			"POST " + core + "/events", "POST /apis/events.k8s.io/v1/namespaces/" + w.namespace + "/events",
			// A get that does more than to read.
			"GET " + core + "/pods/a/exec?command=true", "GET " + core + "/pods/a/attach", "GET " + core + "/pods/a/portforward",
			"GET " + core + "/pods/a/proxy/", "GET " + core + "/services/a/proxy/", "GET /api/v1/nodes/a/proxy/",
		} {
			method, path, _ := strings.Cut(request, " ")
			Expect(send(user, method, path, bodyOf[method]).code).To(Equal(http.StatusForbidden), request)
		}
	})

	It("acts for nobody else", func() {
		for name, impersonated := range map[string]rest.ImpersonationConfig{
			"a user": {UserName: "admin"}, "an administrator": {UserName: "x", Groups: []string{"system:masters"}},
			"a ServiceAccount": {UserName: manifests.ControllerManagerUser},
		} {
			config := rest.CopyConfig(user.Config)
			config.Impersonate = impersonated
			a := send(testenv.User{Config: config}, http.MethodGet, "/api/v1/namespaces", "")
			Expect(a.code).To(Equal(http.StatusForbidden), name)
			Expect(a.message).To(ContainSubstring("cannot impersonate"), name)
		}
	})
})
