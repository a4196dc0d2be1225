package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// apiService is how kube-apiserver finds convoy-apiserver.
var apiService = subresources.GroupVersion.Version + "." + subresources.GroupVersion.Group

// The ClusterRoles of convoy that grant what this plugin does.
const (
	viewRole     = "convoy-view"
	operatorRole = "convoy-operator"
)

// request is what was asked of the cluster.
type request struct {
	verb        string
	subresource string // empty for the Release itself
	namespace   string // empty for all
	name        string // empty for a list
}

func (r request) group() string {
	if r.subresource == "" {
		return v1alpha1.GroupVersion.Group
	}
	return subresources.GroupVersion.Group
}

// resource is what RBAC calls it.
func (r request) resource() string { return strings.TrimSuffix("releases/"+r.subresource, "/") }

// writes says whether the request is one that changes something.
func (r request) writes() bool { return r.verb == "patch" || r.verb == "create" }

// role is the ClusterRole that grants it.
func (r request) role() string {
	switch r.subresource {
	case pinSubresource, syncSubresource:
		return operatorRole
	}
	return viewRole
}

// doing is the beginning of an error.
func (r request) doing() string {
	switch {
	case r.name == "" && r.namespace == "":
		return fmt.Sprintf("%s Releases in all namespaces", r.verb)
	case r.name == "":
		return fmt.Sprintf("%s Releases in namespace %s", r.verb, r.namespace)
	case r.subresource == "":
		return fmt.Sprintf("%s Release %s in namespace %s", r.verb, r.name, r.namespace)
	default:
		return fmt.Sprintf("%s the %s of Release %s in namespace %s", r.verb, r.subresource, r.name, r.namespace)
	}
}

// explain completes an error of the server: what was done, all that the server says, and the next move.
func (k *cluster) explain(ctx context.Context, r request, err error) error {
	lines := append(causes(err), k.nextMove(ctx, r, err)...)
	if len(lines) == 0 {
		return fmt.Errorf("%s: %w", r.doing(), err)
	}
	return fmt.Errorf("%s: %w\n  %s", r.doing(), err, strings.Join(lines, "\n  "))
}

// causes are the causes that a Status carries and its message does not repeat.
func causes(err error) []string {
	var lines []string
	for _, cause := range detailsOf(err).Causes {
		if cause.Type != metav1.CauseTypeUnexpectedServerResponse && !strings.Contains(err.Error(), cause.Message) {
			lines = append(lines, joinNonEmpty(": ", cause.Field, cause.Message))
		}
	}
	return lines
}

// nextMove says what to do about an error of the server.
func (k *cluster) nextMove(ctx context.Context, r request, err error) []string {
	switch {
	case r.subresource != "" && (isUnserved(err) || apierrors.IsServiceUnavailable(err) && isUnanswered(err)):
		return []string{
			"convoy-apiserver, which serves " + subresources.GroupVersion.Group + ", is not reachable. Look at:",
			"kubectl get apiservice " + apiService,
		}
	case isUnserved(err):
		return []string{"This cluster does not know Releases: is convoy installed? Look at:", "kubectl get crd releases." + v1alpha1.GroupVersion.Group}
	case apierrors.IsNotFound(err) && isAbout("releases", err):
		return []string{
			fmt.Sprintf("There is no Release %s in namespace %s. See those that are there:", r.name, r.namespace),
			fmt.Sprintf("kubectl convoy release list -n %s    # or -A for all namespaces", r.namespace),
		}
	case apierrors.IsForbidden(err) && !k.may(ctx, r):
		return []string{fmt.Sprintf("You need the verb %s on %s of %s in %s. The ClusterRole %s grants it.",
			r.verb, r.resource(), r.group(), cmp.Or(prefixed("namespace ", r.namespace), "all namespaces"), r.role())}
	case utilnet.IsTimeout(err):
		lines := []string{"The cluster did not answer in time. --request-timeout sets how long to wait for one answer."}
		if r.writes() {
			lines = append(lines, "Whether anything was changed is not known. Look: "+getCommand(r.name, "-n "+r.namespace))
		}
		return lines
	case apierrors.IsUnauthorized(err):
		return []string{"The cluster does not accept your credentials. Log in again, or choose others with --context or --user."}
	}
	return nil
}

// isUnserved says that the server has no such API, rather than no such object.
func isUnserved(err error) bool { return apierrors.IsNotFound(err) && isUnanswered(err) }

// isUnanswered says that an error is not from the one who was to answer, but from something before it.
func isUnanswered(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// isAbout says whether an error is about an object of a kind, by the name of its resource.
func isAbout(resource string, err error) bool { return detailsOf(err).Kind == resource }

// detailsOf are the details of an error of a server; the zero value if it has none.
func detailsOf(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// may says whether the user has the right, so that what an admission policy forbids is not taken for a missing role. Where the cluster
// does not say, the right is taken for missing.
func (k *cluster) may(ctx context.Context, r request) bool {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.namespace, Verb: r.verb, Group: r.group(), Resource: "releases", Subresource: r.subresource, Name: r.name,
		},
	}}
	answer, err := k.reviews.Create(ctx, review, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed
}

// prefixed is a text with what goes before it; empty if there is no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
