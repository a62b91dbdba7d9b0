package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
)

func TestRequestID(t *testing.T) {
	e := newEdge(t)
	made := map[string]bool{}
	for _, tc := range []struct {
		name   string
		values []string
		kept   bool
	}{
		{"a plain one", []string{"abc-123"}, true},
		{"all visible characters", []string{"!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~\\"}, true},
		{"128 characters", []string{strings.Repeat("x", 128)}, true},
		{"129 characters", []string{strings.Repeat("x", 129)}, false},
		{"none", nil, false},
		{"an empty one", []string{""}, false},
		{"a space", []string{"a b"}, false},
		{"a line break", []string{"a\nb"}, false},
		{"a control character", []string{"a\x7f"}, false},
		{"beyond ASCII", []string{"Zoë"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, path := range []string{"/v1/things/x", "/nowhere"} {
				got := e.do(request{path: path, header: http.Header{"X-Request-Id": tc.values}}).header.Get("X-Request-Id")
				switch {
				case tc.kept && got != tc.values[0]:
					t.Errorf("%q is answered with %q", tc.values, got)
				case !tc.kept && (!strings.HasPrefix(got, "req_") || made[got]):
					t.Errorf("%q is answered with %q", tc.values, got)
				}
				made[got] = !tc.kept
			}
		})
	}
	if got := e.do(request{path: "/v1/things/x", header: http.Header{"X-Request-Id": {"r1"}}}).seen(http.StatusOK).RequestID; got != "r1" {
		t.Errorf("the handler saw %q", got)
	}
}

func TestSource(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:4711":     "192.0.2.7",
		"[2001:db8::1]:4711": "2001:db8::1",
		"2001:db8::1":        "2001:db8::1",
		"192.0.2.7":          "192.0.2.7",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		if got := httpapi.Source(r); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

func TestOnBehalfOf(t *testing.T) {
	e := newEdge(t)
	put := func(user string) *answer {
		return e.do(request{method: "PUT", path: "/v1/things/old", body: `{"name":"n"}`, header: http.Header{"X-Warden-On-Behalf-Of": {user}}})
	}
	for _, user := range []string{"", "alice@example.com", "Zoë", strings.Repeat("x", 256)} {
		if got := put(user).seen(http.StatusOK).OnBehalfOf; got != user {
			t.Errorf("%q arrived as %q", user, got)
		}
	}
	for _, user := range []string{"..", "a\tb", "\xff", strings.Repeat("x", 257)} {
		p := put(user).problem(http.StatusBadRequest, fault.BadRequest)
		if !strings.Contains(p.Detail, "X-Warden-On-Behalf-Of") {
			t.Errorf("%q: %s", user, p.Detail)
		}
	}
	a := e.do(request{path: "/v1/things/x", header: http.Header{"X-Warden-On-Behalf-Of": {".."}}})
	if got := a.seen(http.StatusOK).OnBehalfOf; got != "" {
		t.Errorf("a read is on behalf of %q", got)
	}
}

func TestPreconditions(t *testing.T) {
	e := newEdge(t)
	const passes, fails, broken = 0, http.StatusPreconditionFailed, http.StatusBadRequest
	for _, tc := range []struct {
		header   string
		values   []string
		old, new int // the resource in version 7, and none
	}{
		{"If-Match", nil, passes, passes},
		{"If-Match", []string{`"7"`}, passes, fails},
		{"If-Match", []string{`"8"`}, fails, fails},
		{"If-Match", []string{`"07"`}, fails, fails},
		{"If-Match", []string{`"6", "7"`}, passes, fails},
		{"If-Match", []string{`"6"`, `"7"`}, passes, fails},
		{"If-Match", []string{` ,"6",, "7" ,`}, passes, fails},
		{"If-Match", []string{`W/"7"`}, fails, fails},
		{"If-Match", []string{`W/"7","7"`}, passes, fails},
		{"If-Match", []string{`"a,b", "7"`}, passes, fails},
		{"If-Match", []string{`"a,b"`}, fails, fails},
		{"If-Match", []string{`""`}, fails, fails},
		{"If-Match", []string{"*"}, passes, fails},
		{"If-Match", []string{" * "}, passes, fails},
		{"If-Match", []string{""}, broken, broken},
		{"If-Match", []string{"7"}, broken, broken},
		{"If-Match", []string{`"7`}, broken, broken},
		{"If-Match", []string{`7"`}, broken, broken},
		{"If-Match", []string{`w/"7"`}, broken, broken},
		{"If-Match", []string{`"7" "8"`}, broken, broken},
		{"If-Match", []string{`*, "7"`}, broken, broken},
		{"If-Match", []string{`"7 8"`}, broken, broken},
		{"If-None-Match", []string{"*"}, fails, passes},
		{"If-None-Match", []string{`"7"`}, fails, passes},
		{"If-None-Match", []string{`W/"7"`}, fails, passes},
		{"If-None-Match", []string{`"6", "8"`}, passes, passes},
		{"If-None-Match", []string{"7"}, broken, broken},
	} {
		for path, want := range map[string]int{"/v1/things/old": tc.old, "/v1/things/new": tc.new} {
			a := e.do(request{method: "PUT", path: path, body: `{"name":"n"}`, header: http.Header{tc.header: tc.values}})
			switch {
			case want == passes && a.status >= 300:
				t.Errorf("%s %s: %s: %d %s", path, tc.header, tc.values, a.status, a.body)
			case want != passes && a.status != want:
				t.Errorf("%s %s: %s: %d, want %d: %s", path, tc.header, tc.values, a.status, want, a.body)
			}
		}
	}
	a := e.do(request{path: "/v1/things/x", header: http.Header{"If-None-Match": {`"7"`}, "If-Match": {"broken"}}})
	if a.status != http.StatusOK {
		t.Errorf("a read looks at preconditions: %d", a.status)
	}
}

func TestIdempotencyKey(t *testing.T) {
	e := newEdge(t)
	create := func(key, query, body, bearer string) seen {
		h := http.Header{}
		if key != "" {
			h["Idempotency-Key"] = []string{key}
		}
		return e.do(request{method: "POST", path: "/v1/things", query: query, body: body, header: h, key: bearer}).seen(http.StatusCreated)
	}
	const body = `{"name":"n"}`
	first := create("k", "", body, "")
	if first.Key != "k" || len(first.Digest) != 32 || len(first.Sealing) != 32 || bytes.Equal(first.Digest, first.Sealing) {
		t.Fatalf("got %+v", first)
	}
	if again := create("k", "", body, ""); !bytes.Equal(again.Digest, first.Digest) || !bytes.Equal(again.Sealing, first.Sealing) {
		t.Error("the same request is another one")
	}
	for name, other := range map[string]seen{
		"body":  create("k", "", `{"name":"m"}`, ""),
		"query": create("k", "dry_run=true", body, ""),
	} {
		if bytes.Equal(other.Digest, first.Digest) {
			t.Errorf("another %s has the same digest", name)
		}
	}
	if other := create("l", "", body, ""); bytes.Equal(other.Sealing, first.Sealing) || !bytes.Equal(other.Digest, first.Digest) {
		t.Error("another key has the same sealing key, or another digest")
	}
	if other := create("k", "", body, "bearer writer-key"); !bytes.Equal(other.Sealing, first.Sealing) {
		t.Error("the case of the scheme counts")
	}
	if none := create("", "", body, ""); none.Key != "" || len(none.Digest) != 0 {
		t.Errorf("without a key: %+v", none)
	}
	longest := strings.Repeat("k", 255)
	if got := create(longest, "", body, "").Key; got != longest {
		t.Error("the longest key does not arrive")
	}
}

func TestIdempotencyKeyRefused(t *testing.T) {
	e := newEdge(t)
	for _, key := range []string{"", strings.Repeat("k", 256), "a\x00", "Zoë", "a\tb", "a\x7f"} {
		h := http.Header{"Idempotency-Key": {key}}
		p := e.do(request{method: "POST", path: "/v1/things", body: `{"name":"n"}`, header: h}).problem(http.StatusUnprocessableEntity, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Field != "Idempotency-Key" {
			t.Errorf("%q: %+v", key, p)
		}
		if a := e.do(request{method: "PUT", path: "/v1/things/old", body: `{"name":"n"}`, header: h}); a.status != http.StatusOK {
			t.Errorf("%q is looked at where it means nothing: %d", key, a.status)
		}
	}
}
