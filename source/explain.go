package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// maxMessage is how many characters of what a server says get into an error.
const maxMessage = 300

// explain makes an error of a conversation fit for a status: the cause alone, the same each time, on one short line, and without a
// secret that the server may have sent back.
func explain(ctx context.Context, err error, c credentials) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = rephrase(unwrapClient(err))
	text := clean(err.Error(), c.secrets())
	switch {
	case text == err.Error():
		return err
	case isContentError(err):
		return contentError{errors.New(text)}
	default:
		return errors.New(text)
	}
}

// rephrase says what errors of libraries mean here.
func rephrase(err error) error {
	switch {
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return errors.New("the repository has no commits")
	case errors.Is(err, packfile.ErrMalformedPackFile):
		return err // even if it wraps the end of the file
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the server ends the connection in the middle of an answer")
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w; put a private CA into key %q of the Secret that secretRef names", err, keyCAFile)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return errors.New("the certificate of the server has expired or is not valid yet") // the library adds the time
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return &net.OpError{Op: e.Op, Net: e.Net, Addr: e.Addr, Err: e.Err} // without the port of this side, which changes
	}
	return err
}

// unwrapClient takes off the layers that say no more than that an HTTP client was at work.
func unwrapClient(err error) error {
	for {
		if e, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
			err = e.Err
		} else if e, ok := errors.AsType[*plumbing.PermanentError](err); ok {
			err = e.Err
		} else if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		} else if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			err = e.Err
		} else {
			return err
		}
	}
}

// queries are the queries of URLs, which may hold signatures that give access.
var queries = regexp.MustCompile(`(https?://[^\s?"]*)\?[^\s"]*`)

// clean masks secrets and makes one short line of what is left.
func clean(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = queries.ReplaceAllString(text, "$1")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "…"
	}
	return text
}
