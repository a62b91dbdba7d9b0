package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/table"
)

// codes are the codes that package fault declares.
func codes(t *testing.T) []fault.Code {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "fault", "fault.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []fault.Code
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			literal, ok := v.(*ast.BasicLit)
			if !ok {
				t.Fatalf("%v: a code is no literal", spec.Names)
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fault.Code(text))
		}
		return true
	})
	if len(all) < 28 {
		t.Fatalf("only %d codes were found", len(all))
	}
	return all
}

func TestEveryCodeHasItsProblem(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[fault.Code]bool{}
	for _, c := range codes(t) {
		if seen[c] || !kebab.MatchString(string(c)) {
			t.Errorf("%q stands twice or is not kebab-case", c)
		}
		seen[c] = true
		if s := httpapi.Status(c); s < 400 || s > 599 || httpapi.Title(c) == "" {
			t.Errorf("%q has status %d and title %q", c, s, httpapi.Title(c))
		}
	}
}

func TestStatusesOfTheContract(t *testing.T) {
	for c, want := range map[fault.Code]int{
		fault.BadJSON: 400, fault.BadCursor: 400, fault.BadPathSegment: 400,
		fault.Unauthenticated: 401,
		fault.Forbidden:       403, fault.WouldEscalate: 403, fault.OrgSuspended: 403,
		fault.NotFound: 404, fault.MethodNotAllowed: 405,
		fault.AlreadyExists: 409, fault.InUse: 409, fault.BeingDeleted: 409, fault.LastOwner: 409,
		fault.IdempotencyInProgress: 409, fault.RevisionUnknown: 409,
		fault.PreconditionFailed: 412, fault.TooLarge: 413, fault.UnsupportedMediaType: 415,
		fault.Invalid: 422, fault.LimitExceeded: 422, fault.InvalidRevision: 422, fault.RoleCycle: 422,
		fault.UnknownReference: 422, fault.IdempotencyKeyReused: 422,
		fault.TooManyRequests: 429, fault.Internal: 500, fault.Busy: 503,
	} {
		if got := httpapi.Status(c); got != want {
			t.Errorf("%s: %d, want %d", c, got, want)
		}
	}
}

func TestFault(t *testing.T) {
	ours := fault.New(fault.RoleCycle, "a > b > a")
	for name, tc := range map[string]struct {
		err    error
		code   fault.Code
		detail string
	}{
		"a fault":              {ours, fault.RoleCycle, "a > b > a"},
		"a fault inside":       {fmt.Errorf("put: %w", ours), fault.RoleCycle, "a > b > a"},
		"a bad cursor":         {fmt.Errorf("query: %w", table.ErrBadCursor), fault.BadCursor, "the cursor is damaged"},
		"a throttled store":    {table.ErrThrottled, fault.Busy, "busy"},
		"a conflict":           {table.ErrConflict, fault.Busy, "busy"},
		"a caller gone":        {fmt.Errorf("get: %w", context.Canceled), fault.Busy, "busy"},
		"a deadline":           {context.DeadlineExceeded, fault.Busy, "busy"},
		"a lost answer":        {table.ErrUnknownOutcome, fault.Internal, "on our side"},
		"an error of whatever": {errors.New("a secret of ours"), fault.Internal, "on our side"},
		"a fault that is ours": {fault.New(fault.Internal, "a secret of ours"), fault.Internal, "on our side"},
		"a code nobody knows":  {fault.New("new-code", "a secret of ours"), fault.Internal, "on our side"},
	} {
		f := httpapi.Fault(tc.err)
		if f.Code != tc.code || !strings.Contains(f.Detail, tc.detail) || strings.Contains(f.Detail, "secret") {
			t.Errorf("%s: %s %q", name, f.Code, f.Detail)
		}
		if !errors.Is(f, tc.err) && !errors.Is(tc.err, f) {
			t.Errorf("%s: the cause is lost", name)
		}
	}
	if httpapi.Fault(nil) != nil {
		t.Error("nil is a fault")
	}
}

func TestWriteProblem(t *testing.T) {
	for _, tc := range []struct {
		err    *fault.Error
		header string
		want   string
	}{
		{fault.BusyAfter(0, nil), "Retry-After", "1"},
		{fault.BusyAfter(time.Millisecond, nil), "Retry-After", "1"},
		{fault.BusyAfter(time.Second, nil), "Retry-After", "1"},
		{fault.BusyAfter(1001*time.Millisecond, nil), "Retry-After", "2"},
		{&fault.Error{Code: fault.TooManyRequests, RetryAfter: time.Minute}, "Retry-After", "60"},
		{fault.New(fault.Unauthenticated, "no"), "WWW-Authenticate", "Bearer"},
		{fault.New(fault.NotFound, "no"), "Retry-After", ""},
		{fault.New(fault.NotFound, "no"), "Content-Type", "application/problem+json"},
		{fault.New(fault.NotFound, "no"), "X-Warden-Cost", "ops=1; rru=0.5; wru=0"},
		{fault.New(fault.NotFound, "no"), "X-Request-Id", "req-1"},
	} {
		w := httptest.NewRecorder()
		status := httpapi.WriteProblem(w, "req-1", table.Cost{Ops: 1, RRU: 0.5}, tc.err)
		if status != w.Code || w.Header().Get(tc.header) != tc.want {
			t.Errorf("%v: %d %s: %q, want %q", tc.err, status, tc.header, w.Header().Get(tc.header), tc.want)
		}
	}
}

func TestProblemBody(t *testing.T) {
	w := httptest.NewRecorder()
	httpapi.WriteProblem(w, "req-1", table.Cost{}, fault.InField(fault.Invalid, "checks[3].scope", "is <bad>: %q", "\xff"))
	want := `{"type":"urn:warden:problem:invalid","title":"The request has invalid fields","status":422,` +
		`"detail":"checks[3].scope: is <bad>: \"\\xff\"","code":"invalid","request_id":"req-1",` +
		`"errors":[{"field":"checks[3].scope","message":"is <bad>: \"\\xff\""}]}`
	if got := w.Body.String(); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	w = httptest.NewRecorder()
	httpapi.WriteProblem(w, "req-1", table.Cost{}, fault.New(fault.NotFound, "%s", "no UTF-8: \xff"))
	if got := w.Body.String(); !strings.Contains(got, "no UTF-8: \ufffd") || strings.Contains(got, "errors") {
		t.Errorf("got %s", got)
	}
}

func TestFailuresOfHandlers(t *testing.T) {
	e := newEdge(t)
	for how, want := range map[string]fault.Code{
		"panic": fault.Internal, "unknown": fault.Internal, "throttled": fault.Busy, "cancelled": fault.Busy, "undeclared": fault.RoleCycle,
	} {
		a := e.do(request{path: "/fail/" + how})
		a.problem(httpapi.Status(want), want)
		if strings.Contains(string(a.body), "secret") {
			t.Errorf("%s tells what is ours: %s", how, a.body)
		}
		if got := a.header.Get("X-Warden-Cost"); got != "ops=1; rru=1; wru=0" {
			t.Errorf("%s: cost %q", how, got)
		}
	}
	func() {
		defer func() {
			if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("recovered %v", err)
			}
		}()
		e.do(request{path: "/fail/abort"})
	}()
}
