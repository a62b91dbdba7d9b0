package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	if _, ok := l["duration"].(float64); !ok {
		t.Errorf("duration is %v", l["duration"])
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
