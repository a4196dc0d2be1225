package live

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// OwnerNameFrom finds Releases by their owner labels with a reader that may list them.
func OwnerNameFrom(reader client.Reader) OwnerName {
	return func(ctx context.Context, namespace, label string) (string, error) {
		releases := &metav1.PartialObjectMetadataList{}
		releases.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ReleaseList"))
		if err := reader.List(ctx, releases, client.InNamespace(namespace)); err != nil {
			return "", err
		}
		for _, release := range releases.Items {
			if v1alpha1.OwnerLabelValue(release.Name) == label {
				return release.Name, nil
			}
		}
		return "", nil
	}
}
