// Package check is the function that answers access questions: POST
// /v1/access/check and /v1/access/batch-check.
//
// Nothing in Warden is asked as often, so its requests do not go through the
// router of package httpapi. They follow the same conventions in the same order
// (path and method, bearer, query, body, decision) with pooled buffers and one
// pass over the body. It reads only: what it can't decide is an error, and
// every error is a status that allows nothing.
package check

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// Config is what the function needs from others.
type Config struct {
	Checker *decide.Checker
	// Log gets an error for each failure of ours, information for each refusal,
	// and at debug level a line for each answer; never bodies, keys or headers.
	Log *slog.Logger
}

// Handler serves the function's routes.
type Handler struct {
	config    Config
	presenter presenter
	exchanges sync.Pool // of *exchange
}

// New makes the handler.
func New(config Config) *Handler {
	h := &Handler{config: config}
	h.exchanges.New = func() any { return new(exchange) }
	return h
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := h.exchanges.Get().(*exchange) //nolint:errcheck,forcetypeassert // New above makes no others
	x.begin(w, r)
	err := h.answer(x)
	if err != nil {
		x.problem(err)
	} else {
		x.reply()
	}
	h.log(x, err)
	if x.end() {
		h.exchanges.Put(x)
	}
}

// unproved is how large a body is read of a caller who has proved nothing yet, in
// bytes: a batch of a thousand usual questions, so that one costs no read more.
// Hundreds of connections with forged keys must not fill the memory.
const unproved = 256 << 10

// answer leaves the body of the answer in the exchange.
func (h *Handler) answer(x *exchange) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares this value too
				panic(p)
			}
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if x.route, err = find(x); err != nil {
		return err
	}
	bearer, err := httpapi.Bearer(x.r)
	if err != nil {
		return err
	}
	cred, known, ok := h.presenter.present(bearer)
	if !ok && !cred.Is(h.config.Checker.GivenKey) {
		return auth.ErrUnauthenticated
	}
	ctx := table.WithMeter(x.r.Context(), &x.meter)
	if n := x.r.ContentLength; n < 0 || n > unproved {
		if _, err := h.config.Checker.Admit(ctx, cred); err != nil {
			return err
		}
	}
	if err := x.read(); err != nil {
		return h.refuse(ctx, cred, err)
	}
	if x.route == &routeBatch {
		err = h.many(ctx, cred, x)
	} else {
		err = h.one(ctx, cred, x)
	}
	if err == nil && !known {
		h.presenter.remember(cred)
	}
	return err
}

func find(x *exchange) (*httpapi.Route, error) {
	var route *httpapi.Route
	switch x.r.URL.Path {
	case routeCheck.Pattern:
		route = &routeCheck
	case routeBatch.Pattern:
		route = &routeBatch
	default:
		return nil, fault.New(fault.NotFound, "there is nothing at this path")
	}
	if x.r.Method != route.Method {
		x.w.Header().Set("Allow", route.Method)
		return nil, fault.New(fault.MethodNotAllowed, "the methods here are %s", route.Method)
	}
	return route, nil
}

func (h *Handler) one(ctx context.Context, cred auth.Credential, x *exchange) error {
	x.questions = append(x.questions, Question{})
	q := &x.questions[0]
	if !x.decoder.question(x.body, q) {
		*q = Question{}
		if err := wire.Decode(x.body, q); err != nil {
			return h.refuse(ctx, cred, err)
		}
	}
	ask, err := q.resolve(cred)
	if err != nil {
		return h.refuse(ctx, cred, err)
	}
	a, err := h.config.Checker.One(ctx, cred, &ask)
	x.tell(cred, err, &ask, &a)
	if err != nil {
		return unknown(err, func(int) string { return "at_least" })
	}
	return x.append(&a, q.Explain)
}

func (h *Handler) many(ctx context.Context, cred auth.Credential, x *exchange) error {
	asks, err := x.batch(cred)
	if err != nil {
		return h.refuse(ctx, cred, err)
	}
	answers, err := h.config.Checker.Check(ctx, cred, asks)
	x.tellAll(cred, err, asks, answers)
	if err != nil {
		return unknown(err, func(i int) string { return place(i, "at_least") })
	}
	x.out = append(x.out, `{"results":[`...)
	for i := range answers {
		if i > 0 {
			x.out = append(x.out, ',')
		}
		if err := x.append(&answers[i], asks[i].Explain); err != nil {
			return err
		}
	}
	x.out = append(x.out, "]}"...)
	return nil
}

// refuse is the error of a request that has no question to decide: a caller who
// may not ask learns that and nothing else.
func (h *Handler) refuse(ctx context.Context, cred auth.Credential, err error) error {
	if _, refused := h.config.Checker.Admit(ctx, cred); refused != nil {
		return refused
	}
	return err
}

// unknown is the fault of a demand that the table doesn't meet; other errors pass.
func unknown(err error, field func(i int) string) error {
	var ahead *decide.RevisionUnknownError
	if errors.As(err, &ahead) {
		return fault.Wrap(fault.RevisionUnknown, err, "%s is ahead of the table", field(ahead.Question))
	}
	return err
}

// batch decodes a batch and resolves its questions for the bearer of a credential.
func (x *exchange) batch(cred auth.Credential) ([]decide.Question, error) {
	var ok bool
	if x.questions, ok = x.decoder.batch(x.body, x.questions); !ok {
		var b Batch
		if err := wire.Decode(x.body, &b); err != nil {
			return nil, err
		}
		x.questions = append(x.questions[:0], b.Checks...)
	}
	switch n := len(x.questions); {
	case n == 0:
		return nil, fault.InField(fault.Invalid, "checks", "must not be empty")
	case n > rbac.MaxChecksInBatch:
		return nil, fault.InField(fault.LimitExceeded, "checks", "has %d checks, at most %d are allowed", n, rbac.MaxChecksInBatch)
	}
	asks := make([]decide.Question, len(x.questions))
	for i := range x.questions {
		var err error
		if asks[i], err = x.questions[i].resolve(cred); err != nil {
			return nil, inCheck(i, err)
		}
	}
	return asks, nil
}

// inCheck is a fault of one question, with its fields named as the batch has them.
func inCheck(i int, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) == 0 {
		return err
	}
	in := *f
	in.Fields = slices.Clone(f.Fields)
	for n := range in.Fields {
		in.Fields[n].Field = place(i, in.Fields[n].Field)
	}
	in.Detail = in.Fields[0].Field + ": " + in.Fields[0].Message
	return &in
}
