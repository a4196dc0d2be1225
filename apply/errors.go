package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/live"
	"github.com/convoy-dev/convoy/render"
)

// ObjectError is what is wrong with one object.
type ObjectError struct {
	ID  render.ObjectID
	Err error
}

func (e ObjectError) Error() string { return fmt.Sprintf("%s: %v", e.ID, e.Err) }

// Unwrap is the cause.
func (e ObjectError) Unwrap() error { return e.Err }

// ObjectErrors are the objects that failed, in the order of the plan.
type ObjectErrors []ObjectError

// Error names every object, the first ten with their cause.
func (e ObjectErrors) Error() string {
	const most = 10
	var parts, rest []string
	for i, err := range e {
		if i < most {
			parts = append(parts, err.Error())
		} else {
			rest = append(rest, err.ID.String())
		}
	}
	if len(rest) > 0 {
		parts = append(parts, "and "+strings.Join(rest, ", "))
	}
	return strings.Join(parts, "; ")
}

// orNil makes an empty list no error.
func (e ObjectErrors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// advisedError is a refusal of the server, and what a person can do about it.
type advisedError struct {
	cause  error
	advice string
}

func (e *advisedError) Error() string { return e.cause.Error() + "; " + e.advice }
func (e *advisedError) Unwrap() error { return e.cause }

// withoutValues drops the text of a server's error about a Secret, which may quote values, and keeps its reason and fields.
func withoutValues(id render.ObjectID, err error) error {
	var status apierrors.APIStatus
	if id.GroupKind() != live.SecretKind || !errors.As(err, &status) {
		return err
	}
	var advised *advisedError
	if errors.As(err, &advised) {
		return &advisedError{withoutValues(id, advised.cause), advised.advice}
	}
	fields := fieldsOf(err)
	reason := string(apierrors.ReasonForError(err))
	if reason == "" {
		reason = fmt.Sprintf("HTTP status %d", status.Status().Code)
	}
	if len(fields) > 0 {
		reason += " (fields " + strings.Join(fields, ", ") + ")"
	}
	return fmt.Errorf("the server answers %s; the text is withheld, since it may quote the Secret", reason)
}

// causes are the fields that the server complains of.
func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// fieldsOf are the fields that the server complains of, sorted.
func fieldsOf(refused error) []string {
	var fields []string
	for _, cause := range causes(refused) {
		fields = append(fields, cause.Field)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}
