// Package fault is Warden's vocabulary of failures: a closed list of stable
// codes, and an error that carries one. The domain returns faults; the edge
// maps each code once to a status (package httpapi). Causes stay private.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Code is the stable, public name of a kind of failure (kebab-case).
type Code string

// The codes. README's table of codes lists the same, held together by a test.
const (
	BadJSON               Code = "bad-json"                // body is not JSON, has duplicate names, bad UTF-8 or is too deep
	BadCursor             Code = "bad-cursor"              // cursor damaged, or of another query
	BadPathSegment        Code = "bad-path-segment"        // an id in the path is in no accepted form
	BadRequest            Code = "bad-request"             // a header is malformed
	Invalid               Code = "invalid"                 // a field has a wrong type or value
	LimitExceeded         Code = "limit-exceeded"          // a published limit
	InvalidRevision       Code = "invalid-revision"        // at_least is no token, or another scope's
	RevisionUnknown       Code = "revision-unknown"        // at_least is ahead of the table
	RoleCycle             Code = "role-cycle"              // inheritance would close a circle
	UnknownReference      Code = "unknown-reference"       // an id in the body names nothing
	WebhookTargetRefused  Code = "webhook-target-refused"  // a URL that Warden does not call
	IdempotencyKeyReused  Code = "idempotency-key-reused"  // same key, other body
	IdempotencyInProgress Code = "idempotency-in-progress" // same key, first request still at work
	Unauthenticated       Code = "unauthenticated"         // no key, or a bad one
	Forbidden             Code = "forbidden"               // the key lacks the permission
	WouldEscalate         Code = "would-escalate"          // giving more than one holds
	OrgSuspended          Code = "org-suspended"           // writes to a suspended org
	NotFound              Code = "not-found"               // no such resource, or a foreign one
	MethodNotAllowed      Code = "method-not-allowed"      // the path exists, the method does not
	AlreadyExists         Code = "already-exists"          // the id, name or issuer is taken
	InUse                 Code = "in-use"                  // others refer to it
	BeingDeleted          Code = "being-deleted"           // the id is free only after the purge
	LastOwner             Code = "last-owner"              // an org keeps one owner
	PreconditionFailed    Code = "precondition-failed"     // If-Match or If-None-Match
	TooLarge              Code = "too-large"               // body over its limit
	UnsupportedMediaType  Code = "unsupported-media-type"  // body is not JSON by its content type
	TooManyRequests       Code = "too-many-requests"       // rate limit; carries when to come back
	Busy                  Code = "busy"                    // the store can't take it now; carries when to come back
	Internal              Code = "internal"                // ours; the text is never shown
)

// Field is what is wrong with one field of the request.
type Field struct {
	Field   string `json:"field"` // "checks[3].scope"
	Message string `json:"message"`
}

// User is what refers to a resource that is in use.
type User struct {
	Type string `json:"type"` // "role", "subject", "policy", "permission" or "scope"
	ID   string `json:"id"`
}

// Error is a failure that a caller may be told of: its Code and Detail are
// public, its cause is not.
type Error struct {
	Code       Code
	Detail     string
	Fields     []Field
	UsedBy     []User        // for InUse: some of them
	RetryAfter time.Duration // for Busy and TooManyRequests
	cause      error
}

func (e *Error) Error() string {
	s := string(e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	for _, f := range e.Fields {
		s += fmt.Sprintf("; %s: %s", f.Field, f.Message)
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap is the private cause.
func (e *Error) Unwrap() error { return e.cause }

// New makes a fault with a sentence for the caller.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Wrap makes a fault with a private cause.
func Wrap(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...), cause: cause}
}

// InField makes a fault about one field.
func InField(code Code, field, format string, args ...any) *Error {
	m := fmt.Sprintf(format, args...)
	return &Error{Code: code, Detail: field + ": " + m, Fields: []Field{{field, m}}}
}

// BusyAfter makes the fault of a store that can't take it now.
func BusyAfter(d time.Duration, cause error) *Error {
	return &Error{Code: Busy, Detail: "the store is busy; try again", RetryAfter: d, cause: cause}
}

// CodeOf is the code of the first fault in the error's chain, Internal when
// there is none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var f *Error
	if errors.As(err, &f) {
		return f.Code
	}
	return Internal
}
