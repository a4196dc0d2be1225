package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

// secretValue is a value that nobody may see who cannot read the Secret.
const secretValue = "hunter2-3c1f9a"

// secretManifest is the manifest of a Secret with these fields.
func secretManifest(name, fields string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\n" + fields + "\n"
}

func TestNoSecretValueIsShown(t *testing.T) {
	w := newTeam(t)
	p := startManager(t, w.env.Kubeconfig, "--render-store-url="+w.storeURL())
	fromSecret := func(name, file, content string) {
		t.Helper()
		w.createSecret("files-"+name, map[string]string{file: content})
		w.create(name, hourly, func(r *v1alpha1.Release) {
			r.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromSecret, Name: "files-" + name}
		})
	}
	for _, c := range []struct{ name, file, content, condition, want string }{
		{"taken", "a.yaml", secretManifest("taken", "stringData: {password: "+secretValue+"}"), v1alpha1.ConditionReady, "True Succeeded"},
		{"wrongtype", "a.yaml", secretManifest("wrongtype", "stringData: {password: ["+secretValue+"]}"), v1alpha1.ConditionApplied, "False DryRunFailed"},
		{"wrongdata", "a.yaml", secretManifest("wrongdata", "data: {password: "+secretValue+"}"), v1alpha1.ConditionApplied, "False DryRunFailed"},
		{"wrongfield", "a.yaml", secretManifest("wrongfield", "stringdata: {password: "+secretValue+"}"), v1alpha1.ConditionApplied, "False DryRunFailed"},
		{"wrongtls", "a.yaml", secretManifest("wrongtls", "type: kubernetes.io/tls\nstringData: {tls.key: "+secretValue+"}"), v1alpha1.ConditionApplied, "False DryRunFailed"},
		{"wrongyaml", "a.yaml", secretManifest("wrongyaml", `stringData: {password: "`+secretValue+`}`), v1alpha1.ConditionRendered, "False RenderFailed"},
		{"wrongline", "a.yaml", secretManifest("wrongline", "stringData:\n  password: x\n "+secretValue+": *"+secretValue), v1alpha1.ConditionRendered, "False RenderFailed"},
		{"wrongpatch", "kustomization.yaml", "secretGenerator: [{name: a, literals: [" + secretValue + "]}]\n", v1alpha1.ConditionRendered, "False RenderFailed"},
	} {
		fromSecret(c.name, c.file, c.content)
		w.awaitCondition(c.name, c.condition, c.want)
		if c.condition != v1alpha1.ConditionReady {
			w.awaitEvent(c.name, strings.TrimPrefix(c.want, "False "))
		}
	}
	w.tryGitCredentials()

	w.wantNowhere(p.output.String(), "log")
	_, metrics := p.get(p.metricsURL)
	w.wantNowhere(metrics, "metrics")
	for what, list := range map[string]client.ObjectList{
		"Releases": &v1alpha1.ReleaseList{}, "Inventories": &v1alpha1.InventoryList{}, "events": &eventsv1.EventList{},
	} {
		w.must(w.env.Client.List(t.Context(), list, client.InNamespace(w.namespace)))
		text, err := json.Marshal(list)
		w.must(err)
		w.wantNowhere(string(text), what)
	}
	p.logged()
}

// tryGitCredentials deploys from a private repository, and fails to.
func (w *team) tryGitCredentials() {
	w.Helper()
	certificate := httptest.NewTLSServer(nil) // for 127.0.0.1
	w.Cleanup(certificate.Close)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate().Raw}))
	_, server := w.serveGit(gitserver.Options{TLS: certificate.TLS, Username: "bob", Password: secretValue},
		map[string]string{"a.yaml": configMap("from-git", "one", 0)})
	fromGit := func(r *v1alpha1.Release) {
		r.Spec.Source.Git = &v1alpha1.GitSource{URL: server.URL("app.git"), SecretRef: &v1alpha1.LocalObjectReference{Name: "git-" + r.Name}}
	}
	w.createSecret("git-right", map[string]string{"username": "bob", "password": secretValue, "ca.crt": ca})
	w.create("right", hourly, fromGit)
	w.awaitCondition("right", v1alpha1.ConditionReady, "True Succeeded")

	w.createSecret("git-wrong", map[string]string{"username": "bob", "password": secretValue + "!", "ca.crt": ca})
	w.create("wrong", hourly, fromGit)
	w.awaitCondition("wrong", v1alpha1.ConditionRendered, "False SourceFailed")

	server.Break(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		_, password, _ := req.BasicAuth()
		said := "ERR no " + password + " here\n"
		res.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		fmt.Fprintf(res, "001e# service=git-upload-pack\n0000%04x%s", len(said)+4, said)
	}))
	w.createSecret("git-echoed", map[string]string{"username": "bob", "password": secretValue, "ca.crt": ca})
	w.create("echoed", hourly, fromGit, func(r *v1alpha1.Release) { r.Spec.Source.Git.Ref.Branch = "another" })
	release := w.awaitCondition("echoed", v1alpha1.ConditionRendered, "False SourceFailed")
	if said := meta.FindStatusCondition(release.Status.Conditions, v1alpha1.ConditionRendered).Message; !strings.Contains(said, "no *** here") {
		w.Errorf("the server's words, with the password masked, are not in %q", said)
	}
	w.awaitEvent("echoed", v1alpha1.ReasonSourceFailed)
}

func (w *team) createSecret(name string, data map[string]string) {
	w.Helper()
	w.must(w.env.Client.Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: data}))
}

// awaitEvent waits until a Release has a Warning with a reason.
func (w *team) awaitEvent(name, reason string) {
	w.Helper()
	w.eventually("an event "+reason+" of Release "+name, func() error {
		var events eventsv1.EventList
		if err := w.env.Client.List(w.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == name && event.Reason == reason && event.Type == corev1.EventTypeWarning {
				return nil
			}
		}
		return errors.New("there is none")
	})
}

// wantNowhere looks for the secret value, in the ways in which it may be written.
func (w *team) wantNowhere(text, what string) {
	w.Helper()
	for _, written := range []string{
		secretValue, url.QueryEscape(secretValue),
		base64.StdEncoding.EncodeToString([]byte(secretValue)), base64.StdEncoding.EncodeToString([]byte("bob:" + secretValue)),
	} {
		if at := strings.Index(text, written); at >= 0 {
			w.Errorf("the value of a Secret is in the %s: …%s…", what, text[max(0, at-300):min(len(text), at+100)])
		}
	}
}
