package apiserver

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// fieldManager owns what is written into Releases.
const fieldManager = client.FieldOwner("convoy-apiserver")

// again is how often, and how soon, a write is tried again that met another one. The status of a Release may be written many times a second.
var again = wait.Backoff{Steps: 100, Duration: 5 * time.Millisecond, Factor: 1, Jitter: 1}

// releases reads Releases live, and writes the parts of them that belong to the subresources. It never writes a whole Release: a newer
// version of the CRD may have fields that this binary does not know.
type releases struct{ client client.Client }

// get reads the Release of a name in the namespace of the request.
func (r *releases) get(ctx context.Context, name string) (*v1alpha1.Release, error) {
	release := &v1alpha1.Release{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: request.NamespaceValue(ctx), Name: name}, release)
	return release, err
}

// requestSync stamps a Release with a request to sync it. It cannot conflict with anybody.
func (r *releases) requestSync(ctx context.Context, name string, dryRun []string, now time.Time) (*v1alpha1.Release, error) {
	release, err := r.get(ctx, name)
	if err != nil {
		return nil, err
	}
	base := release.DeepCopy()
	metav1.SetMetaDataAnnotation(&release.ObjectMeta, v1alpha1.SyncRequestedAtAnnotation, v1alpha1.SyncRequest(now))
	return release, r.client.Patch(ctx, release, client.MergeFrom(base), fieldManager, dryRunOf(dryRun))
}

// setPin reads a Release, lets decide say what its pin is to be, and writes that. It returns the pin before and after.
//
// It decides once, on the Release as it was then: a caller who names a resourceVersion is told of every change before. The write happens only
// if what was decided on is still so, else it decides anew. Whatever else changes meanwhile, such as the status, is no conflict.
func (r *releases) setPin(ctx context.Context, name string, dryRun []string, decide func(*v1alpha1.Release) (*subresources.ReleasePin, error),
) (before, after *subresources.ReleasePin, err error) {
	var ground *v1alpha1.Release
	var next *subresources.ReleasePin
	var conflict error
	err = wait.ExponentialBackoffWithContext(ctx, again, func(ctx context.Context) (bool, error) {
		release, err := r.get(ctx, name)
		if err != nil {
			return false, err
		}
		if ground == nil || !sameGround(ground, release) {
			if next, err = decide(release); err != nil {
				return false, err
			}
			ground = release
		}
		before = subresources.PinOf(release)
		after, err = r.writePin(ctx, release, next, dryRun)
		if apierrors.IsConflict(err) {
			conflict = err
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) && conflict != nil {
		err = conflict
	}
	if err == nil && len(dryRun) == 0 && before.Spec != nil && after.Spec != nil {
		r.announceReplaced(ctx, before, after)
	}
	return before, after, err
}

// sameGround says whether a pin that was decided on for one state of a Release is right for another.
func sameGround(a, b *v1alpha1.Release) bool {
	was, is := subresources.PinOf(a), subresources.PinOf(b)
	was.ResourceVersion, is.ResourceVersion = "", ""
	return apiequality.Semantic.DeepEqual(was, is) && lastApplied(a) == lastApplied(b)
}

func lastApplied(release *v1alpha1.Release) string {
	if last := release.Status.LastSuccessful; last != nil {
		return last.RenderRef
	}
	return ""
}

// writePin writes a pin into a Release, unless the Release has changed since it was read. To take off a pin that is not there is no change.
func (r *releases) writePin(ctx context.Context, release *v1alpha1.Release, pin *subresources.ReleasePin, dryRun []string,
) (*subresources.ReleasePin, error) {
	if release.Pin == nil && pin.Spec == nil {
		return subresources.PinOf(release), nil
	}
	changed := release.DeepCopy()
	pin.Pinned(changed)
	patch := client.MergeFromWithOptions(release, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, changed, patch, fieldManager, dryRunOf(dryRun)); err != nil {
		return nil, err
	}
	return subresources.PinOf(changed), nil
}

// dryRunOf passes on whether a request is to change nothing.
func dryRunOf(dryRun []string) *client.PatchOptions { return &client.PatchOptions{DryRun: dryRun} }
