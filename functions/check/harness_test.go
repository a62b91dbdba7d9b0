package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/check"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// server is one warm process over a world.
type server struct {
	*writetest.World
	checker *decide.Checker
	handler http.Handler
	logged  *bytes.Buffer
}

// serve starts a process over a world. It does not hear of the world's writes:
// it is as far behind as another process may be.
func serve(w *writetest.World) *server { return serveTable(w, w.Table) }

func serveTable(w *writetest.World, t table.Reader) *server {
	s := &server{World: w, logged: new(bytes.Buffer)}
	snapshots := *w.Snapshots
	snapshots.Table = t
	s.checker = &decide.Checker{Table: t, Snapshots: &snapshots, Clock: w.Clock, Cache: decide.NewCache(1 << 20)}
	s.handler = check.New(check.Config{Checker: s.checker, Log: s.log()})
	return s
}

func (s *server) log() *slog.Logger {
	return slog.New(slog.NewJSONHandler(s.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

func (s *server) send(r *http.Request) answer {
	s.T.Helper()
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	a := answer{s.T, w.Code, w.Header(), w.Body.Bytes()}
	if a.header.Get("X-Request-Id") == "" || a.header.Get("X-Warden-Cost") == "" || a.header.Get("Cache-Control") != "no-store" {
		s.T.Errorf("headers that every answer has: %v", a.header)
	}
	return a
}

func request(path, key, body string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r
}

func (s *server) post(path, key, body string) answer {
	s.T.Helper()
	return s.send(request(path, key, body))
}

// question is what a test asks; the zero consistency is the default one.
type question struct {
	Scope       string `json:"scope"`
	Subject     string `json:"subject"`
	Resource    string `json:"resource"`
	Action      string `json:"action"`
	Consistency string `json:"consistency,omitempty"`
	AtLeast     string `json:"at_least,omitempty"`
	Explain     bool   `json:"explain,omitempty"`
}

// result is one answer.
type result struct {
	Allowed  bool        `json:"allowed"`
	Reason   rbac.Reason `json:"reason"`
	Revision string      `json:"revision"`
	Matched  []match     `json:"matched"`
}

type match struct {
	Permission string   `json:"permission"`
	Role       string   `json:"role"`
	Via        []string `json:"via"`
	Effect     string   `json:"effect"`
}

func (s *server) ask(key string, q question) answer {
	s.T.Helper()
	return s.post("/v1/access/check", key, encode(s.T, q))
}

func (s *server) askAll(key string, qs []question) answer {
	s.T.Helper()
	return s.post("/v1/access/batch-check", key, encode(s.T, map[string]any{"checks": qs}))
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (a answer) into(v any) {
	a.t.Helper()
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		a.t.Fatalf("status %d %s: %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	if _, err := d.Token(); err != io.EOF {
		a.t.Fatalf("something follows: %s", a.body)
	}
}

func (a answer) result() (r result) {
	a.t.Helper()
	a.into(&r)
	if r.Allowed != (r.Reason == rbac.ReasonAllowed) {
		a.t.Fatalf("allowed and reason differ: %s", a.body)
	}
	return r
}

func (a answer) results() []result {
	a.t.Helper()
	var rs struct {
		Results []result `json:"results"`
	}
	a.into(&rs)
	return rs.Results
}

// problem is application/problem+json.
type problem struct {
	Type      string        `json:"type"`
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Detail    string        `json:"detail"`
	Code      fault.Code    `json:"code"`
	RequestID string        `json:"request_id"`
	Errors    []fault.Field `json:"errors"`
}

func (a answer) problem(status int, code fault.Code) (p problem) {
	a.t.Helper()
	if a.status != status || a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Fatalf("status %d %s, want %d: %s", a.status, a.header.Get("Content-Type"), status, a.body)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		a.t.Fatal(err)
	}
	if p.Code != code || p.Status != status || p.RequestID != a.header.Get("X-Request-Id") || bytes.Contains(a.body, []byte(`"allowed"`)) {
		a.t.Fatalf("want %s: %s", code, a.body)
	}
	return p
}
