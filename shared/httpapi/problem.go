package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/table"
)

// kindOfProblem is what all problems of one code have in common.
type kindOfProblem struct {
	status int
	title  string
}

// problems is the one place where a code gets its status.
var problems = map[fault.Code]kindOfProblem{
	fault.BadJSON:               {http.StatusBadRequest, "The body is not valid JSON"},
	fault.BadCursor:             {http.StatusBadRequest, "The cursor does not belong to this list"},
	fault.BadPathSegment:        {http.StatusBadRequest, "An id in the path is in no accepted form"},
	fault.BadRequest:            {http.StatusBadRequest, "The request is malformed"},
	fault.Invalid:               {http.StatusUnprocessableEntity, "The request has invalid fields"},
	fault.LimitExceeded:         {http.StatusUnprocessableEntity, "A limit is exceeded"},
	fault.InvalidRevision:       {http.StatusUnprocessableEntity, "The revision is not one of this scope"},
	fault.RevisionUnknown:       {http.StatusConflict, "The revision is not known yet"},
	fault.RoleCycle:             {http.StatusUnprocessableEntity, "Roles would inherit in a circle"},
	fault.UnknownReference:      {http.StatusUnprocessableEntity, "A reference names nothing"},
	fault.WebhookTargetRefused:  {http.StatusUnprocessableEntity, "The webhook's target is not called"},
	fault.IdempotencyKeyReused:  {http.StatusUnprocessableEntity, "The idempotency key was used for another request"},
	fault.IdempotencyInProgress: {http.StatusConflict, "The first request with this idempotency key is still at work"},
	fault.Unauthenticated:       {http.StatusUnauthorized, "A valid key is needed"},
	fault.Forbidden:             {http.StatusForbidden, "The key lacks the permission"},
	fault.WouldEscalate:         {http.StatusForbidden, "Nobody can give more than they hold"},
	fault.OrgSuspended:          {http.StatusForbidden, "The org is suspended"},
	fault.NotFound:              {http.StatusNotFound, "Not found"},
	fault.MethodNotAllowed:      {http.StatusMethodNotAllowed, "The resource does not have this method"},
	fault.AlreadyExists:         {http.StatusConflict, "Already exists"},
	fault.InUse:                 {http.StatusConflict, "Still in use"},
	fault.BeingDeleted:          {http.StatusConflict, "Still being deleted"},
	fault.LastOwner:             {http.StatusConflict, "An org keeps one owner"},
	fault.PreconditionFailed:    {http.StatusPreconditionFailed, "The resource is not in the state asked for"},
	fault.TooLarge:              {http.StatusRequestEntityTooLarge, "The body is too large"},
	fault.UnsupportedMediaType:  {http.StatusUnsupportedMediaType, "The body must be JSON"},
	fault.TooManyRequests:       {http.StatusTooManyRequests, "Too many requests"},
	fault.Busy:                  {http.StatusServiceUnavailable, "Busy"},
	fault.Internal:              {http.StatusInternalServerError, "Internal error"},
}

// internalDetail is all that a caller is told of a failure of ours.
const internalDetail = "something went wrong on our side; the request id leads to what"

// busyFor is how long a caller waits when the failure does not say.
const busyFor = time.Second

// Status is the status that stands for a code. All codes have one.
func Status(c fault.Code) int { return problems[c].status }

// Title is what all problems of a code are called.
func Title(c fault.Code) string { return problems[c].title }

// ProblemType is the `type` of a code's problems: a name that stays, not a link.
func ProblemType(c fault.Code) string { return "urn:warden:problem:" + string(c) }

// problemBody is application/problem+json as RFC 9457 has it, with the members
// that the contract adds.
type problemBody struct {
	Type      string        `json:"type"`
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Detail    string        `json:"detail,omitzero"`
	Code      fault.Code    `json:"code"`
	RequestID string        `json:"request_id"`
	Errors    []fault.Field `json:"errors,omitempty"`
	UsedBy    []fault.User  `json:"used_by,omitempty"` // of in-use: up to ten
}

// Fault is the fault that stands for an error at the edge: the first one in its
// chain, else what the port's and the context's errors mean to a caller, else
// fault.Internal with a fixed sentence. Nil stays nil.
func Fault(err error) *fault.Error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		if _, known := problems[f.Code]; known && f.Code != fault.Internal {
			return f
		}
	case errors.Is(err, table.ErrBadCursor):
		return fault.Wrap(fault.BadCursor, err, "the cursor is damaged, or belongs to another list or query")
	case errors.Is(err, table.ErrThrottled), errors.Is(err, table.ErrConflict),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.BusyAfter(busyFor, err)
	}
	return fault.Wrap(fault.Internal, err, internalDetail)
}

// WriteProblem answers with the problem that stands for an error, and is its
// status. Headers that were set before are kept.
func WriteProblem(w http.ResponseWriter, requestID string, cost table.Cost, err error) int {
	f := Fault(err)
	status := Status(f.Code)
	h := w.Header()
	SetCommonHeaders(h, requestID, cost)
	if f.Code == fault.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if f.Code == fault.Busy || f.Code == fault.TooManyRequests {
		h.Set("Retry-After", retryAfter(f.RetryAfter))
	}
	body := problem(f, status, requestID)
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON that nosniff keeps JSON; and a caller that has gone away is no failure
	return status
}

func problem(f *fault.Error, status int, requestID string) []byte {
	p := problemBody{
		Type: ProblemType(f.Code), Title: Title(f.Code), Status: status, Detail: f.Detail,
		Code: f.Code, RequestID: requestID, Errors: f.Fields, UsedBy: f.UsedBy,
	}
	// Details may quote the caller, whose text need not be UTF-8.
	body, err := json.Marshal(p, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("httpapi: a problem has no JSON: " + err.Error()) // strings and numbers only
	}
	return body
}

// retryAfter is whole seconds, rounded up, at least one.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
