package apiserver_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apiserver/apiservertest"
	"github.com/convoy-dev/convoy/internal/pki"
)

var _ = Describe("Without the webhooks", Serial, func() {
	var namespace string
	var alice caller
	BeforeEach(func() {
		namespace = env.Namespace(GinkgoTB())
		alice = pinner(namespace, "alice")
	})

	DescribeTable("no pin gets in unchecked, and the message says what is wrong", func(config client.Object, name string, obstacle func() int, want string) {
		release := applied(namespace)
		redirect(config, obstacle())
		pin := func() answer { return alice.put(release, pinOn(release, refB), "dryRun=All") }
		Eventually(func() int { return pin().code }).WithTimeout(time.Minute).Should(Equal(http.StatusInternalServerError))

		a := alice.put(release, pinOn(release, refB))
		Expect(a.code).To(Equal(http.StatusInternalServerError))
		Expect(a.status().Message).To(And(ContainSubstring(`failed calling webhook "`+name+`"`), ContainSubstring(want)))
		Expect(current(release)).To(Equal(release))
	},
		Entry("the mutating one is down", mutating(), "stamp.pin.convoy.dev", closedPort, "connection refused"),
		Entry("the validating one is down", validating(), "validate.pin.convoy.dev", closedPort, "connection refused"),
		Entry("the certificate of the mutating one has expired", mutating(), "stamp.pin.convoy.dev", expired, "certificate has expired"),
		Entry("the certificate of the validating one has expired", validating(), "validate.pin.convoy.dev", expired, "certificate has expired"),
		Entry("another authority signed the certificate", validating(), "validate.pin.convoy.dev", impostor, "unknown authority"),
	)

	It("an unpin by delete works, since it needs no check", func() {
		release := applied(namespace)
		Expect(alice.put(release, pinOn(release, refB)).code).To(Equal(http.StatusOK))
		redirect(mutating(), closedPort())
		Eventually(func() int { return alice.put(release, pinOn(release, refB), "dryRun=All").code }).WithTimeout(time.Minute).
			Should(Equal(http.StatusInternalServerError))
		Expect(alice.remove(release, nil).code).To(Equal(http.StatusOK))
		now := current(release)
		Expect(now.Pin).To(BeNil())
		Expect(now.Annotations).To(HaveKeyWithValue(v1alpha1.UnpinnedByAnnotation, "alice"))
	})

	It("being registered at all, pins are checked and stamped all the same", func() {
		for _, config := range []client.Object{mutating(), validating()} {
			redirect(config, closedPort()) // so that it shows when they are gone
		}
		release := applied(namespace)
		pin := func() int { return alice.put(release, pinOn(release, refB), "dryRun=All").code }
		Eventually(pin).WithTimeout(time.Minute).Should(Equal(http.StatusInternalServerError))
		for _, config := range []client.Object{mutating(), validating()} {
			unregister(config)
		}
		Eventually(pin).WithTimeout(time.Minute).Should(Equal(http.StatusOK))

		fresh := newRelease(namespace)
		Expect(alice.put(fresh, pinOn(fresh, refB)).code).To(Equal(http.StatusUnprocessableEntity))
		Expect(alice.put(release, pinOn(release, "latest")).code).To(Equal(http.StatusUnprocessableEntity))
		body := pinOn(release, "")
		body.Status.PinnedBy = "mallory"
		Expect(alice.put(release, body).code).To(Equal(http.StatusOK))
		now := current(release)
		Expect(now.Pin).To(And(HaveField("PinnedBy", "alice"), HaveField("RenderRef", refA)))
		Expect(requestedAt(now)).To(BeTemporally("~", time.Now(), time.Minute))
	})
})

var _ = Describe("Admission policies of others", Serial, func() {
	It("see who pins what, and refuse a pin", func() {
		namespace := env.Namespace(GinkgoTB())
		alice := pinner(namespace, "alice")
		release := applied(namespace)
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		Expect(yaml.Unmarshal([]byte(pinsEnd), policy)).To(Succeed())
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		binding.Name = policy.Name
		binding.Spec.PolicyName = policy.Name
		binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
		pin := func() answer { return alice.put(release, pinOn(release, refB), "dryRun=All") }
		code := func() int { return pin().code }
		DeferCleanup(func() { Eventually(code).WithTimeout(time.Minute).Should(Equal(http.StatusOK), "the policy is gone") })
		for _, object := range []client.Object{policy, binding} {
			Expect(env.Client.Create(context.Background(), object)).To(Succeed())
			DeferCleanup(func(ctx context.Context) error { return env.Client.Delete(ctx, object) })
		}
		Eventually(code).WithTimeout(time.Minute).Should(Equal(http.StatusUnprocessableEntity))
		Expect(pin().status().Message).To(ContainSubstring("spec.expiresAt: every pin of alice has to end"))
		body := pinOn(release, refB)
		body.Spec.ExpiresAt = new(metav1.NewTime(time.Now().Add(time.Hour)))
		Expect(alice.put(release, body).code).To(Equal(http.StatusOK))
		Expect(alice.remove(release, nil).code).To(Equal(http.StatusOK))
	})
})

// pinsEnd is the policy of docs/api-server.md, for alice.
const pinsEnd = `
metadata: {name: pins-end}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [subresources.convoy.dev], apiVersions: [v1alpha1], resources: [releases/pin], operations: [UPDATE]}
  validations:
  - expression: "!has(object.spec) || object.status.pinnedBy != 'alice' || has(object.spec.expiresAt)"
    message: "spec.expiresAt: every pin of alice has to end"
    reason: Invalid
`

func mutating() client.Object {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	config.Name = "convoy-pin"
	return config
}

func validating() client.Object {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	config.Name = "convoy-pin"
	return config
}

// closedPort is one that nobody listens on.
func closedPort() int {
	GinkgoHelper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// expired is the port of webhooks whose certificate has expired.
func expired() int {
	GinkgoHelper()
	template := pki.Server("convoy-webhook")
	template.NotAfter = time.Now().Add(-time.Second)
	return apiservertest.StartWebhooks(GinkgoTB(), env, server.Authority, template).Port
}

// impostor is the port of webhooks whose certificate another authority has signed.
func impostor() int {
	GinkgoHelper()
	authority, err := pki.NewAuthority("another")
	Expect(err).NotTo(HaveOccurred())
	return apiservertest.StartWebhooks(GinkgoTB(), env, authority, pki.Server("convoy-webhook")).Port
}

// redirect sends the calls of webhooks to another port, until the spec ends.
func redirect(config client.Object, port int) {
	GinkgoHelper()
	restoreAfter(config)
	change := func(c *admissionregistrationv1.WebhookClientConfig) {
		_, path, _ := strings.Cut(strings.TrimPrefix(*c.URL, "https://"), "/")
		*c.URL = fmt.Sprintf("https://127.0.0.1:%d/%s", port, path)
	}
	switch config := config.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		change(&config.Webhooks[0].ClientConfig)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		change(&config.Webhooks[0].ClientConfig)
	}
	Expect(env.Client.Update(context.Background(), config)).To(Succeed())
}

// unregister makes API servers forget webhooks, until the spec ends.
func unregister(config client.Object) {
	GinkgoHelper()
	Expect(env.Client.Delete(context.Background(), config)).To(Succeed())
}

// restoreAfter reads a configuration, and writes it again after the spec. It waits until pins work again.
func restoreAfter(config client.Object) {
	GinkgoHelper()
	Expect(env.Client.Get(context.Background(), client.ObjectKeyFromObject(config), config)).To(Succeed())
	original, ok := config.DeepCopyObject().(client.Object)
	Expect(ok).To(BeTrue())
	original.SetResourceVersion("")
	original.SetUID("")
	original.SetManagedFields(nil)
	DeferCleanup(func() {
		Expect(client.IgnoreNotFound(env.Client.Delete(context.Background(), config))).To(Succeed())
		Expect(env.Client.Create(context.Background(), original)).To(Succeed())
		release := applied(env.Namespace(GinkgoTB()))
		Eventually(func() int { return admin().put(release, pinOn(release, refB), "dryRun=All").code }).WithTimeout(time.Minute).Should(Equal(http.StatusOK))
	})
}
