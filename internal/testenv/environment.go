package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/controlplane"
)

// User is somebody who may talk to the API server, with a client certificate.
type User struct {
	// Config reaches the API server as this user, without a client-side rate limit.
	Config *rest.Config

	// Kubeconfig is the path of a kubeconfig file of this user, for other processes.
	Kubeconfig string
}

// Environment is a running API server with its etcd.
type Environment struct {
	// User is the administrator, in the group system:masters.
	User

	// Client reads and writes as the administrator. It knows the types of Kubernetes, CustomResourceDefinitions and convoy's own.
	Client client.WithWatch

	envtest  *envtest.Environment
	dir      string // certificates, kubeconfigs, logs, etcd's data
	auditLog string // empty without an audit log
	guards   []*guard
}

// Option changes how an Environment starts.
type Option func(*Environment) error

// WithAPIServerFlag sets a flag of kube-apiserver, named without its dashes.
func WithAPIServerFlag(name string, values ...string) Option {
	return func(e *Environment) error {
		e.envtest.ControlPlane.GetAPIServer().Configure().Set(name, values...)
		return nil
	}
}

// Scheme returns a new scheme with the types of Kubernetes, CustomResourceDefinitions and convoy's own.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// start starts etcd and kube-apiserver and installs the CRDs. After an error nothing is left running.
func start(options []Option) (env *Environment, err error) {
	dir, err := os.MkdirTemp("", "convoy-testenv-")
	if err != nil {
		return nil, err
	}
	e := &Environment{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.stop())
		}
	}()
	if e.envtest, err = controlPlane(dir); err != nil {
		return nil, err
	}
	for _, option := range options {
		if err := option(e); err != nil {
			return nil, err
		}
	}
	if err := e.run(); err != nil {
		return nil, err
	}
	if err := e.connect(); err != nil {
		return nil, err
	}
	return e, nil
}

// controlPlane describes the control plane, with all its files in one folder.
func controlPlane(dir string) (*envtest.Environment, error) {
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := controlplane.Binary(name); err != nil {
			return nil, err
		}
	}
	bin, err := controlplane.Bin()
	if err != nil {
		return nil, err
	}
	own := false
	env := &envtest.Environment{
		BinaryAssetsDirectory: bin,
		UseExistingCluster:    &own, // a test never touches a cluster that a variable names
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
		Scheme:                Scheme(),
	}
	env.ControlPlane.Etcd = &envtest.Etcd{DataDir: filepath.Join(dir, "etcd")}
	env.ControlPlane.GetAPIServer().CertDir = filepath.Join(dir, "apiserver")
	for _, folder := range []string{env.ControlPlane.Etcd.DataDir, env.ControlPlane.APIServer.CertDir} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// run starts the processes, with their output in files, and shows the end of it if they do not start.
func (e *Environment) run() error {
	path := filepath.Join(e.dir, "apiserver.log")
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	e.envtest.ControlPlane.APIServer.Out = log
	e.envtest.ControlPlane.APIServer.Err = log
	if _, err := e.envtest.Start(); err != nil {
		return fmt.Errorf("%w\nthe end of the log of kube-apiserver:\n%s", err, controlplane.Tail(path))
	}
	return nil
}

// connect makes the administrator and the client, and guards the processes.
func (e *Environment) connect() error {
	guard, err := newGuard(e.dir, children())
	if err != nil {
		return err
	}
	e.guards = append(e.guards, guard)
	if e.User, err = e.newUser("admin", "system:masters"); err != nil {
		return err
	}
	e.Client, err = client.NewWithWatch(e.Config, client.Options{Scheme: Scheme()})
	return err
}

// stop stops everything and removes its files.
func (e *Environment) stop() error {
	var errs []error
	for _, guard := range e.guards {
		errs = append(errs, guard.release())
	}
	if e.envtest != nil {
		errs = append(errs, e.envtest.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(e.dir))...)
}

// Namespace creates a namespace for one test, named after it.
func (e *Environment) Namespace(tb testing.TB) string {
	tb.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefixOf(tb.Name())}}
	if err := e.Client.Create(context.Background(), namespace); err != nil {
		tb.Fatalf("create a namespace for the test: %v", err)
	}
	return namespace.Name
}

// prefixOf makes a name that the API server accepts as the beginning of a namespace's.
func prefixOf(test string) string {
	label := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(test))
	return strings.Trim(label[:min(len(label), 40)], "-") + "-"
}

// AddUser makes a user of the API server, who may do what RBAC allows to the name and the groups. ServiceAccounts count as users, with the
// name system:serviceaccount:namespace:name.
func (e *Environment) AddUser(tb testing.TB, name string, groups ...string) User {
	tb.Helper()
	user, err := e.newUser(name, groups...)
	if err != nil {
		tb.Fatalf("add the user %s: %v", name, err)
	}
	return user
}

func (e *Environment) newUser(name string, groups ...string) (User, error) {
	user, err := e.envtest.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: -1})
	if err != nil {
		return User{}, err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return User{}, err
	}
	file, err := os.CreateTemp(e.dir, "*.kubeconfig")
	if err != nil {
		return User{}, err
	}
	defer file.Close()
	if _, err := file.Write(kubeconfig); err != nil {
		return User{}, err
	}
	return User{Config: user.Config(), Kubeconfig: file.Name()}, nil
}
