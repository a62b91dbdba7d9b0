package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/check"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
)

const plain = `{"scope":"acme","subject":"reader","resource":"invoice","action":"read"}`

func TestConventions(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	with := func(edit func(*http.Request)) *http.Request {
		r := request("/v1/access/check", a.Text, plain)
		edit(r)
		return r
	}
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int
		code   fault.Code
	}{
		{"another path", request("/v1/access", a.Text, plain), 404, fault.NotFound},
		{"a path below", request("/v1/access/check/x", a.Text, plain), 404, fault.NotFound},
		{"a slash more", request("/v1/access/check/", a.Text, plain), 404, fault.NotFound},
		{"without a key the same", request("/v1/access/nothing", "", plain), 404, fault.NotFound},
		{"GET", with(func(r *http.Request) { r.Method = http.MethodGet }), 405, fault.MethodNotAllowed},
		{"HEAD", with(func(r *http.Request) { r.Method = http.MethodHead }), 405, fault.MethodNotAllowed},
		{"no key", request("/v1/access/check", "", plain), 401, fault.Unauthenticated},
		{"another scheme", with(func(r *http.Request) { r.Header.Set("Authorization", "Basic "+a.Text) }), 401, fault.Unauthenticated},
		{"two keys", with(func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+a.Text) }), 401, fault.Unauthenticated},
		{"key before query and body", func() *http.Request {
			r := request("/v1/access/check?x=1", a.Text[:len(a.Text)-1], "{")
			return r
		}(), 401, fault.Unauthenticated},
		{"a query", request("/v1/access/check?dry_run=true", a.Text, plain), 422, fault.Invalid},
		{"a query that is none", request("/v1/access/check?%zz", a.Text, plain), 400, fault.BadRequest},
		{"text", with(func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), 415, fault.UnsupportedMediaType},
		{"no type", with(func(r *http.Request) { r.Header.Del("Content-Type") }), 415, fault.UnsupportedMediaType},
		{"another charset", with(func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=latin1") }), 415, fault.UnsupportedMediaType},
		{"a merge patch", with(func(r *http.Request) { r.Header.Set("Content-Type", "application/merge-patch+json") }), 415, fault.UnsupportedMediaType},
		{"compressed", with(func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }), 415, fault.UnsupportedMediaType},
		{"cut off", with(func(r *http.Request) { r.ContentLength++ }), 400, fault.BadRequest},
		{"no body", request("/v1/access/check", a.Text, ""), 400, fault.BadJSON},
		{"nil body", with(func(r *http.Request) { r.Body, r.ContentLength = nil, 0 }), 400, fault.BadJSON},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.send(c.r)
			got.problem(c.status, c.code)
			if c.status == 405 && got.header.Get("Allow") != http.MethodPost {
				t.Errorf("Allow: %q", got.header.Get("Allow"))
			}
		})
	}
	for name, r := range map[string]*http.Request{
		"charset":     with(func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=UTF-8") }),
		"identity":    with(func(r *http.Request) { r.Header.Set("Content-Encoding", "identity") }),
		"any case":    with(func(r *http.Request) { r.Header.Set("Authorization", "bearer  "+a.Text) }),
		"length open": with(func(r *http.Request) { r.ContentLength = -1 }),
		"spaces":      request("/v1/access/check", a.Text, " \n\t"+strings.ReplaceAll(plain, ":", " : ")+"\n"),
		"escapes":     request("/v1/access/check", a.Text, strings.ReplaceAll(plain, "reader", `\u0072eader`)),
		"name escape": request("/v1/access/check", a.Text, strings.ReplaceAll(plain, "subject", `\u0073ubject`)),
		"nulls":       request("/v1/access/check", a.Text, strings.TrimSuffix(plain, "}")+`,"consistency":null,"at_least":null,"explain":null}`),
	} {
		if got := s.send(r).result(); !got.Allowed {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRequestID(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	for id, kept := range map[string]bool{
		"abc-123": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, "a b": false, "": false, "Zoë": false,
	} {
		r := request("/v1/access/check", a.Text, plain)
		r.Header.Set("X-Request-Id", id)
		if got := s.send(r).header.Get("X-Request-Id"); (got == id) != kept || got == "" {
			t.Errorf("%q came back as %q", id, got)
		}
	}
}

// Whatever the body, the answer names its fault and allows nothing.
func TestHostileBodies(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	without := func(field string) string {
		var m map[string]any
		if err := json.Unmarshal([]byte(plain), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, field)
		return encode(t, m)
	}
	with := func(member string) string { return strings.TrimSuffix(plain, "}") + "," + member + "}" }
	set := func(field, value string) string {
		return strings.TrimSuffix(without(field), "}") + `,"` + field + `":` + value + "}"
	}
	type hostile struct {
		name, body string
		status     int
		code       fault.Code
		field      string // that the answer must name; of the check itself
	}
	var all []hostile
	for _, f := range []string{"scope", "subject", "resource", "action"} {
		limit := map[string]int{"scope": 128, "action": 128, "subject": 256, "resource": 256}[f]
		all = append(all,
			hostile{f + " lacks", without(f), 422, fault.Invalid, f},
			hostile{f + " null", set(f, "null"), 422, fault.Invalid, f},
			hostile{f + " empty", set(f, `""`), 422, fault.Invalid, f},
			hostile{f + " dots", set(f, `".."`), 422, fault.Invalid, f},
			hostile{f + " control", set(f, `"a\u0000b"`), 422, fault.Invalid, f},
			hostile{f + " delete", set(f, `"a\u007fb"`), 422, fault.Invalid, f},
			hostile{f + " C1 control", set(f, `"a\u0085b"`), 422, fault.Invalid, f},
			hostile{f + " too long", set(f, `"`+strings.Repeat("x", limit+1)+`"`), 422, fault.Invalid, f},
			hostile{f + " number", set(f, "1"), 422, fault.Invalid, f},
			hostile{f + " object", set(f, "{}"), 422, fault.Invalid, f},
			hostile{f + " list", set(f, `["acme"]`), 422, fault.Invalid, f},
			hostile{f + " twice", with(`"` + f + `":"x"`), 400, fault.BadJSON, ""},
			hostile{f + " in capitals", strings.Replace(plain, f, strings.ToUpper(f), 1), 422, fault.Invalid, f},
			hostile{f + " half a surrogate", set(f, `"\ud800"`), 400, fault.BadJSON, ""},
			hostile{f + " not UTF-8", set(f, "\"a\xffb\""), 400, fault.BadJSON, ""},
		)
	}
	all = append(all,
		hostile{"unknown member", with(`"extra":1`), 422, fault.Invalid, "extra"},
		hostile{"consistency empty", with(`"consistency":""`), 422, fault.Invalid, "consistency"},
		hostile{"consistency unknown", with(`"consistency":"eventual"`), 422, fault.Invalid, "consistency"},
		hostile{"consistency number", with(`"consistency":1`), 422, fault.Invalid, "consistency"},
		hostile{"at_least number", with(`"at_least":1`), 422, fault.Invalid, "at_least"},
		hostile{"at_least garbage", with(`"at_least":"AAAA"`), 422, fault.InvalidRevision, "at_least"},
		hostile{"explain text", with(`"explain":"true"`), 422, fault.Invalid, "explain"},
		hostile{"explain number", with(`"explain":1`), 422, fault.Invalid, "explain"},
	)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			for _, sent := range []struct{ path, body, in string }{
				{"/v1/access/check", c.body, ""},
				{"/v1/access/batch-check", `{"checks":[` + plain + "," + plain + "," + c.body + `]}`, "checks[2]."},
			} {
				p := s.post(sent.path, a.Text, sent.body).problem(c.status, c.code)
				if c.field != "" && (len(p.Errors) == 0 || !named(p.Errors, sent.in+c.field)) {
					t.Errorf("%s does not name %s: %+v", sent.path, sent.in+c.field, p)
				}
			}
		})
	}

	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for _, path := range []string{"/v1/access/check", "/v1/access/batch-check"} {
		for _, c := range []hostile{
			{"not JSON", "scope=acme", 400, fault.BadJSON, ""},
			{"spaces", "   ", 400, fault.BadJSON, ""},
			{"cut off", plain[:len(plain)-1], 400, fault.BadJSON, ""},
			{"two", plain + plain, 400, fault.BadJSON, ""},
			{"a comment", plain + "//", 400, fault.BadJSON, ""},
			{"a mark first", "\ufeff" + plain, 400, fault.BadJSON, ""},
			{"too deep", `{"x":` + deep + `}`, 400, fault.BadJSON, ""},
			{"much too deep", strings.Repeat(`{"a":`, 200_000), 400, fault.BadJSON, ""},
			{"a list", "[" + plain + "]", 422, fault.Invalid, "body"},
			{"null", "null", 422, fault.Invalid, "body"},
			{"text", `"acme"`, 422, fault.Invalid, "body"},
			{"number", "1e999999", 422, fault.Invalid, "body"},
			{"over 1 MiB", strings.Repeat(" ", 1<<20) + "1", 413, fault.TooLarge, ""},
		} {
			p := s.post(path, a.Text, c.body).problem(c.status, c.code)
			if c.field != "" && !named(p.Errors, c.field) {
				t.Errorf("%s: %s: %+v", path, c.name, p)
			}
			open := request(path, a.Text, c.body)
			open.ContentLength = -1
			s.send(open).problem(c.status, c.code)
		}
	}
	padded := plain + strings.Repeat(" ", 1<<20-len(plain))
	if r := s.post("/v1/access/check", a.Text, padded).result(); !r.Allowed {
		t.Errorf("exactly 1 MiB: %+v", r)
	}
}

func named(fields []fault.Field, name string) bool {
	for _, f := range fields {
		if f.Field == name && f.Message != "" {
			return true
		}
	}
	return false
}

func TestLimitsOfBatches(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	for _, n := range []int{1001, 5000} {
		p := s.post("/v1/access/batch-check", a.Text, `{"checks":[`+strings.TrimSuffix(strings.Repeat(plain+",", n), ",")+`]}`).
			problem(422, fault.LimitExceeded)
		if !named(p.Errors, "checks") {
			t.Errorf("%d checks: %+v", n, p)
		}
	}
	if p := s.post("/v1/access/batch-check", a.Text, `{"checks":[]}`).problem(422, fault.Invalid); !named(p.Errors, "checks") {
		t.Errorf("no checks: %+v", p)
	}
	for _, body := range []string{"{}", `{"checks":null}`, `{"checks":{}}`, `{"checks":[1]}`, `{"checks":[null]}`, `{"checks":[` + plain + `],"more":1}`, plain} {
		s.post("/v1/access/batch-check", a.Text, body).problem(422, fault.Invalid)
	}
	s.post("/v1/access/batch-check", a.Text, `{"checks":[`+plain+`],"checks":[]}`).problem(400, fault.BadJSON)
	if rs := s.post("/v1/access/batch-check", a.Text, `{"checks":[`+plain+`]}`).results(); len(rs) != 1 || !rs[0].Allowed {
		t.Errorf("%+v", rs)
	}
}

// An answer that would pass 5 MB is refused, never cut.
func TestTooManyExplanations(t *testing.T) {
	w, a := acme(t)
	long := func(i int) string { return fmt.Sprintf("%0128d", i) }
	var ids []string
	for i := range 100 {
		a.PermissionAs(long(i), "*", "*", rbac.Allow)
		ids = append(ids, long(i))
	}
	a.Role(long(0), ids)
	a.Assign("many", long(0))
	s := serve(w)
	q := read("many")
	q.Explain = true
	if r := s.ask(a.Text, q).result(); len(r.Matched) != 100 {
		t.Fatalf("%d matched", len(r.Matched))
	}
	var qs []question
	for range 1000 {
		qs = append(qs, q)
	}
	s.askAll(a.Text, qs).problem(422, fault.LimitExceeded)
}

// The declared forms and the written ones are the same.
func TestAnswersAreAsDeclared(t *testing.T) {
	w, a := acme(t)
	a.Role(`quote " back \ <tag>`, nil, "heir")
	a.Assign("odd", `quote " back \ <tag>`)
	s := serve(w)
	for _, subject := range []string{"odd", "barred-heir", "nobody"} {
		for _, explain := range []bool{true, false} {
			q := read(subject)
			q.Explain = explain
			got := s.ask(a.Text, q)
			var declared check.Answer
			if err := json.Unmarshal(got.body, &declared); err != nil {
				t.Fatal(err)
			}
			var want, have map[string]any
			if err := json.Unmarshal([]byte(encode(t, declared)), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(got.body, &have); err != nil {
				t.Fatal(err)
			}
			if m, ok := have["matched"].([]any); ok && len(m) == 0 {
				delete(have, "matched") // empty is as good as absent in the declaration
			}
			if !reflect.DeepEqual(have, want) {
				t.Errorf("%s, declared as %s", got.body, encode(t, declared))
			}
		}
	}
}

// The declarations are such that the common edge could serve them.
func TestRoutes(t *testing.T) {
	routes := check.Routes()
	if len(routes) != 2 {
		t.Fatalf("%d routes", len(routes))
	}
	w, a := acme(t)
	s := serve(w)
	for _, r := range routes {
		if r.Request == nil || r.Response == nil || r.Summary == "" || r.Permission != "access:check" {
			t.Errorf("%+v", r)
		}
		if got := s.post(r.Pattern, a.Text, "{"); got.status != http.StatusBadRequest {
			t.Errorf("%s is not served: %s", r.Pattern, got.body)
		}
		for _, code := range []fault.Code{fault.BadJSON, fault.TooLarge, fault.Unauthenticated, fault.Forbidden, fault.Busy, fault.InvalidRevision, fault.RevisionUnknown} {
			if !containsCode(r.AllErrors(), code) {
				t.Errorf("%s does not declare %s", r.Name, code)
			}
		}
	}
}

func containsCode(all []fault.Code, c fault.Code) bool {
	for _, has := range all {
		if has == c {
			return true
		}
	}
	return false
}

// An exchange is used again: nothing of one request shows in the next.
func TestRequestsDoNotMix(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	explained := read("barred-heir")
	explained.Explain, explained.AtLeast = true, a.Permission("more", "read", rbac.Allow)
	for range 3 {
		s.ask(a.Text, explained.strong()).result()
		s.post("/v1/access/check", a.Text, `{"scope":"acme","subject":"reader"`).problem(400, fault.BadJSON)
		s.post("/v1/access/check", a.Text, `{"subject":"reader"}`).problem(422, fault.Invalid)
		s.askAll(a.Text, []question{explained, read("nobody")}).results()
		got := s.ask(a.Text, read("reader"))
		if r := got.result(); !r.Allowed || r.Matched != nil {
			t.Fatalf("%s", got.body)
		}
		if got.header.Get("X-Warden-Cost") != "ops=0; rru=0; wru=0" && got.header.Get("X-Warden-Cost") != "ops=1; rru=0.5; wru=0" {
			t.Fatalf("%v", got.header)
		}
	}
}

// Over a real connection a body that is too large ends it.
func TestOverHTTP(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	server := httptest.NewUnstartedServer(s.handler)
	server.Config = httpapi.NewServer(s.handler, s.log())
	server.Start()
	defer server.Close()
	for _, c := range []struct {
		body   string
		status int
	}{{plain, 200}, {"{", 400}, {strings.Repeat(" ", 1<<20+1), 413}, {plain, 200}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/access/check", bytes.NewReader([]byte(c.body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+a.Text)
		r.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.status {
			t.Errorf("status %d, want %d: %s", resp.StatusCode, c.status, body)
		}
	}
}
