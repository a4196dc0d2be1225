package apiserver_test

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("The roles", Ordered, func() {
	// It fills in the aggregated ones.
	BeforeAll(func() { env.StartControllerManager(GinkgoTB()) })

	var namespace string
	BeforeEach(func() { namespace = env.Namespace(GinkgoTB()) })

	// outcomes are the codes of one request of each kind, by a user.
	outcomes := func(user caller) map[string]int {
		GinkgoHelper()
		release := applied(namespace)
		return map[string]int{
			"list":    user.main(http.MethodGet, release, "", ""),
			"get":     user.main(http.MethodGet, release, release.Name, ""),
			"create":  user.main(http.MethodPost, release, "", manifest(release, renamed)),
			"get pin": user.get(release).code,
			"pin":     user.put(release, pinOn(release, refA)).code,
			"patch":   user.main(http.MethodPatch, release, release.Name, `{"metadata":{"labels":{"team":"a"}}}`),
			"unpin":   user.remove(release, nil).code,
			"sync":    user.sync(release, "{}").code,
			"delete":  user.main(http.MethodDelete, release, release.Name, ""),
		}
	}
	const ok, created, no = http.StatusOK, http.StatusCreated, http.StatusForbidden

	DescribeTable("give what they say, and no more", func(want map[string]int, roles ...string) {
		Expect(outcomes(as(granted(namespace, "carol", roles...)))).To(Equal(want))
	},
		Entry("convoy-view", map[string]int{
			"list": ok, "get": ok, "create": no, "get pin": no, "pin": no, "patch": no, "unpin": no, "sync": no, "delete": no,
		}, "convoy-view"),
		Entry("convoy-pin: a user who may only pin can do nothing else", map[string]int{
			"list": no, "get": no, "create": no, "get pin": ok, "pin": ok, "patch": no, "unpin": ok, "sync": created, "delete": no,
		}, "convoy-pin"),
		Entry("convoy-operator", map[string]int{
			"list": ok, "get": ok, "create": no, "get pin": ok, "pin": ok, "patch": no, "unpin": ok, "sync": created, "delete": no,
		}, "convoy-operator"),
		Entry("convoy-write: a user who may edit Releases but not pin cannot pin", map[string]int{
			"list": ok, "get": ok, "create": created, "get pin": no, "pin": no, "patch": ok, "unpin": no, "sync": no, "delete": ok,
		}, "convoy-view", "convoy-write"),
		Entry("convoy-edit", map[string]int{
			"list": ok, "get": ok, "create": created, "get pin": ok, "pin": ok, "patch": ok, "unpin": ok, "sync": created, "delete": ok,
		}, "convoy-edit"),
		Entry("none", map[string]int{
			"list": no, "get": no, "create": no, "get pin": no, "pin": no, "patch": no, "unpin": no, "sync": no, "delete": no,
		}),
	)

	It("say what is missing", func() {
		release := applied(namespace)
		a := as(env.AddUser(GinkgoTB(), "nobody")).get(release)
		Expect(a.status().Message).To(ContainSubstring(
			`User "nobody" cannot get resource "releases/pin" in API group "subresources.convoy.dev" in the namespace "` + namespace + `"`))
	})

	It("are not given in other namespaces", func() {
		release := applied(env.Namespace(GinkgoTB()))
		Expect(pinner(namespace, "carol").put(release, pinOn(release, refA)).code).To(Equal(no))
	})

	It("of Kubernetes read Releases, and do no more: whoever writes one deploys with the rights of convoy", func() {
		for _, role := range []string{"view", "edit", "admin"} {
			user := "of-" + role
			bind(namespace, user, role)
			right := authorizationv1.ResourceAttributes{Namespace: namespace, Group: v1alpha1.GroupVersion.Group, Resource: "releases"}
			right.Verb = "list"
			Eventually(func() bool { return may(user, right) }).WithTimeout(time.Minute).Should(BeTrue(), role)
			right.Verb = "create"
			Expect(may(user, right)).To(BeFalse(), role)
			right = authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: subresources.GroupVersion.Group, Resource: "releases", Subresource: "pin", Verb: "update",
			}
			Expect(may(user, right)).To(BeFalse(), role)
		}
	})
})
