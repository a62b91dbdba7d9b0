package check_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/wardenhq/warden/functions/check"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// From body bytes to answer bytes, everything cached.
func BenchmarkCheck(b *testing.B) {
	h, t := benchHandler(b)
	benchmark(b, h, "/v1/access/check", t.Text, encode(b, question{Scope: "acme", Subject: "user-7", Resource: "invoice-3", Action: "read"}))
}

// The same with 50 questions; a check's share is a fiftieth.
func BenchmarkBatch50(b *testing.B) {
	h, t := benchHandler(b)
	var qs []question
	for i := range 50 {
		qs = append(qs, question{Scope: "acme", Subject: fmt.Sprintf("user-%d", i%10), Resource: fmt.Sprintf("invoice-%d", i%20), Action: "read"})
	}
	benchmark(b, h, "/v1/access/batch-check", t.Text, encode(b, map[string]any{"checks": qs}))
}

func benchHandler(b *testing.B) (http.Handler, *writetest.Tenant) {
	b.Helper()
	w := writetest.New(b)
	t := w.Provision("acme", nil)
	var names []string
	for i := range 20 {
		resource := fmt.Sprintf("invoice-%d", i)
		t.Permission(resource, "read", rbac.Allow)
		names = append(names, resource+":read")
	}
	t.Role("reader", names)
	for i := range 10 {
		t.Assign(fmt.Sprintf("user-%d", i), "reader")
	}
	checker := &decide.Checker{Table: w.Table, Snapshots: w.Snapshots, Clock: clock.System{}, Cache: decide.NewCache(1 << 20)}
	return check.New(check.Config{Checker: checker, Log: slog.New(slog.NewJSONHandler(io.Discard, nil))}), t
}

// sink is a ResponseWriter that costs next to nothing.
type sink struct {
	header http.Header
	status int
	body   []byte
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { s.body = append(s.body, b...); return len(b), nil }

func benchmark(b *testing.B, h http.Handler, path, key, body string) {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	r.ContentLength = int64(len(body))
	reader := bytes.NewReader([]byte(body))
	r.Body = io.NopCloser(reader)
	s := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset([]byte(body))
		clear(s.header)
		s.status, s.body = 0, s.body[:0]
		h.ServeHTTP(s, r)
		if s.status != http.StatusOK {
			b.Fatalf("status %d: %s", s.status, s.body)
		}
	}
	if !bytes.Contains(s.body, []byte(`"allowed":true`)) {
		b.Fatalf("%s", s.body)
	}
}
