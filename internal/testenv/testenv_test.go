package testenv_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, testenv.WithAuditLog()) }

func TestTheAPIServerKnowsTheReleases(t *testing.T) {
	env := testenv.Shared(t)
	var releases v1alpha1.ReleaseList
	if err := env.Client.List(t.Context(), &releases); err != nil {
		t.Fatalf("list releases: %v", err)
	}
}

func TestEachTestHasItsNamespace(t *testing.T) {
	env := testenv.Shared(t)
	first, second := env.Namespace(t), env.Namespace(t)
	if first == second {
		t.Errorf("both calls gave the namespace %s, want two", first)
	}
	if want := "testeachtesthasitsnamespace-"; !strings.HasPrefix(first, want) {
		t.Errorf("namespace %s is not named after the test: want the prefix %s", first, want)
	}
}

func TestAUserMayDoWhatRBACAllows(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	if err := list(t.Context(), env.AddUser(t, "nobody"), namespace); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights lists ConfigMaps: got %v, want forbidden", err)
	}
	if err := list(t.Context(), env.AddUser(t, "root", "system:masters"), namespace); err != nil {
		t.Errorf("an administrator lists ConfigMaps: %v", err)
	}
}

// list lists ConfigMaps as a user, by the user's kubeconfig file.
func list(ctx context.Context, user testenv.User, namespace string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", user.Kubeconfig)
	if err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return err
	}
	return c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace))
}

func TestRequestsTellADryRunFromAWrite(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	dry := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dry"}}
	if err := env.Client.Create(t.Context(), dry, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if got := requestsIn(t, env, namespace); len(got) != 1 || !testenv.IsDryRun(got[0]) || testenv.IsWrite(got[0]) {
		t.Errorf("after a dry run: got %v, want one request that is a dry run and no write", got)
	}
	wet := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "wet"}}
	if err := env.Client.Create(t.Context(), wet); err != nil {
		t.Fatal(err)
	}
	if got := requestsIn(t, env, namespace); len(got) != 2 || testenv.IsDryRun(got[1]) || !testenv.IsWrite(got[1]) {
		t.Errorf("after a write: got %v, want two requests, the second a write and no dry run", got)
	}
}

// requestsIn are the requests for ConfigMaps in a namespace.
func requestsIn(t *testing.T, env *testenv.Environment, namespace string) []auditv1.Event {
	t.Helper()
	var in []auditv1.Event
	for _, request := range env.Requests(t) {
		if ref := request.ObjectRef; ref != nil && ref.Namespace == namespace && ref.Resource == "configmaps" {
			in = append(in, request)
		}
	}
	return in
}

func TestNamespacesGoOnceControllersRun(t *testing.T) {
	env := testenv.Shared(t)
	env.StartControllerManager(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.Namespace(t)}}
	if err := env.Client.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		err := env.Client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Errorf("namespace %s was deleted and is still there, in phase %s: %v", namespace.Name, namespace.Status.Phase, err)
	}
}
