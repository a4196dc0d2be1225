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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

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
	base := release.DeepCopy()
	release.Status.LastSuccessful = &v1alpha1.RenderRecord{RenderRef: ref, Time: metav1.Now().Rfc3339Copy()}
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

// answer is what a server answered.
type answer struct {
	code int
	body []byte
	err  error
}

// pin is the answer, if it is a pin.
func (a answer) pin() *subresources.ReleasePin {
	GinkgoHelper()
	Expect(a.err).NotTo(HaveOccurred())
	pin := &subresources.ReleasePin{}
	Expect(json.Unmarshal(a.body, pin)).To(Succeed())
	return pin
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
			encoded, err := json.Marshal(body)
			Expect(err).NotTo(HaveOccurred())
			content = string(encoded)
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

// pinOn is the body of a request that pins a Release.
func pinOn(release *v1alpha1.Release, ref string) *subresources.ReleasePin {
	pin := &subresources.ReleasePin{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: release.Name}}
	pin.SetGroupVersionKind(subresources.GroupVersion.WithKind("ReleasePin"))
	pin.Spec = &subresources.ReleasePinSpec{RenderRef: ref, Reason: "INC-1234"}
	return pin
}
