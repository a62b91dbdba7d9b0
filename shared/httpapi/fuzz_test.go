package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever is sent, the answer is a success or names the caller's fault.
func FuzzEdge(f *testing.F) {
	for _, s := range []struct{ method, path, query, contentType, match, key, body string }{
		{"PUT", "/v1/things/old", "", "application/json", `"7"`, "", `{"name":"n","tags":[{"key":"k"}]}`},
		{"POST", "/v1/things", "dry_run=true", "application/json;charset=utf-8", "", "k", `{"name":"n","until":"2026-01-02T03:04:05Z"}`},
		{"PATCH", "/v1/things/~Wm_Dqw", "", "application/merge-patch+json", `W/"7", *`, "", `{"name":null}`},
		{"GET", "/v1/things", "limit=5&cursor=&status=on&target=%FF", "", "", "", ""},
		{"POST", "/v1/things/batch/rotate", "", "application/json", "", "", ""},
		{"GET", "/v1/../things//~", "a=b;c", "", "*", "\x00", "\xff"},
	} {
		f.Add(s.method, s.path, s.query, s.contentType, s.match, s.key, s.body)
	}
	f.Fuzz(func(t *testing.T, method, path, query, contentType, match, key, body string) {
		if strings.HasPrefix(path, "/fail/") {
			return // fails on purpose
		}
		e := newEdge(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL.Path, r.URL.RawQuery = method, path, query
		r.Header = http.Header{
			"Authorization": {"Bearer writer-key"}, "Content-Type": {contentType},
			"If-Match": {match}, "Idempotency-Key": {key}, "X-Warden-On-Behalf-Of": {key}, "X-Request-Id": {match},
		}
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, r)
		if w.Code >= 400 {
			a := &answer{t, w.Code, w.Header(), w.Body.Bytes()}
			var p problem
			a.into(&p)
			a.problem(w.Code, p.Code)
		}
		if w.Code >= 500 || w.Code < 200 || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s %q ? %q %q: %d %s", method, path, query, body, w.Code, w.Body)
		}
		if strings.Contains(e.log.String(), "undeclared") {
			t.Errorf("the route does not declare it: %s", e.log)
		}
	})
}
