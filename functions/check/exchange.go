package check

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// keep is the largest buffer that is kept for the next request, in bytes, and
// keepQuestions the largest list: one big batch must not pin its memory.
const (
	keep          = 64 << 10
	keepQuestions = 256
)

// exchange is one request and its answer. It is used again once it ended.
type exchange struct {
	w         http.ResponseWriter
	r         *http.Request
	route     *httpapi.Route // nil until it is known
	requestID string
	meter     table.Meter
	told      *table.Cost // in place of what the meter says; nil: that
	decoder   decoder
	body      []byte
	questions []Question
	out       []byte
	status    int
}

func (x *exchange) begin(w http.ResponseWriter, r *http.Request) {
	x.w, x.r, x.requestID = w, r, httpapi.RequestID(r)
}

// end forgets the request. It is false when the exchange is not worth keeping.
func (x *exchange) end() bool {
	if cap(x.body) > keep || cap(x.out) > keep || cap(x.questions) > keepQuestions {
		return false
	}
	clear(x.questions)
	x.w, x.r, x.route, x.requestID, x.status = nil, nil, nil, "", 0
	x.meter = table.Meter{}
	x.told = nil
	x.body, x.questions, x.out = x.body[:0], x.questions[:0], x.out[:0]
	return true
}

// read takes in query and body.
func (x *exchange) read() error {
	if err := httpapi.CheckQuery(x.route, x.r); err != nil {
		return err
	}
	n := x.r.ContentLength
	if err := httpapi.CheckBodyType(x.r, n == 0); err != nil {
		return err
	}
	if n < 0 || n > httpapi.MaxBody || x.r.Body == nil {
		body, err := httpapi.ReadBody(x.w, x.r, httpapi.MaxBody)
		x.body = append(x.body, body...)
		return err
	}
	if int64(cap(x.body)) < n {
		x.body = make([]byte, n)
	}
	x.body = x.body[:n]
	_, err := io.ReadFull(x.r.Body, x.body)
	switch {
	case err != nil && x.r.Context().Err() != nil:
		return x.r.Context().Err()
	case err != nil:
		return fault.Wrap(fault.BadRequest, err, "the body ended early")
	}
	return nil
}

var errUndecided = errors.New("check: a question without an answer")

// append adds an answer to the body, or says why it can't be given.
func (x *exchange) append(a *decide.Answer, explain bool) error {
	if a.Reason == rbac.ReasonUndecided {
		return errUndecided
	}
	x.out = appendAnswer(x.out, a, explain)
	if len(x.out) > httpapi.MaxAnswer {
		return fault.New(fault.LimitExceeded, "the answer would pass %d bytes; ask for fewer explanations at once", httpapi.MaxAnswer)
	}
	return nil
}

var (
	contentType = []string{"application/json"}
	noStore     = []string{"no-store"}
	noSniff     = []string{"nosniff"}
)

// reply sends the answer. It sets what httpapi.SetCommonHeaders does; the names
// are in their canonical form.
func (x *exchange) reply() {
	h := x.w.Header()
	values := [...]string{x.requestID, x.cost().String(), strconv.Itoa(len(x.out))}
	h[httpapi.HeaderRequestID] = values[0:1:1]
	h[httpapi.HeaderCost] = values[1:2:2]
	h["Content-Length"] = values[2:3:3]
	h["Content-Type"] = contentType
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	x.status = http.StatusOK
	x.w.WriteHeader(x.status)
	_, _ = x.w.Write(x.out) // a caller that has gone away is no failure
}

// cost is what the answer shows.
func (x *exchange) cost() table.Cost {
	if x.told != nil {
		return *x.told
	}
	return x.meter.Cost()
}

func (x *exchange) problem(err error) {
	x.status = httpapi.WriteProblem(x.w, x.requestID, x.cost(), err)
}

func (h *Handler) log(x *exchange, err error) {
	level := slog.LevelDebug
	switch {
	case x.status >= http.StatusInternalServerError && x.r.Context().Err() == nil:
		level = slog.LevelError
	case err != nil:
		level = slog.LevelInfo
	}
	ctx := x.r.Context()
	if !h.config.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.requestID), slog.Int("status", x.status),
		slog.String("cost", x.meter.Cost().String()), slog.String("source", httpapi.Source(x.r)),
	}
	if x.route != nil {
		attrs = append(attrs, slog.String("route", x.route.Name))
	}
	if err != nil {
		attrs = append(attrs, slog.String("code", string(httpapi.Fault(err).Code)))
	}
	if level == slog.LevelError {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	h.config.Log.LogAttrs(ctx, level, "request", attrs...)
}
