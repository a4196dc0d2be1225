package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// create creates a Release in a namespace, with its status.
func create(t *testing.T, env *testenv.Environment, namespace string, r *v1alpha1.Release) *v1alpha1.Release {
	t.Helper()
	status := r.Status
	r.Namespace, r.CreationTimestamp = namespace, metav1.Time{}
	if err := env.Client.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	base := r.DeepCopy()
	r.Status = status
	for i := range r.Status.Conditions {
		r.Status.Conditions[i].ObservedGeneration = r.Generation
	}
	r.Status.ObservedGeneration = r.Generation
	if err := env.Client.Status().Patch(t.Context(), r, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	return r
}

// named is a Release with another name.
func named(name string) *v1alpha1.Release {
	r := appliedRelease()
	r.Name = name
	return r
}

// as executes a command as a user, in a namespace.
func as(ctx context.Context, user testenv.User, namespace, line string) outcome {
	return execute(ctx, append(strings.Fields(line), "--kubeconfig", user.Kubeconfig, "--namespace", namespace)...)
}

func TestListShowsTheReleasesOfANamespaceOrOfAll(t *testing.T) {
	env := testenv.Shared(t)
	here, there := env.Namespace(t), env.Namespace(t)
	create(t, env, here, named("podinfo"))
	create(t, env, there, named("elsewhere"))

	got := as(t.Context(), env.User, here, "release list")
	lines := strings.Split(got.stdout, "\n")
	if got.code != codeDone || got.stderr != "" || len(lines) != 3 {
		t.Fatalf("code %d, stdout %q, stderr %q; want a header and one line", got.code, got.stdout, got.stderr)
	}
	if want := []string{"NAME", "READY", "APPLIED", "RENDER", "REVISION", "PIN", "AGE"}; strings.Join(strings.Fields(lines[0]), " ") != strings.Join(want, " ") {
		t.Errorf("the header is %q, want %v", lines[0], want)
	}
	if want := "podinfo True True 3a5f0c9be1d2 main@sha1:0b4c1d5e <none>"; !strings.HasPrefix(strings.Join(strings.Fields(lines[1]), " "), want) {
		t.Errorf("the line is %q, want %q", lines[1], want)
	}

	got = as(t.Context(), env.User, here, "rel ls --all-namespaces")
	for _, want := range []string{"NAMESPACE", here + " ", there + " ", "elsewhere"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("with -A, %q is missing in\n%s", want, got.stdout)
		}
	}
}

func TestListOfNothing(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	got := as(t.Context(), env.User, namespace, "releases list")
	if want := "There are no Releases in namespace " + namespace + ".\n"; got.code != codeDone || got.stdout != "" || got.stderr != want {
		t.Errorf("got %+v, want %q on stderr only", got, want)
	}
	got = as(t.Context(), env.User, namespace, "releases list -o name")
	if got.code != codeDone || got.stdout != "" {
		t.Errorf("-o name: got %+v, want nothing", got)
	}
}

func TestOutputIsWhatTheServerHas(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	want := create(t, env, namespace, named("podinfo"))

	for line, read := range map[string]func([]byte, any) error{
		"release get podinfo -o json": json.Unmarshal,
		"release get podinfo -o yaml": func(b []byte, into any) error { return yaml.Unmarshal(b, into) },
	} {
		got := as(t.Context(), env.User, namespace, line)
		var release v1alpha1.Release
		if err := read([]byte(got.stdout), &release); err != nil {
			t.Fatalf("%s: %v in %q", line, err, got.stdout)
		}
		if release.Kind != "Release" || release.UID != want.UID || release.Status.LastSuccessful.RenderRef != refA || release.ManagedFields != nil {
			t.Errorf("%s: got %+v", line, release)
		}
	}
	var list v1alpha1.ReleaseList
	got := as(t.Context(), env.User, namespace, "release list -o json")
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || list.Kind != "ReleaseList" || len(list.Items) != 1 {
		t.Errorf("-o json: %v, %d Releases in a %s", err, len(list.Items), list.Kind)
	}
	for _, line := range []string{"release list -o name", "release get podinfo -o name"} {
		if got := as(t.Context(), env.User, namespace, line); got.stdout != "release.convoy.dev/podinfo\n" {
			t.Errorf("%s: got %q", line, got.stdout)
		}
	}
	if got := as(t.Context(), env.User, namespace, "release get podinfo -o wide"); !strings.Contains(got.stdout, "PINNED BY") {
		t.Errorf("get -o wide: got %q, want the line of the list", got.stdout)
	}
}

func TestGetDescribesTheRelease(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	create(t, env, namespace, pinOn(named("podinfo"), refB))
	got := as(t.Context(), env.User, namespace, "release get podinfo")
	for _, want := range []string{
		"Release   podinfo in namespace " + namespace, "ready", "Runs      render 3a5f0c9be1d2", refA,
		"Pin       rollback on render b7e1406f9c33 by alice", "why: INC-1234", "kubectl convoy release unpin podinfo -n " + namespace,
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s%s", want, got.stdout, got.stderr)
		}
	}
	if strings.Contains(got.stdout, "\x1b") {
		t.Errorf("what is no terminal got colors: %q", got.stdout)
	}
}

// withoutConvoy is the administrator of a cluster in which the Releases are not known, and convoy-apiserver does not run.
func withoutConvoy(t *testing.T) testenv.User {
	t.Helper()
	env := testenv.Start(t)
	crd := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
	crd.Name = "releases.convoy.dev"
	if err := env.Client.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": apiService},
		"spec": map[string]any{
			"group": subresources.GroupVersion.Group, "version": subresources.GroupVersion.Version, "groupPriorityMinimum": int64(100),
			"versionPriority": int64(15), "service": map[string]any{"namespace": "convoy-system", "name": "convoy-apiserver"},
		},
	}}
	if err := env.Client.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	k := connected(t, env.User, "default")
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, crdErr := k.list(ctx, "")
		_, _, serviceErr := k.pin(ctx, "podinfo")
		return isUnserved(crdErr) && apierrors.IsServiceUnavailable(serviceErr), nil
	})
	if err != nil {
		t.Fatalf("the Releases are served, or their pins: %v", err)
	}
	return env.User
}

func TestErrorsNameTheNextMove(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	create(t, env, namespace, named("podinfo"))
	nobody := env.AddUser(t, "nobody")
	bare := withoutConvoy(t)
	for name, tc := range map[string]struct {
		user testenv.User
		line string
		want []string
	}{
		"no Release of that name": {env.User, "release get nope", []string{
			"get Release nope in namespace " + namespace, `releases.convoy.dev "nope" not found`, "There is no Release nope",
			"kubectl convoy release list -n " + namespace,
		}},
		"no right to get": {nobody, "release get podinfo", []string{
			`User "nobody" cannot get resource "releases"`, "You need the verb get on releases of convoy.dev in namespace " + namespace,
			"The ClusterRole convoy-view grants it",
		}},
		"no right to list":     {nobody, "release list", []string{"You need the verb list on releases of convoy.dev in namespace " + namespace}},
		"no right to list all": {nobody, "release list -A", []string{"list Releases in all namespaces", "in all namespaces. The ClusterRole convoy-view"}},
		"as somebody else":     {env.User, "release get podinfo --as=carol", []string{`User "carol" cannot get`}},
		"convoy is not installed": {bare, "release get podinfo", []string{
			"This cluster does not know Releases: is convoy installed?", "kubectl get crd releases.convoy.dev",
		}},
		"convoy-apiserver does not run": {bare, "release unpin podinfo", []string{
			"convoy-apiserver, which serves subresources.convoy.dev, is not reachable", "kubectl get apiservice v1alpha1.subresources.convoy.dev",
		}},
		"convoy-apiserver is not installed": {env.User, "release pin podinfo", []string{
			"get the pin of Release podinfo in namespace " + namespace,
			"convoy-apiserver, which serves subresources.convoy.dev, is not reachable", "kubectl get apiservice v1alpha1.subresources.convoy.dev",
		}},
		"a context that does not exist": {env.User, "release list --context nope", []string{"find the cluster", `context "nope" does not exist`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := as(t.Context(), tc.user, namespace, tc.line)
			if got.code != codeError || got.stdout != "" {
				t.Errorf("code %d, stdout %q; want code %d and nothing printed", got.code, got.stdout, codeError)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%q is missing in\n%s", want, got.stderr)
				}
			}
		})
	}
}

func TestAServerThatCannotBeReachedIsAnErrorInTime(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for server, says := range map[string]string{
		"http://127.0.0.1:1":               "connection refused",
		"http://" + silent.Addr().String(): "Whether anything was changed is not known. Look: kubectl convoy release get podinfo -n default",
	} {
		config := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(config, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		got := execute(t.Context(), "release", "sync", "podinfo", "--kubeconfig", config, "--server", server, "--request-timeout", "300ms")
		if got.code != codeError || !strings.Contains(got.stderr, says) {
			t.Errorf("%s: got %+v, want %q", server, got, says)
		}
	}
}

func TestCompletionOfNames(t *testing.T) {
	env := testenv.Shared(t)
	namespace := env.Namespace(t)
	create(t, env, namespace, named("podinfo"))
	create(t, env, namespace, named("postgres"))
	create(t, env, namespace, named("web"))
	flags := "--kubeconfig " + env.Kubeconfig + " --namespace " + namespace
	for line, want := range map[string]string{
		"release get " + flags + " po":                       "podinfo postgres",
		"release pin " + flags + " w":                        "web",
		"release unpin podinfo " + flags + " w":              "", // one name is enough
		"release pin podinfo " + flags + " --render-ref sha": refA,
		"release list " + flags + " -o ":                     "json kyaml name wide yaml",
		"release pin podinfo " + flags + " --dry-run ":       "none server",
		"release list --kubeconfig " + env.Kubeconfig + " --namespace " + namespace[:len(namespace)-2]: namespace,
		"release p": "pin",
	} {
		got := execute(t.Context(), append([]string{"__complete"}, strings.Split(line, " ")...)...)
		var names []string
		for word := range strings.Lines(got.stdout) {
			if name, _, _ := strings.Cut(strings.TrimSpace(word), "\t"); !strings.HasPrefix(name, ":") && name != "" {
				names = append(names, name)
			}
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%s completes to %q, want %q (stderr %q)", line, names, want, got.stderr)
		}
	}
}
