package apiservertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

const (
	startDeadline = 2 * time.Minute
	pollInterval  = 20 * time.Millisecond
)

// await polls until a question has no error for an answer.
func await(tb testing.TB, what string, question func(context.Context) error) {
	tb.Helper()
	var last error
	err := wait.PollUntilContextTimeout(context.Background(), pollInterval, startDeadline, true, func(ctx context.Context) (bool, error) {
		last = question(ctx)
		return last == nil, nil
	})
	if err != nil {
		tb.Fatalf("%s: %v", what, last)
	}
}

// awaitRights waits until the API server of convoy may read what it needs to start.
func awaitRights(tb testing.TB, user testenv.User) {
	tb.Helper()
	reader, err := client.New(user.Config, client.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	await(tb, "the rights of convoy-apiserver", func(ctx context.Context) error {
		return reader.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, &corev1.ConfigMap{})
	})
}

// awaitService waits until pins are served, and the guard keeps everybody else away from them.
func awaitService(tb testing.TB, env *testenv.Environment) {
	tb.Helper()
	requests, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		tb.Fatal(err)
	}
	await(tb, "releases/pin is not served", func(ctx context.Context) error {
		path := "/apis/" + subresources.GroupVersion.String() + "/namespaces/default/releases/no-such-release/pin"
		err := requests.RESTClient().Get().AbsPath(path).Do(ctx).Error()
		// The answer comes from the Releases once convoy-apiserver gives it.
		var status *apierrors.StatusError
		if errors.As(err, &status) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Group == v1alpha1.GroupVersion.Group {
			return nil
		}
		return fmt.Errorf("get %s: %w", path, err)
	})
	await(tb, "the guard does not work", func(ctx context.Context) error {
		release := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "guard-"}}
		release.Spec.Source.From = &v1alpha1.FromSource{Kind: v1alpha1.FromConfigMap, Name: "files"}
		metav1.SetMetaDataAnnotation(&release.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, "now")
		switch err := env.Client.Create(ctx, release, client.DryRunAll); {
		case err == nil:
			return errors.New("a Release with a request to sync can be created")
		case !apierrors.IsForbidden(err):
			return fmt.Errorf("create a Release with a request to sync: %w", err)
		}
		return nil
	})
}
