package admin_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/httpapi"
)

func hasBody(r *httpapi.Route) bool { return r.Request != nil }

// Whatever a body is, a route answers with a fault that names it, and stores
// nothing.
func TestHostileBodies(t *testing.T) {
	routes(t, hasBody, func(f *fixture, r *httpapi.Route, s sample) {
		open := strings.TrimSuffix(s.Body, "}")
		first, _, _ := strings.Cut(open[1:], ":")
		for name, c := range map[string]struct {
			body   string
			typ    string // application/json when empty
			status int
			code   string
			field  string
		}{
			"not JSON":                  {body: "name=x", status: 400, code: "bad-json"},
			"cut off":                   {body: open, status: 400, code: "bad-json"},
			"two values":                {body: s.Body + s.Body, status: 400, code: "bad-json"},
			"a name twice":              {body: "{" + first + ":1," + open[1:] + "}", status: 400, code: "bad-json"},
			"invalid UTF-8":             {body: open + ",\"\xff\":1}", status: 400, code: "bad-json"},
			"a lone surrogate":          {body: open + `,"\ud800":1}`, status: 400, code: "bad-json"},
			"too deep":                  {body: open + `,"x":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + "}", status: 400, code: "bad-json"},
			"very deep":                 {body: strings.Repeat("[", 500_000), status: 400, code: "bad-json"},
			"too large":                 {body: open + `,"x":"` + strings.Repeat("x", httpapi.MaxBody+1-len(open)-len(`,"x":""}`)) + `"}`, status: 413, code: "too-large"},
			"a list":                    {body: "[" + s.Body + "]", status: 422, code: "invalid", field: "body"},
			"null":                      {body: "null", status: 422, code: "invalid", field: "body"},
			"an unknown field":          {body: open + `,"is_admin":true}`, status: 422, code: "invalid", field: "is_admin"},
			"a field in another case":   {body: strings.ToUpper(open[:2]) + strings.Replace(open[2:], first[2:], strings.ToUpper(first[2:]), 1) + "}", status: 422, code: "invalid"},
			"a form":                    {body: "a=b", typ: "application/x-www-form-urlencoded", status: 415, code: "unsupported-media-type"},
			"text":                      {body: s.Body, typ: "text/plain", status: 415, code: "unsupported-media-type"},
			"JSON in another encoding":  {body: s.Body, typ: "application/json; charset=utf-16", status: 415, code: "unsupported-media-type"},
			"a kind of JSON":            {body: s.Body, typ: "application/ld+json", status: 415, code: "unsupported-media-type"},
			"an unknown field, twelve":  {body: open + `,"a1":1,"a2":1,"a3":1,"a4":1,"a5":1,"a6":1,"a7":1,"a8":1,"a9":1,"b1":1,"b2":1,"b3":1}`, status: 422, code: "invalid", field: "a1"},
			"the first field as a list": {body: "{" + first + ":[[]]}", status: 422, code: "invalid"},
			"the first field as a map":  {body: "{" + first + `:{"__proto__":1}}`, status: 422, code: "invalid"},
		} {
			n := len(f.changes())
			req := f.request(r, s, f.org, f.scope)
			req.key, req.body = f.right(r), c.body
			if c.typ != "" {
				req.header = map[string]string{"Content-Type": c.typ}
			}
			a := f.do(req)
			if a.status != c.status {
				f.Errorf("%s: %d, want %d: %s", name, a.status, c.status, a.body)
				continue
			}
			if c.field != "" {
				a.problem(c.status, c.code, c.field)
			} else {
				a.problem(c.status, c.code)
			}
			if got := len(f.changes()); got != n {
				f.Errorf("%s: %d changes", name, got-n)
			}
		}
	})
}

// Every value of a body, put in turn to each wrong type and to ids beyond the
// grammar, is refused or harmless: never a failure of ours.
func TestHostileValues(t *testing.T) {
	values := []any{
		nil, true, -1, 1.5, 1e300, "", ".", "..", "\x00", "a\nb", "\u0085", strings.Repeat("x", 129), strings.Repeat("é", 129), strings.Repeat("x", 1025),
		strings.Repeat("x", 70_000),
		[]any{},
		map[string]any{},
		[]any{nil},
		[]any{"a", "a"},
		"9999-99-99T00:00:00Z", "2030-01-01", "24", "-1h", "∞",
		"'; DROP TABLE items; --", "<script>", "${jndi:ldap://x}", "*", "a#b%c",
	}
	routes(t, hasBody, func(f *fixture, r *httpapi.Route, s sample) {
		var body any
		if err := json.Unmarshal([]byte(s.Body), &body); err != nil {
			f.Fatal(err)
		}
		each(body, func(set func(any)) {
			for _, v := range values {
				set(v)
				text, err := json.Marshal(body)
				if err != nil {
					f.Fatal(err)
				}
				n := len(f.changes())
				req := f.request(r, s, f.org, f.scope)
				req.key, req.body = f.right(r), string(text)
				a := f.do(req)
				if a.status >= 500 || a.status == http.StatusUnauthorized {
					f.Errorf("%.200s: %d %s", text, a.status, a.body)
				}
				if got := len(f.changes()); a.status >= 400 && got != n {
					f.Errorf("%.200s: %d, and %d changes", text, a.status, got-n)
				}
				if a.status == http.StatusUnprocessableEntity && !strings.Contains(string(a.body), `"field"`) {
					f.Errorf("%.200s: no field is named: %s", text, a.body)
				}
			}
		})
	})
}

// each calls back for every value within a JSON value with a way to replace it;
// the value is put back afterwards.
func each(v any, call func(set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for name, old := range v {
			call(func(x any) { v[name] = x })
			v[name] = old
			each(old, call)
		}
	case []any:
		for i, old := range v {
			call(func(x any) { v[i] = x })
			v[i] = old
			each(old, call)
		}
	}
}

func TestHostilePaths(t *testing.T) {
	scoped := func(r *httpapi.Route) bool { return len(r.PathParams()) > 0 }
	routes(t, scoped, func(f *fixture, r *httpapi.Route, s sample) {
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		n := len(f.changes())
		for name, c := range map[string]struct {
			path   func(string) string
			status int
			code   string
		}{
			"a slash at the end":     {func(p string) string { return p + "/" }, 404, "not-found"},
			"two slashes":            {func(p string) string { return strings.Replace(p, "/v1/", "/v1//", 1) }, 404, "not-found"},
			"dots":                   {func(p string) string { return p + "/.." }, 404, "not-found"},
			"a dot within":           {func(p string) string { return strings.Replace(p, "/v1/", "/v1/./", 1) }, 404, "not-found"},
			"more":                   {func(p string) string { return p + "/x/y/z" }, 404, "not-found"},
			"another case":           {strings.ToUpper, 404, "not-found"},
			"an id with other signs": {lastParam(r, "a b"), 400, "bad-path-segment"},
			"an escape":              {lastParam(r, "a%2Fb"), 400, "bad-path-segment"},
			"padding":                {lastParam(r, "~YQ=="), 400, "bad-path-segment"},
			"a control character":    {lastParam(r, "~AA"), 422, "invalid"},
			"dots as an id":          {lastParam(r, "~Li4"), 422, "invalid"},
			"a long id":              {lastParam(r, strings.Repeat("x", 257)), 422, "invalid"},
		} {
			hostile := req
			hostile.path = c.path(req.path)
			a := f.do(hostile)
			if a.status != c.status || a.header.Get("Location") != "" {
				f.Errorf("%s: %s: %d, want %d: %s", name, hostile.path, a.status, c.status, a.body)
				continue
			}
			a.problem(c.status, c.code)
		}
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
	})
}

// lastParam puts a segment in the place of the pattern's last parameter.
func lastParam(r *httpapi.Route, segment string) func(string) string {
	pattern := strings.Split(r.Pattern, "/")
	at := len(pattern) - 1
	for !strings.HasPrefix(pattern[at], "{") {
		at--
	}
	return func(p string) string {
		parts := slices.Clone(strings.Split(p, "/"))
		parts[at] = segment
		return strings.Join(parts, "/")
	}
}

func TestUnknownQueryParametersAreRefused(t *testing.T) {
	routes(t, every, func(f *fixture, r *httpapi.Route, s sample) {
		n := len(f.changes())
		for _, name := range []string{"dry_run", "force", "Limit"} {
			req := f.request(r, s, f.org, f.scope)
			req.key, req.query = f.right(r), name+"=true"
			f.do(req).problem(http.StatusUnprocessableEntity, "invalid", name)
		}
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
	})
}
