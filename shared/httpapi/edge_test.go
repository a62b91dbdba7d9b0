package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/table"
)

// The tests' service: things, which have every trait a route can have.

type thing struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Method string `json:"method,omitzero"`
}

type putThing struct {
	Name  string       `json:"name"`
	Until instant.Time `json:"until,omitzero"`
	Tags  []tag        `json:"tags,omitzero"`
}

type tag struct {
	Key string `json:"key"`
}

type patchThing struct {
	Name wire.Optional[string] `json:"name,omitzero"`
}

type rotateThing struct {
	Overlap string `json:"overlap,omitzero"`
}

// seen is what a handler saw of its call.
type seen struct {
	Params     map[string]string `json:"params"`
	Query      map[string]string `json:"query"`
	Principal  string            `json:"principal"`
	RequestID  string            `json:"request_id"`
	Source     string            `json:"source"`
	OnBehalfOf string            `json:"on_behalf_of"`
	Key        string            `json:"key"`
	Digest     []byte            `json:"digest"`
	Sealing    []byte            `json:"sealing"`
	Name       string            `json:"name"`
	Limit      int               `json:"limit,omitzero"`
	Flag       bool              `json:"flag,omitzero"`
}

func see(c *httpapi.Call) seen {
	s := seen{Params: map[string]string{}, Query: map[string]string{}, RequestID: c.RequestID(), Source: c.Source(), OnBehalfOf: c.OnBehalfOf()}
	for _, name := range c.Route().PathParams() {
		s.Params[name] = c.Param(name)
	}
	for _, q := range c.Route().QueryParams() {
		if v, ok := c.Query(q.Name); ok {
			s.Query[q.Name] = v
		}
	}
	if p := c.Principal(); p != nil {
		s.Principal = p.ID()
	}
	if key, digest, ok := c.Idempotency(); ok {
		sealing, _ := c.SealingKey()
		s.Key, s.Digest, s.Sealing = key, digest[:], sealing[:]
	}
	return s
}

var dryRun = httpapi.QueryParam{Name: "dry_run", Kind: httpapi.Bool}

func endpoints() []httpapi.Endpoint {
	ok := []int{http.StatusOK}
	read := func(_ context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[seen], error) {
		return httpapi.Reply[seen]{Body: see(c), Version: 7}, nil
	}
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "things.list", Method: "GET", Pattern: "/v1/things", Permission: "read", Success: ok, List: true,
			Query: []httpapi.QueryParam{
				{Name: "status", Kind: httpapi.Enum, Values: []string{"on", "off"}},
				{Name: "target", Kind: httpapi.Text},
			},
		}, func(_ context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[seen], error) {
			s := see(c)
			s.Limit = c.Limit()
			return httpapi.Reply[seen]{Body: s}, nil
		}),
		httpapi.Bind(httpapi.Route{
			Name: "things.create", Method: "POST", Pattern: "/v1/things", Permission: "write", Success: []int{http.StatusCreated},
			Creates: true, ShowsSecret: true, Query: []httpapi.QueryParam{dryRun},
		}, func(ctx context.Context, c *httpapi.Call, req putThing) (httpapi.Reply[seen], error) {
			table.Spend(ctx, table.Cost{Ops: 2, RRU: 0.5, WRU: 12})
			s := see(c)
			s.Name, s.Flag = req.Name, c.Flag("dry_run")
			return httpapi.Reply[seen]{Body: s, Version: 1, Revision: "r1", Location: "/v1/things/x"}, nil
		}),
		httpapi.Bind(httpapi.Route{
			Name: "things.batch", Method: "POST", Pattern: "/v1/things/batch", Permission: "write", Success: ok,
		}, func(_ context.Context, _ *httpapi.Call, req putThing) (httpapi.Reply[thing], error) {
			return httpapi.Reply[thing]{Body: thing{ID: "the batch", Name: req.Name}}, nil
		}),
		httpapi.Bind(httpapi.Route{
			Name: "things.get", Method: "GET", Pattern: "/v1/things/{thing}", Permission: "read", Success: ok, Versioned: true,
		}, read),
		httpapi.Bind(httpapi.Route{
			Name: "things.put", Method: "PUT", Pattern: "/v1/things/{thing}", Permission: "write",
			Success: []int{http.StatusOK, http.StatusCreated}, Versioned: true,
		}, func(_ context.Context, c *httpapi.Call, req putThing) (httpapi.Reply[seen], error) {
			exists := c.Param("thing") == "old"
			if err := c.CheckPreconditions(exists, 7); err != nil {
				return httpapi.Reply[seen]{}, err
			}
			r := httpapi.Reply[seen]{Body: see(c), Version: 8}
			r.Body.Name = req.Name
			if !exists {
				r.Status = http.StatusCreated
			}
			return r, nil
		}),
		httpapi.Bind(httpapi.Route{
			Name: "things.patch", Method: "PATCH", Pattern: "/v1/things/{thing}", Permission: "write", Success: ok, Versioned: true,
		}, func(_ context.Context, _ *httpapi.Call, req patchThing) (httpapi.Reply[thing], error) {
			name := "before"
			req.Name.Merge(&name)
			return httpapi.Reply[thing]{Body: thing{Name: name}, Version: 8}, nil
		}),
		httpapi.Bind(httpapi.Route{
			Name: "things.delete", Method: "DELETE", Pattern: "/v1/things/{thing}", Permission: "write",
			Success: []int{http.StatusNoContent}, Versioned: true,
		}, func(context.Context, *httpapi.Call, httpapi.None) (httpapi.Reply[httpapi.None], error) {
			return httpapi.Reply[httpapi.None]{Revision: "r9"}, nil
		}),
		httpapi.Bind(httpapi.Route{
			Name: "things.rotate", Method: "POST", Pattern: "/v1/things/{thing}/rotate", Permission: "write", Success: ok, BodyOptional: true,
		}, func(_ context.Context, c *httpapi.Call, req rotateThing) (httpapi.Reply[thing], error) {
			return httpapi.Reply[thing]{Body: thing{ID: c.Param("thing"), Name: "overlap " + req.Overlap}}, nil
		}),
		httpapi.Bind(httpapi.Route{
			Name: "owner", Method: "GET", Pattern: "/v1/owner", Permission: httpapi.OwnerOnly, Success: ok,
		}, read),
		httpapi.Bind(httpapi.Route{
			Name: "public", Method: "GET", Pattern: "/public", Permission: httpapi.Public, Success: ok,
		}, read),
		httpapi.Bind(httpapi.Route{
			Name: "fail", Method: "GET", Pattern: "/fail/{how}", Permission: httpapi.Public, Success: ok,
		}, func(ctx context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
			table.Spend(ctx, table.Cost{Ops: 1, RRU: 1})
			return httpapi.Reply[httpapi.None]{}, failures[c.Param("how")]()
		}),
	}
}

// failures are what the route "fail" can do.
var failures = map[string]func() error{
	"panic":      func() error { panic("a secret of ours") },
	"abort":      func() error { panic(http.ErrAbortHandler) },
	"unknown":    func() error { return errors.New("a secret of ours") },
	"throttled":  func() error { return table.ErrThrottled },
	"cancelled":  func() error { return context.Canceled },
	"undeclared": func() error { return fault.New(fault.RoleCycle, "a > b > a") },
}

type caller string

func (c caller) ID() string { return string(c) }

var callers = map[string]struct {
	id   caller
	may  []httpapi.Permission
	lost error
}{
	"reader-key": {id: "reader", may: []httpapi.Permission{"read"}},
	"writer-key": {id: "writer", may: []httpapi.Permission{"read", "write"}},
	"busy-key":   {lost: fault.BusyAfter(2500e6, errors.New("throttled"))},
}

// edge is the tests' service and its log.
type edge struct {
	t       *testing.T
	handler http.Handler
	router  *httpapi.Router
	log     *bytes.Buffer
}

func newEdge(t *testing.T) *edge {
	t.Helper()
	e := &edge{t: t, log: &bytes.Buffer{}}
	router, err := httpapi.NewRouter(httpapi.Config{
		Authenticate: func(_ context.Context, bearer string) (httpapi.Principal, error) {
			k, ok := callers[bearer]
			switch {
			case !ok:
				return nil, fault.New(fault.Unauthenticated, "no such key")
			case k.lost != nil:
				return nil, k.lost
			}
			return k.id, nil
		},
		Authorize: func(_ context.Context, c *httpapi.Call) error {
			for _, k := range callers {
				for _, p := range k.may {
					if httpapi.Principal(k.id) == c.Principal() && p == c.Route().Permission {
						return nil
					}
				}
			}
			return fault.New(fault.Forbidden, "%s is needed", c.Route().Permission)
		},
		Log: slog.New(slog.NewJSONHandler(e.log, nil)),
	}, endpoints()...)
	if err != nil {
		t.Fatal(err)
	}
	e.router, e.handler = router, router
	return e
}

// request is one request; the zero value is GET / by the writer.
type request struct {
	method, path, query, body string
	header                    http.Header
	key                       string // "-": none
}

func (e *edge) do(q request) *answer {
	e.t.Helper()
	if q.method == "" {
		q.method = http.MethodGet
	}
	r := httptest.NewRequestWithContext(e.t.Context(), q.method, "/", strings.NewReader(q.body))
	r.URL.Path, r.URL.RawQuery = q.path, q.query
	r.RemoteAddr = "192.0.2.7:4711"
	switch q.key {
	case "-":
	case "":
		r.Header.Set("Authorization", "Bearer writer-key")
	default:
		r.Header.Set("Authorization", q.key)
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return &answer{e.t, w.Code, w.Result().Header, body}
}

type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

func (a *answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
}

func (a *answer) seen(status int) seen {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	var s seen
	a.into(&s)
	return s
}

type problem struct {
	Type      string
	Title     string
	Status    int
	Detail    string
	Code      fault.Code
	RequestID string `json:"request_id"`
	Errors    []fault.Field
}

// problem holds an answer to the form that all problems have.
func (a *answer) problem(status int, code fault.Code) problem {
	a.t.Helper()
	var p problem
	a.into(&p)
	if a.status != status || p.Status != status || p.Code != code {
		a.t.Fatalf("status %d, want %d %s: %s", a.status, status, code, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("content type %q", got)
	}
	if p.Type != "urn:warden:problem:"+string(code) || p.Title == "" || p.RequestID == "" || p.RequestID != a.header.Get("X-Request-Id") {
		a.t.Errorf("not as problems are: %s", a.body)
	}
	if !strings.HasPrefix(a.header.Get("X-Warden-Cost"), "ops=") {
		a.t.Errorf("cost %q", a.header.Get("X-Warden-Cost"))
	}
	return p
}

func TestAnswerHeaders(t *testing.T) {
	a := newEdge(t).do(request{method: "POST", path: "/v1/things", body: `{"name":"n"}`})
	if a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for name, want := range map[string]string{
		"Content-Type":           "application/json",
		"X-Warden-Cost":          "ops=2; rru=0.5; wru=12",
		"X-Warden-Revision":      "r1",
		"Etag":                   `"1"`,
		"Location":               "/v1/things/x",
		"Cache-Control":          "no-store",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAnswerWithoutBody(t *testing.T) {
	a := newEdge(t).do(request{method: "DELETE", path: "/v1/things/x"})
	if a.status != http.StatusNoContent || len(a.body) != 0 || a.header.Get("Content-Type") != "" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	if a.header.Get("X-Warden-Revision") != "r9" || a.header.Get("X-Warden-Cost") != "ops=0; rru=0; wru=0" {
		t.Errorf("headers %v", a.header)
	}
}

func TestStoredAnswerIsGivenAgain(t *testing.T) {
	first := httpapi.Reply[thing]{Body: thing{ID: "x", Name: "<&>"}, Version: 3, Revision: "r", Location: "/x"}
	route := httpapi.Route{Name: "x", Success: []int{http.StatusCreated}}
	a, err := first.Encode(&route)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var read httpapi.Answer
	if err := json.Unmarshal(kept, &read); err != nil {
		t.Fatal(err)
	}
	again, err := httpapi.Again[thing](read).Encode(&route)
	if err != nil {
		t.Fatal(err)
	}
	if again.Status != http.StatusCreated || again.Version != 3 || again.Revision != "r" || again.Location != "/x" || !bytes.Equal(again.Body, a.Body) {
		t.Errorf("got %+v, want %+v", again, a)
	}
}

func TestAnswerOverTheLimitIsNotSent(t *testing.T) {
	long := httpapi.Reply[thing]{Body: thing{Name: strings.Repeat("x", httpapi.MaxAnswer)}}
	if _, err := long.Encode(&httpapi.Route{Name: "x", Success: []int{http.StatusOK}}); err == nil {
		t.Error("it was encoded")
	}
}
