package observer

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/renderstore"
)

// retryAfter is when a client may try again that met too many others, in seconds.
const retryAfter = 1

// codes are the HTTP codes of the reasons that are given here.
var codes = map[metav1.StatusReason]int32{
	metav1.StatusReasonForbidden:          http.StatusForbidden,
	metav1.StatusReasonNotFound:           http.StatusNotFound,
	metav1.StatusReasonInvalid:            http.StatusUnprocessableEntity,
	metav1.StatusReasonTooManyRequests:    http.StatusTooManyRequests,
	metav1.StatusReasonInternalError:      http.StatusInternalServerError,
	metav1.StatusReasonServiceUnavailable: http.StatusServiceUnavailable,
	metav1.StatusReasonTimeout:            http.StatusGatewayTimeout,
}

// failed is an error with the reason that a client is given.
type failed struct {
	error
	reason metav1.StatusReason
}

// Unwrap returns the cause.
func (f *failed) Unwrap() error { return f.error }

// failure makes an error that a client is shown.
func failure(reason metav1.StatusReason, format string, args ...any) error {
	return &failed{fmt.Errorf(format, args...), reason}
}

// statusOf is an error as a client is shown it.
func statusOf(err error) *metav1.Status {
	var f *failed
	var api apierrors.APIStatus
	switch {
	case errors.As(err, &f):
	case errors.As(err, &api):
		status := api.Status()
		status.APIVersion, status.Kind = "v1", "Status"
		return &status
	default:
		f = &failed{err, metav1.StatusReasonInternalError}
	}
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Code:     codes[f.reason],
		Reason:   f.reason,
		Message:  f.Error(),
	}
	if f.reason == metav1.StatusReasonTooManyRequests {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
	}
	return status
}

// clusterFailure is the error of a request on the cluster. That an object is not there is the user's affair; everything else is ours.
func clusterFailure(doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return err
	}
	return failure(metav1.StatusReasonServiceUnavailable, "the observer cannot %s: %w", doing, err)
}

// storeFailure is the error of a question to the render store.
func (s *Server) storeFailure(err error) error {
	switch {
	case errors.Is(err, renderstore.ErrDisabled):
		return failure(metav1.StatusReasonServiceUnavailable,
			"%w: give convoy-controller-manager and convoy-observer the same --render-store-url", err)
	case errors.Is(err, renderstore.ErrNotFound) && s.OwnStore:
		return failure(metav1.StatusReasonNotFound, "%w: %s", err, ownStore)
	case errors.Is(err, renderstore.ErrNotFound):
		return failure(metav1.StatusReasonNotFound, "%w: kubectl convoy release history lists what it has", err)
	case errors.Is(err, renderstore.ErrCorrupt):
		return failure(metav1.StatusReasonInternalError, "%w: choose another render, and see what is wrong with the store", err)
	}
	return failure(metav1.StatusReasonServiceUnavailable, "the render store cannot be read: %w", err)
}

// ownStore says why there is nothing in a store of this process.
const ownStore = "with mem:// each process has a render store of its own, and the one of convoy-observer stays empty: " +
	"give it and convoy-controller-manager a store that they share, such as file:// or s3://"
