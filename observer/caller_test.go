package observer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// answer is what kube-apiserver answered.
type answer struct {
	code    int
	header  http.Header
	body    []byte
	message string // of an error
	reason  metav1.StatusReason
}

// get asks for a subresource of the Release, such as "history?limit=1", as a user.
func (w *world) get(user testenv.User, what string) answer {
	GinkgoHelper()
	path := "/apis/" + subresources.GroupVersion.String() + "/namespaces/" + w.namespace + "/releases/app/" + what
	return send(user, http.MethodGet, path, "")
}

// admin asks as the administrator.
func (w *world) admin(what string) answer {
	GinkgoHelper()
	return w.get(env.User, what)
}

// send sends a request to kube-apiserver, as it is.
func send(user testenv.User, method, path, body string) answer {
	GinkgoHelper()
	transport, err := rest.HTTPClientFor(user.Config)
	Expect(err).NotTo(HaveOccurred())
	server, _, err := rest.DefaultServerUrlFor(user.Config)
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(context.Background(), method, "https://"+server.Host+path, bytes.NewBufferString(body))
	Expect(err).NotTo(HaveOccurred())
	switch {
	case method == http.MethodPatch:
		request.Header.Set("Content-Type", string(types.MergePatchType))
	case body != "":
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("X-Convoy-User", "mallory")
	response, err := transport.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	a := answer{code: response.StatusCode, header: response.Header}
	a.body, err = io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	if a.code >= http.StatusBadRequest {
		var status metav1.Status
		Expect(json.Unmarshal(a.body, &status)).To(Succeed(), "%d %s", a.code, a.body)
		Expect(status.Kind).To(Equal("Status"))
		Expect(status.Code).To(BeEquivalentTo(a.code))
		a.message, a.reason = status.Message, status.Reason
	}
	return a
}

// decoded is the answer as an object.
func decoded[T any](a answer) T {
	GinkgoHelper()
	Expect(a.code).To(Equal(http.StatusOK), a.message)
	var object T
	Expect(json.Unmarshal(a.body, &object)).To(Succeed())
	return object
}

func history(a answer) subresources.ReleaseHistory {
	GinkgoHelper()
	return decoded[subresources.ReleaseHistory](a)
}

func diffOf(a answer) subresources.ReleaseDiff {
	GinkgoHelper()
	return decoded[subresources.ReleaseDiff](a)
}
