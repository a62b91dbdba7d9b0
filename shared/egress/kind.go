package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Kind is what went wrong with a request, in a word that delivery logs show and
// that never changes its meaning.
type Kind string

// The kinds of failure.
const (
	KindNone              Kind = ""
	KindRefusedTarget     Kind = "refused_target"     // by URL or by address; nothing was sent
	KindDNS               Kind = "dns_error"          // the name has no address, or none was told
	KindConnectionRefused Kind = "connection_refused" // nobody listens
	KindUnreachable       Kind = "unreachable"        // no way there
	KindConnectionReset   Kind = "connection_reset"   // the connection broke before the answer was whole
	KindTimeout           Kind = "timeout"            // the answer was not whole in time
	KindTLS               Kind = "tls_error"          // no secure connection: certificate, name, version
	KindTooLarge          Kind = "too_large"          // headers over the limit; a long body is cut instead
	KindInvalidAnswer     Kind = "invalid_answer"     // not HTTP
	KindInvalidRequest    Kind = "invalid_request"    // the request itself can't be sent
	KindCanceled          Kind = "canceled"           // by the sender: says nothing of the receiver
	KindRedirect          Kind = "redirect"           // status 3xx: never followed
	KindStatus            Kind = "error_status"       // any other status outside of 200 to 299
)

// Error is a request without a whole answer. Its text is for the operator's log:
// it may name addresses of the network Warden runs in, but nothing of the URL
// beside the host. Tenants are shown the Kind.
type Error struct {
	Kind  Kind
	Host  string // empty: the URL was refused
	cause error
}

// maxErrorText bounds what a receiver can write into a log: an answer that is no
// HTTP is quoted by net/http.
const maxErrorText = 300

func (e *Error) Error() string {
	text := e.cause.Error()
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "..."
	}
	if e.Host == "" {
		return fmt.Sprintf("egress: %s: %s", e.Kind, text)
	}
	return fmt.Sprintf("egress: %s: %s: %s", e.Host, e.Kind, text)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.cause }

var (
	errNoAddress  = errors.New("no address")
	errBadRequest = errors.New("method or URL can't be sent")
)

// lookupError and handshakeError mark where an error came from: their causes
// are of many types, some of none.
type lookupError struct{ cause error }

func (e *lookupError) Error() string { return "looking up: " + e.cause.Error() }
func (e *lookupError) Unwrap() error { return e.cause }

type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.cause.Error() }
func (e *handshakeError) Unwrap() error { return e.cause }

// KindOf is the kind of a failed request's error, KindNone for nil.
func KindOf(err error) Kind {
	var known *Error
	switch {
	case err == nil:
		return KindNone
	case errors.As(err, &known):
		return known.Kind
	case errors.Is(err, ErrRefusedTarget):
		return KindRefusedTarget
	case errors.Is(err, errBadRequest):
		return KindInvalidRequest
	case errors.Is(err, context.Canceled):
		return KindCanceled
	case is[*lookupError](err):
		return KindDNS
	case isTimeout(err):
		return KindTimeout
	}
	return kindOfConnection(err)
}

func kindOfConnection(err error) Kind {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return KindConnectionRefused
	case anyIs(err, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, io.EOF, io.ErrUnexpectedEOF):
		return KindConnectionReset
	case is[*handshakeError](err), is[tls.AlertError](err), is[tls.RecordHeaderError](err):
		return KindTLS
	case is[*net.OpError](err):
		return KindUnreachable
	case strings.Contains(err.Error(), "server response headers exceeded"): // net/http has no type for it
		return KindTooLarge
	case strings.HasPrefix(err.Error(), "net/http: invalid"): // method or header, likewise
		return KindInvalidRequest
	}
	return KindInvalidAnswer
}

// KindOfStatus is the kind of failure that an answer's status is, KindNone from
// 200 to 299.
func KindOfStatus(status int) Kind {
	switch {
	case status >= 200 && status <= 299:
		return KindNone
	case status >= 300 && status <= 399:
		return KindRedirect
	}
	return KindStatus
}

func isTimeout(err error) bool {
	var n net.Error
	return anyIs(err, context.DeadlineExceeded, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func anyIs(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func is[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}
