package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// Renders that tests pin.
var (
	refA = "sha256:" + strings.Repeat("a", 64)
	refB = "sha256:" + strings.Repeat("b", 64)
)

// newRelease creates a Release that convoy has not seen yet.
func newRelease(namespace string) *v1alpha1.Release {
	GinkgoHelper()
	release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "app-"}}
	release.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}
	Expect(env.Client.Create(context.Background(), release)).To(Succeed())
	return release
}

// applied creates a Release that has applied render A in full.
func applied(namespace string) *v1alpha1.Release {
	GinkgoHelper()
	release := newRelease(namespace)
	return setApplied(release, refA)
}

// setApplied writes into the status of a Release that a render was applied in full.
func setApplied(release *v1alpha1.Release, ref string) *v1alpha1.Release {
	GinkgoHelper()
	return setStatus(release, func(s *v1alpha1.ReleaseStatus) {
		s.LastSuccessful = &v1alpha1.RenderRecord{RenderRef: ref, Time: metav1.Now().Rfc3339Copy()}
	})
}

// setStatus writes into the status of a Release, as convoy does.
func setStatus(release *v1alpha1.Release, change func(*v1alpha1.ReleaseStatus)) *v1alpha1.Release {
	GinkgoHelper()
	base := release.DeepCopy()
	change(&release.Status)
	Expect(env.Client.Status().Patch(context.Background(), release, client.MergeFrom(base))).To(Succeed())
	return release
}

// current reads a Release.
func current(release *v1alpha1.Release) *v1alpha1.Release {
	GinkgoHelper()
	now := &v1alpha1.Release{}
	Expect(env.Client.Get(context.Background(), client.ObjectKeyFromObject(release), now)).To(Succeed())
	return now
}

// caller sends requests as a user.
type caller struct{ requests rest.Interface }

// as sends requests as a user with groups.
func as(user testenv.User) caller {
	GinkgoHelper()
	c, err := discovery.NewDiscoveryClientForConfig(user.Config)
	Expect(err).NotTo(HaveOccurred())
	return caller{c.RESTClient()}
}

func admin() caller { return as(env.User) }

// pinner is a user who may pin in a namespace, and nothing else.
func pinner(namespace, name string) caller {
	GinkgoHelper()
	return as(granted(namespace, name, "convoy-pin"))
}

// granted is a user with ClusterRoles in a namespace.
func granted(namespace, name string, roles ...string) testenv.User {
	GinkgoHelper()
	user := env.AddUser(GinkgoTB(), name)
	for _, role := range roles {
		bind(namespace, name, role)
		awaitGrant(namespace, name, role)
	}
	return user
}

// bind gives a user a ClusterRole in a namespace.
func bind(namespace, name, role string) {
	GinkgoHelper()
	Expect(env.Client.Create(context.Background(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})).To(Succeed())
}

// impersonating is a user who acts for another one.
func impersonating(user testenv.User, name string) testenv.User {
	config := rest.CopyConfig(user.Config)
	config.Impersonate.UserName = name
	return testenv.User{Config: config}
}

// answer is what a server answered.
type answer struct {
	code int
	body []byte
	err  error
}

// pin is the answer, if it is a pin.
func (a answer) pin() *subresources.ReleasePin {
	GinkgoHelper()
	return decoded[subresources.ReleasePin](a)
}

// decoded is an answer that is an object.
func decoded[T any](a answer) *T {
	GinkgoHelper()
	Expect(a.err).NotTo(HaveOccurred())
	object := new(T)
	Expect(json.Unmarshal(a.body, object)).To(Succeed())
	return object
}

// status is the answer, if it is an error.
func (a answer) status() metav1.Status {
	GinkgoHelper()
	var status apierrors.APIStatus
	Expect(a.err).To(MatchError(func(err error) bool { s, ok := err.(apierrors.APIStatus); status = s; return ok }, "be an API status"))
	return status.Status()
}

// send sends a request on a subresource. The query is that of a URL.
func (c caller) send(verb string, release *v1alpha1.Release, subresource, query string, contentType types.PatchType, body any) answer {
	GinkgoHelper()
	path := fmt.Sprintf("/apis/%s/namespaces/%s/releases/%s/%s?%s", subresources.GroupVersion, release.Namespace, release.Name, subresource, query)
	request := c.requests.Verb(verb).RequestURI(path).Timeout(time.Minute)
	if body != nil {
		content, ok := body.(string)
		if !ok {
			content = encoded(body)
		}
		if contentType == "" {
			contentType = "application/json"
		}
		request = request.SetHeader("Content-Type", string(contentType)).Body([]byte(content))
	}
	var a answer
	result := request.Do(context.Background()).StatusCode(&a.code)
	a.body, a.err = result.Raw()
	if a.err != nil {
		a.err = result.Error() // with the status
	}
	return a
}

func (c caller) get(release *v1alpha1.Release) answer {
	GinkgoHelper()
	return c.send(http.MethodGet, release, "pin", "", "", nil)
}

func (c caller) put(release *v1alpha1.Release, body any, query ...string) answer {
	GinkgoHelper()
	return c.send(http.MethodPut, release, "pin", strings.Join(query, "&"), "", body)
}

func (c caller) patch(release *v1alpha1.Release, kind types.PatchType, body any, query ...string) answer {
	GinkgoHelper()
	return c.send(http.MethodPatch, release, "pin", strings.Join(query, "&"), kind, body)
}

func (c caller) remove(release *v1alpha1.Release, body any, query ...string) answer {
	GinkgoHelper()
	return c.send(http.MethodDelete, release, "pin", strings.Join(query, "&"), "", body)
}

func (c caller) sync(release *v1alpha1.Release, body any, query ...string) answer {
	GinkgoHelper()
	return c.send(http.MethodPost, release, "sync", strings.Join(query, "&"), "", body)
}

// main is the code of a request on the Releases themselves: on one if it is named, else on all of the namespace.
func (c caller) main(verb string, release *v1alpha1.Release, name, body string) int {
	GinkgoHelper()
	path := "/apis/" + v1alpha1.GroupVersion.String() + "/namespaces/" + release.Namespace + "/releases/" + name
	request := c.requests.Verb(verb).AbsPath(path)
	if body != "" {
		contentType := "application/json"
		if verb == http.MethodPatch {
			contentType = string(types.MergePatchType)
		}
		request = request.SetHeader("Content-Type", contentType).Body([]byte(body))
	}
	var code int
	request.Do(context.Background()).StatusCode(&code)
	return code
}

// pinOn is the body of a request that pins a Release.
func pinOn(release *v1alpha1.Release, ref string) *subresources.ReleasePin {
	pin := &subresources.ReleasePin{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: release.Name}}
	pin.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleasePin"))
	pin.Spec = &subresources.ReleasePinSpec{RenderRef: ref, Reason: "INC-1234"}
	return pin
}

// haveMetadataOf matches a pin that has the metadata of a Release, and no more.
func haveMetadataOf(release *v1alpha1.Release) gomegatypes.GomegaMatcher {
	return HaveField("ObjectMeta", Equal(metav1.ObjectMeta{
		Namespace: release.Namespace, Name: release.Name, UID: release.UID, ResourceVersion: release.ResourceVersion, Annotations: release.Annotations,
	}))
}

// releaseObject reads a Release with all its fields.
func releaseObject(release *v1alpha1.Release) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Release"))
	Expect(env.Client.Get(context.Background(), client.ObjectKeyFromObject(release), object)).To(Succeed())
	return object
}

// lastOf is a right that each role has, and no smaller one.
var lastOf = map[string]authorizationv1.ResourceAttributes{
	"convoy-view":     {Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "releases"},
	"convoy-pin":      {Verb: "update", Group: subresources.GroupVersion.Group, Resource: "releases", Subresource: "pin"},
	"convoy-operator": {Verb: "update", Group: subresources.GroupVersion.Group, Resource: "releases", Subresource: "pin"},
	"convoy-write":    {Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: "releases"},
	"convoy-edit":     {Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: "releases"},
}

// awaitGrant waits until the API server knows of a grant. Of what it does not know yet, convoy-apiserver would keep the refusal for 10 s.
func awaitGrant(namespace, user, role string) {
	GinkgoHelper()
	right := lastOf[role]
	right.Namespace = namespace
	Eventually(func() bool { return may(user, right) }).WithTimeout(time.Minute).WithPolling(10 * time.Millisecond).Should(BeTrue())
}

// may says whether a user has a right.
func may(user string, right authorizationv1.ResourceAttributes) bool {
	GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right}}
	Expect(env.Client.Create(context.Background(), review)).To(Succeed())
	return review.Status.Allowed
}
