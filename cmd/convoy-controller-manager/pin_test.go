package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apiserver/apiservertest"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/internal/pki"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// guarded is a team in a cluster with convoy-apiserver, whose webhooks a manager serves, with a certificate in certDir.
type guarded struct {
	*team
	pins     client.Client
	server   *apiservertest.Server
	certDir  string
	webhooks string // their address
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	env := testenv.Start(t, testenv.WithAggregation())
	w := &guarded{
		team:   &team{T: t, env: env, namespace: env.Namespace(t), storeDir: t.TempDir()},
		server: apiservertest.Start(t, env), certDir: t.TempDir(), webhooks: testenv.FreeAddress(t),
	}
	scheme := testenv.Scheme()
	w.must(subresources.AddToScheme(scheme))
	var err error
	w.pins, err = client.New(env.Config, client.Options{Scheme: scheme})
	w.must(err)
	w.certify()
	w.redirect()
	return w
}

// certify writes a new certificate for the webhooks.
func (w *guarded) certify() {
	w.Helper()
	pair, err := w.server.Authority.Sign(pki.Server("convoy-webhook"))
	w.must(err)
	w.must(pair.Write(w.certDir, "tls"))
}

// redirect makes convoy-apiserver call the webhooks of the manager.
func (w *guarded) redirect() {
	w.Helper()
	move := func(c *admissionregistrationv1.WebhookClientConfig) {
		_, path, _ := strings.Cut(strings.TrimPrefix(*c.URL, "https://"), "/")
		*c.URL = "https://" + w.webhooks + "/" + path
	}
	name := client.ObjectKey{Name: "convoy-pin"}
	stamps, checks := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	w.must(errors.Join(w.env.Client.Get(w.Context(), name, stamps), w.env.Client.Get(w.Context(), name, checks)))
	move(&stamps.Webhooks[0].ClientConfig)
	move(&checks.Webhooks[0].ClientConfig)
	w.must(errors.Join(w.env.Client.Update(w.Context(), stamps), w.env.Client.Update(w.Context(), checks)))
}

// startManager starts a manager with the rights of its ServiceAccount.
func (w *guarded) startManager() *process {
	w.Helper()
	_, port, err := net.SplitHostPort(w.webhooks)
	w.must(err)
	user := w.env.AddUser(w, manifests.ControllerManagerUser)
	return startManager(w.T, user.Kubeconfig, "--render-store-url="+w.storeURL(), "--webhook-port="+port, "--webhook-cert-dir="+w.certDir)
}

// pin pins a Release, or takes the pin off.
func (w *guarded) pin(name string, spec *subresources.ReleasePinSpec) error {
	pin := &subresources.ReleasePin{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: spec}
	return w.pins.SubResource("pin").Update(w.Context(), pin.DeepCopy(), client.WithSubResourceBody(pin))
}

func TestAPinGoesAllTheWay(t *testing.T) {
	w := newGuarded(t)
	w.setSource(map[string]string{"a.yaml": configMap("a", "one", 0)})
	manager := w.startManager()
	w.create("app", fromSource, hourly)
	first := w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded").Status.LastSuccessful.RenderRef
	w.setSource(map[string]string{"a.yaml": configMap("a", "two", 0)})
	w.awaitValue("a", "two")
	w.awaitHistory("app", 2)

	w.must(w.pin("app", &subresources.ReleasePinSpec{RenderRef: first, Reason: "INC-1234"}))
	w.awaitValue("a", "one")
	w.must(w.pin("app", nil))
	w.awaitValue("a", "two")

	// The guard lets convoy end a pin, once it has expired.
	w.must(w.pin("app", &subresources.ReleasePinSpec{RenderRef: first, ExpiresAt: new(metav1.NewTime(time.Now().Add(5 * time.Second)))}))
	w.awaitValue("a", "one")
	w.awaitValue("a", "two")
	if pin := w.get("app").Pin; pin != nil {
		t.Errorf("the pin is still there: %+v", pin)
	}
	w.awaitEvent("The pin of render", "has expired")

	// The webhooks are those of the manager: without it, no pin gets in.
	manager.wantNoErrors()
	manager.terminate()
	if err := w.pin("app", &subresources.ReleasePinSpec{}); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a pin without the webhooks: %v", err)
	}
}

func TestAPinThatCannotBeEndedHolds(t *testing.T) {
	w := newGuarded(t)
	w.setSource(map[string]string{"a.yaml": configMap("a", "one", 0)})
	manager := w.startManager()
	w.create("app", fromSource, hourly)
	w.awaitCondition("app", v1alpha1.ConditionReady, "True Succeeded")
	expires := metav1.NewTime(time.Now().Add(2 * time.Second))
	w.must(w.pin("app", &subresources.ReleasePinSpec{ExpiresAt: &expires}))
	// From here on kube-apiserver does not note who writes what, and so not when.
	reset := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
	w.must(w.env.Client.Patch(t.Context(), w.get("app"), reset))
	w.eventually("the controller to try", func() error {
		if !strings.Contains(manager.output.String(), "The expired pin cannot be taken off, so it holds") {
			return errors.New("it has not")
		}
		return nil
	})
	w.setSource(map[string]string{"a.yaml": configMap("a", "two", 0)})
	w.must(w.env.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}}))
	w.awaitValue("a", "one")
	w.must(w.pin("app", nil))
	w.awaitValue("a", "two")
	manager.wantNoErrors()
}

// awaitEvent waits for an event whose note has all these parts.
func (w *guarded) awaitEvent(parts ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("an event with %q", parts), func() error {
		var list eventsv1.EventList
		if err := w.env.Client.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		var notes []string
		for _, event := range list.Items {
			found := true
			for _, part := range parts {
				found = found && strings.Contains(event.Note, part)
			}
			if found {
				return nil
			}
			notes = append(notes, event.Note)
		}
		return fmt.Errorf("there are %q", notes)
	})
}

func TestTheCertificateOfTheWebhooksIsRenewedWhileTheyAreServed(t *testing.T) {
	w := newGuarded(t)
	manager := w.startManager()
	w.eventually("the manager to be ready", func() error {
		if code, text := manager.get(manager.probesURL + "/readyz"); code != 200 {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
	serial := func() string {
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // any certificate will do
		connection, err := dialer.DialContext(w.Context(), "tcp", w.webhooks)
		w.must(err)
		defer connection.Close()
		return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	w.certify()
	w.eventually("the new certificate", func() error {
		if serial() == before {
			return errors.New("it is still the old one")
		}
		return nil
	})
}

func TestWebhooksWithoutACertificateEndIt(t *testing.T) {
	p := startManager(t, testenv.Shared(t).Kubeconfig, "--webhook-cert-dir="+t.TempDir())
	if code := p.exitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if want := "tls.crt"; !strings.Contains(p.output.String(), want) {
		t.Errorf("it lacks %q:\n%s", want, p.output)
	}
}
