package manifests_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/manifests"
	"github.com/convoy-dev/convoy/webhooks"
)

const namespace = "convoy-system"

// certificate is what matters of a Certificate of cert-manager.
type certificate struct {
	Spec struct {
		SecretName string
		CommonName string
		DNSNames   []string
		IssuerRef  struct{ Name string }
	}
}

func TestDeploymentsFindTheirAccountsSecretsAndServices(t *testing.T) {
	objects := build(t, "default")
	secrets := map[string]bool{}
	for _, object := range named(objects, "Certificate") {
		secrets[typed[certificate](t, object).Spec.SecretName] = true
	}
	deployments := named(objects, "Deployment")
	if len(deployments) != 3 {
		t.Fatalf("got %d Deployments, want 3", len(deployments))
	}
	for name, object := range deployments {
		pod := typed[appsv1.Deployment](t, object).Spec.Template
		if named(objects, "ServiceAccount")[pod.Spec.ServiceAccountName] == nil {
			t.Errorf("Deployment %s: there is no ServiceAccount %s", name, pod.Spec.ServiceAccountName)
		}
		for _, volume := range pod.Spec.Volumes {
			if volume.Secret != nil && !secrets[volume.Secret.SecretName] {
				t.Errorf("Deployment %s: no Certificate makes the Secret %s", name, volume.Secret.SecretName)
			}
		}
		budget := named(objects, "PodDisruptionBudget")[name]
		if budget == nil || !labels.SelectorFromSet(typed[policyv1.PodDisruptionBudget](t, budget).Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels)) {
			t.Errorf("Deployment %s has no PodDisruptionBudget of its name that selects its pods", name)
		}
	}
}

func TestServicesFindTheirPods(t *testing.T) {
	objects := build(t, "default")
	for name, object := range named(objects, "Service") {
		service := typed[corev1.Service](t, object)
		var ports []string
		for _, object := range named(objects, "Deployment") {
			pod := typed[appsv1.Deployment](t, object).Spec.Template
			if labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				for _, port := range pod.Spec.Containers[0].Ports {
					ports = append(ports, port.Name)
				}
			}
		}
		for _, port := range service.Spec.Ports {
			if !slices.Contains(ports, port.TargetPort.StrVal) {
				t.Errorf("Service %s: no pod that it selects has the port %s, they have %v", name, port.TargetPort.StrVal, ports)
			}
		}
	}
}

func TestCertificatesAreForTheServicesThatAreCalled(t *testing.T) {
	objects := build(t, "default")
	certificates := named(objects, "Certificate")
	called := map[string]*unstructured.Unstructured{} // by service
	service, _, _ := unstructured.NestedString(named(objects, "APIService")["v1alpha1.subresources.convoy.dev"].Object, "spec", "service", "name")
	called[service] = named(objects, "APIService")["v1alpha1.subresources.convoy.dev"]
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		config := named(objects, kind)["convoy-pin"]
		called[typed[admissionregistrationv1.ValidatingWebhookConfiguration](t, config).Webhooks[0].ClientConfig.Service.Name] = config
	}
	if got, want := slices.Sorted(maps.Keys(called)), []string{"convoy-apiserver", "convoy-webhook"}; !cmp.Equal(got, want) {
		t.Fatalf("called are %v, want %v", got, want)
	}
	for service, caller := range called {
		if named(objects, "Service")[service] == nil {
			t.Errorf("%s %s: there is no Service %s", caller.GetKind(), caller.GetName(), service)
		}
		source := caller.GetAnnotations()["cert-manager.io/inject-ca-from"]
		object := certificates[strings.TrimPrefix(source, namespace+"/")]
		if object == nil {
			t.Errorf("%s %s: its authority comes from %q, which is no Certificate", caller.GetKind(), caller.GetName(), source)
			continue
		}
		if want := service + "." + namespace + ".svc"; !slices.Contains(typed[certificate](t, object).Spec.DNSNames, want) {
			t.Errorf("Certificate %s is not for %s", object.GetName(), want)
		}
	}
	for name, object := range certificates {
		if issuer := typed[certificate](t, object).Spec.IssuerRef.Name; named(objects, "Issuer")[issuer] == nil {
			t.Errorf("Certificate %s: there is no Issuer %s", name, issuer)
		}
	}
}

func TestWebhooksAreCalledWhereTheyAreServed(t *testing.T) {
	objects := build(t, "default")
	var called []string
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		for _, webhook := range typed[admissionregistrationv1.ValidatingWebhookConfiguration](t, named(objects, kind)["convoy-pin"]).Webhooks {
			called = append(called, *webhook.ClientConfig.Service.Path)
			if *webhook.FailurePolicy != admissionregistrationv1.Fail {
				t.Errorf("webhook %s is optional: a pin could get in unchecked", webhook.Name)
			}
		}
	}
	served := slices.Sorted(maps.Keys(webhooks.Handlers(nil)))
	slices.Sort(called)
	if diff := cmp.Diff(served, called); diff != "" {
		t.Errorf("served, but called (+):\n%s", diff)
	}
}

func TestBindingsNameRolesAndAccountsThatAreThere(t *testing.T) {
	objects := build(t, "default")
	builtIn := []string{"system:auth-delegator", "extension-apiserver-authentication-reader"}
	for _, kind := range []string{"ClusterRoleBinding", "RoleBinding"} {
		for name, object := range named(objects, kind) {
			binding := typed[rbacv1.RoleBinding](t, object)
			if role := binding.RoleRef.Name; named(objects, binding.RoleRef.Kind)[role] == nil && !slices.Contains(builtIn, role) {
				t.Errorf("%s %s: there is no role %s", kind, name, role)
			}
			for _, subject := range binding.Subjects {
				if named(objects, "ServiceAccount")[subject.Name] == nil || subject.Namespace != namespace {
					t.Errorf("%s %s: there is no ServiceAccount %s in %s", kind, name, subject.Name, subject.Namespace)
				}
			}
		}
	}
}

func TestTheGuardKnowsTheAccountsOfTheDeployments(t *testing.T) {
	objects := build(t, "default")
	guard, err := named(objects, "ValidatingAdmissionPolicy")["convoy-guard"].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"convoy-apiserver", "convoy-controller-manager"} {
		if account := accountOf(t, objects, name); !strings.Contains(string(guard), account) {
			t.Errorf("the guard does not know %s of Deployment %s", account, name)
		}
	}
	for _, user := range []string{manifests.APIServerUser, manifests.ControllerManagerUser} {
		if !strings.Contains(string(guard), "'"+user+"'") {
			t.Errorf("the guard does not know %s", user)
		}
	}
}

func TestTheGuardOfTheObserverKnowsItsAccount(t *testing.T) {
	objects := build(t, "default")
	guard, err := named(objects, "ValidatingAdmissionPolicy")["convoy-observer"].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{accountOf(t, objects, "convoy-observer"), "'" + manifests.ObserverUser + "'"} {
		if !strings.Contains(string(guard), account) {
			t.Errorf("the guard does not know %s", account)
		}
	}
}

func TestTheObserverMayReadAndNothingElse(t *testing.T) {
	role := typed[rbacv1.ClusterRole](t, named(build(t, "default"), "ClusterRole")["convoy-observer"])
	if role.AggregationRule != nil {
		t.Error("others can add to its rights")
	}
	for _, rule := range role.Rules {
		if diff := cmp.Diff([]string{"get", "list", "watch"}, rule.Verbs); diff != "" || len(rule.NonResourceURLs) > 0 {
			t.Errorf("a rule gives more than to read (-want +got):\n%s%v", diff, rule.NonResourceURLs)
		}
	}
}

func TestTheObserverAnswersWhoAsksIt(t *testing.T) {
	objects := build(t, "default")
	if named(objects, "Service")["convoy-observer"] == nil {
		t.Error("there is no Service convoy-observer")
	}
	const name = "convoy-observer." + namespace + ".svc"
	serving := typed[certificate](t, named(objects, "Certificate")["convoy-observer"])
	if !slices.Contains(serving.Spec.DNSNames, name) {
		t.Errorf("the certificate of the observer is not for %s", name)
	}
	asking := typed[certificate](t, named(objects, "Certificate")["convoy-observer-client"])
	if asking.Spec.CommonName != manifests.ObserverClientName {
		t.Errorf("convoy-apiserver shows a certificate for %q, and the observer answers %q", asking.Spec.CommonName, manifests.ObserverClientName)
	}
	args := typed[appsv1.Deployment](t, named(objects, "Deployment")["convoy-apiserver"]).Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--observer-url=https://"+name) {
		t.Errorf("convoy-apiserver is not told of https://%s: %q", name, args)
	}
}

// accountOf is the ServiceAccount of a Deployment, as a policy quotes it.
func accountOf(t *testing.T, objects []*unstructured.Unstructured, deployment string) string {
	t.Helper()
	object := named(objects, "Deployment")[deployment]
	return fmt.Sprintf("'system:serviceaccount:%s:%s'", object.GetNamespace(), typed[appsv1.Deployment](t, object).Spec.Template.Spec.ServiceAccountName)
}

// The group of a CRD has the priority 1000. Above that, kubectl would take "releases" for a resource of the subresources.
func TestTheAPIServiceStaysBelowTheReleases(t *testing.T) {
	service := named(build(t, "apiserver"), "APIService")["v1alpha1.subresources.convoy.dev"]
	priority, _, err := unstructured.NestedInt64(service.Object, "spec", "groupPriorityMinimum")
	if err != nil || priority <= 0 || priority >= 1000 {
		t.Errorf("groupPriorityMinimum is %d (%v), want less than 1000", priority, err)
	}
}

func TestImagesAreSetByKustomize(t *testing.T) {
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, filepath.Join(root, "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := "resources: [" + relative + "]\nimages:\n" +
		"- {name: convoy/convoy-controller-manager, newName: e2e.local/manager, newTag: v9}\n" +
		"- {name: convoy/convoy-apiserver, newName: e2e.local/apiserver, newTag: v9}\n" +
		"- {name: convoy/convoy-observer, newName: e2e.local/observer, newTag: v9}\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	content, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image: e2e.local/manager:v9\n", "image: e2e.local/apiserver:v9\n", "image: e2e.local/observer:v9\n"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(string(content), "image: convoy/") {
		t.Error("an image is left that is not set")
	}
}
