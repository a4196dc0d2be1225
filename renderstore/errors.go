package renderstore

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"google.golang.org/api/googleapi"
)

var (
	// ErrDisabled says that no object store is configured.
	ErrDisabled = errors.New("no render store is configured")

	// ErrNotFound says that the object store answered, and does not have it.
	ErrNotFound = errors.New("not in the render store")

	// ErrExists says that the object store answered, and has it already. No method of an Archive returns it.
	ErrExists = errors.New("in the render store already")

	// ErrCorrupt says that the whole object was read, and is not what its name says.
	ErrCorrupt = errors.New("corrupt in the render store")
)

// plainError is what a driver said, in words that may be shown. The error itself is still there for errors.Is.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// plain gives an error of a driver one line of text, the same on every try, without credentials. It is for every error that leaves a
// bucket, since drivers quote URLs, request ids and whole responses. What was added to a plain error stays.
func plain(err error) error {
	var already *plainError
	if err == nil || errors.As(err, &already) {
		return err
	}
	text := temporaryName.ReplaceAllString(withoutCredentials(describe(err)), "")
	return &plainError{text: strings.Join(strings.Fields(text), " "), err: err}
}

// join is errors.Join in one line.
func join(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return &plainError{text: strings.ReplaceAll(err.Error(), "\n", "; "), err: err}
}

// describe finds the part of an error that says what happened: the answer of the service, the request that got none, or the file.
func describe(err error) string {
	var (
		api     smithy.APIError
		google  *googleapi.Error
		request *url.Error
		file    *os.PathError
	)
	status, _ := httpStatus(err)
	switch {
	case status != 0 && errors.As(err, &api):
		return answer(status, api.ErrorCode(), api.ErrorMessage())
	case errors.As(err, &google):
		return answer(status, google.Message)
	case status >= http.StatusMultipleChoices:
		return answer(status, azureCode(err))
	case errors.As(err, &request):
		return request.Error()
	case errors.As(err, &file):
		return file.Error()
	}
	return gocloudPrefix.ReplaceAllString(err.Error(), "")
}

// answer is what a service said: 403 AccessDenied: Access Denied.
func answer(status int, said ...string) string {
	words := []string{http.StatusText(status)}
	for _, s := range said {
		if s != "" && s != words[len(words)-1] {
			words = append(words, s)
		}
	}
	if len(words) > 1 {
		words = words[1:]
	}
	return fmt.Sprintf("the object store answered %d %s", status, strings.Join(words, ": "))
}

// azureCode is the error code in an answer of Azure.
func azureCode(err error) string {
	var response *azcore.ResponseError
	if errors.As(err, &response) {
		return response.ErrorCode
	}
	return ""
}

// httpStatus is the status with which a service answered; false if there was no answer.
func httpStatus(err error) (int, bool) {
	var (
		aws    *awshttp.ResponseError
		azure  *azcore.ResponseError
		google *googleapi.Error
		status int
	)
	if errors.As(err, &aws) {
		status = aws.HTTPStatusCode()
	}
	if errors.As(err, &azure) {
		status = azure.StatusCode
	}
	if errors.As(err, &google) {
		status = google.Code
	}
	return status, status != 0
}

var (
	// gocloudPrefix is what gocloud puts before the error of a driver.
	gocloudPrefix = regexp.MustCompile(`blob( \(key "[^"]*"\))? \(code=\w+\): `)

	// temporaryName is what gocloud's driver for directories adds to the name of a file while it writes it.
	temporaryName = regexp.MustCompile(`\.[0-9a-f]{12,}\.tmp\b`)

	// The parts of a URL in a text that may hold credentials.
	urlUserinfo = regexp.MustCompile(`(://)[^\s/?#"']*@`)
	urlQuery    = regexp.MustCompile(`(://[^\s?"']*)\?[^\s"']*`)
)

// withoutUserinfo takes the userinfo out of every URL in a text.
func withoutUserinfo(text string) string { return urlUserinfo.ReplaceAllString(text, "$1") }

// withoutCredentials takes the userinfo and the query out of every URL in a text.
func withoutCredentials(text string) string {
	return urlQuery.ReplaceAllString(withoutUserinfo(text), "$1")
}
