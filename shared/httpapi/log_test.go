package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/fault"
)

// line is the one line that a request leaves in the log.
func (e *edge) line() map[string]any {
	e.t.Helper()
	text := e.log.String()
	e.log.Reset()
	if strings.Count(text, "\n") != 1 {
		e.t.Fatalf("not one line: %s", text)
	}
	var l map[string]any
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		e.t.Fatal(err)
	}
	return l
}

func TestLogLine(t *testing.T) {
	e := newEdge(t)
	secret := http.Header{"X-Request-Id": {"r1"}, "Idempotency-Key": {"hidden-key"}}
	e.do(request{method: "POST", path: "/v1/things", query: "dry_run=true", body: `{"name":"hidden-name"}`, header: secret})
	if text := e.log.String(); strings.Contains(text, "hidden") || strings.Contains(text, "writer-key") || strings.Contains(text, "dry_run") {
		t.Errorf("the log tells too much: %s", text)
	}
	l := e.line()
	for name, want := range map[string]any{
		"level": "INFO", "msg": "request", "request_id": "r1", "method": "POST", "route": "things.create", "status": float64(201),
		"principal": "writer", "cost": "ops=2; rru=0.5; wru=12", "source": "192.0.2.7",
	} {
		if l[name] != want {
			t.Errorf("%s is %v, want %v", name, l[name], want)
		}
	}
	if ms, ok := l["duration_ms"].(float64); !ok || ms < 0 {
		t.Errorf("duration_ms is %v", l["duration_ms"])
	}
	if begins, ok := l["path_begins"]; ok {
		t.Errorf("a route's line tells how the path begins: %v", begins)
	}
}

// A path that leads nowhere is told by its first segment, unless that may be a key.
func TestPathsThatLeadNowhereAreToldByTheirBeginning(t *testing.T) {
	e := newEdge(t)
	for path, want := range map[string]string{
		"/v1/users/alice@example.com":        "/v1",
		"/v1/owner/wdn_live_abc":             "/v1",
		"/.well-known/openid":                "/.well-known",
		"/favicon.ico":                       "/favicon.ico",
		"/wdn_live_abcdefgh_YWNtZQ_secret":   "/…",
		"/alice@example.com":                 "/…",
		"/" + strings.Repeat("a", 33):        "/…",
		"/" + strings.Repeat("a", 32) + "/x": "/" + strings.Repeat("a", 32),
		"/":                                  "/",
		"":                                   "/",
	} {
		e.do(request{path: path}).problem(http.StatusNotFound, fault.NotFound)
		if l := e.line(); l["path_begins"] != want {
			t.Errorf("%q begins with %v, want %s", path, l["path_begins"], want)
		}
	}
}

func TestLogLevels(t *testing.T) {
	e := newEdge(t)
	for path, want := range map[string]struct {
		level, code, names string
	}{
		"/v1/things/x":     {"INFO", "", ""},
		"/nowhere":         {"INFO", "not-found", ""},
		"/v1/owner":        {"INFO", "forbidden", ""},
		"/fail/throttled":  {"ERROR", "busy", "throttled"},
		"/fail/unknown":    {"ERROR", "internal", "a secret of ours"},
		"/fail/panic":      {"ERROR", "internal", "edge_test.go"},
		"/fail/undeclared": {"ERROR", "role-cycle", "undeclared"},
	} {
		e.do(request{path: path})
		text := e.log.String()
		l := e.line()
		code, _ := l["code"].(string)
		if l["level"] != want.level || code != want.code || !strings.Contains(text, want.names) {
			t.Errorf("%s: %s", path, text)
		}
		if undeclared := l["undeclared"] == true; undeclared != (path == "/fail/undeclared") {
			t.Errorf("%s: undeclared is %t", path, undeclared)
		}
	}
}

func TestACallerThatWentAwayIsNoErrorOfOurs(t *testing.T) {
	e := newEdge(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/fail/cancelled", nil)
	e.handler.ServeHTTP(httptest.NewRecorder(), r)
	if l := e.line(); l["level"] != "INFO" || l["caller_gone"] != true {
		t.Errorf("got %v", l)
	}
}
