package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
)

func TestPaths(t *testing.T) {
	e := newEdge(t)
	for path, want := range map[string]string{
		"/v1/things/user_123":          "user_123",
		"/v1/things/a.b_c:d@e-F":       "a.b_c:d@e-F",
		"/v1/things/~Wm_Dqw":           "Zoë",
		"/v1/things/~dXNlcl8xMjM":      "user_123",
		"/v1/things/~YS9i":             "a/b",
		"/v1/things/~Li4":              "..",
		"/v1/things/batch":             "batch", // a literal of another method
		"/v1/things/...":               "...",
		"/v1/things/~YmF0Y2g":          "batch",
		"/v1/things/~AA":               "\x00",
		"/v1/things/~ICU_Iw":           " %?#",
		"/v1/things/~fg":               "~",
		"/v1/things/things":            "things",
		"/v1/things/~8J-Zgg":           "🙂",
		"/v1/things/ABCDEFGHIJKLMNOPQ": "ABCDEFGHIJKLMNOPQ",
	} {
		if got := e.do(request{path: path}).seen(http.StatusOK).Params["thing"]; got != want {
			t.Errorf("%s: thing is %q, want %q", path, got, want)
		}
	}
}

func TestPathsThatNameNothing(t *testing.T) {
	e := newEdge(t)
	for _, path := range []string{
		"", "/", "*", "v1/things", "/v1", "/v1/", "/v1/things/", "//v1/things", "/v1//things", "/v1/things//rotate",
		"/v1/things/.", "/v1/things/..", "/v1/things/../things", "/./v1/things", "/v1/things/x/", "/v1/things/x/y",
		"/v1/things/a/b", // %2F arrives decoded, and splits
		"/V1/things", "/v1/Things", "/v1/things/x/rotate/y", "/v1/things x", "/v1/things\x00",
	} {
		a := e.do(request{path: path, key: "-"})
		p := a.problem(http.StatusNotFound, fault.NotFound)
		if a.header.Get("Location") != "" || p.Detail == "" {
			t.Errorf("%q: %v %s", path, a.header, p.Detail)
		}
	}
}

func TestBadPathSegment(t *testing.T) {
	e := newEdge(t)
	for _, segment := range []string{"a b", "a%2Fb", "a?b", "a#b", "Zoë", "~", "~YQ==", "~YR", "~Y", "~Wm/Dqw", "~_w", "a|b", "a\x00", "\xff", "~YWJj\n", "a+b", "a~b", "*"} {
		want := fault.BadPathSegment
		status := http.StatusBadRequest
		if strings.Contains(segment, "/") {
			want, status = fault.NotFound, http.StatusNotFound
		}
		p := e.do(request{path: "/v1/things/" + segment}).problem(status, want)
		if want == fault.BadPathSegment && (!strings.Contains(p.Detail, "~ and the id in unpadded base64url") || !strings.Contains(p.Detail, "{thing}")) {
			t.Errorf("%q: the detail does not name the form: %s", segment, p.Detail)
		}
	}
}

// The answer to an id that can't stand in a path names the form that can.
func TestBadPathSegmentNamesTheRightOne(t *testing.T) {
	e := newEdge(t)
	for segment, form := range map[string]string{
		"invoice:*": "~aW52b2ljZToq", "Zoë": "~Wm_Dqw", "a b": "~YSBi", "~fg==": "~fmZnPT0",
		strings.Repeat("é", 128): "~" + strings.Repeat("w6nDqcOp", 42) + "w6nDqQ", // as long as an id may be
	} {
		p := e.do(request{path: "/v1/things/" + segment}).problem(http.StatusBadRequest, fault.BadPathSegment)
		if !strings.Contains(p.Detail, "send "+form+" for") {
			t.Errorf("%q: %s", segment, p.Detail)
		}
		e.do(request{path: "/v1/things/" + form}).seen(http.StatusOK)
	}
	for _, segment := range []string{"\xff", strings.Repeat("é", 129)} { // no id
		p := e.do(request{path: "/v1/things/" + segment}).problem(http.StatusBadRequest, fault.BadPathSegment)
		if !strings.Contains(p.Detail, "~Wm_Dqw for \"Zoë\"") {
			t.Errorf("%q: %s", segment, p.Detail)
		}
	}
}

func TestLiteralsAndParameters(t *testing.T) {
	e := newEdge(t)
	var got thing
	e.do(request{method: "POST", path: "/v1/things/batch", body: `{"name":"n"}`}).into(&got)
	if got.ID != "the batch" {
		t.Errorf("the literal was not taken: %+v", got)
	}
	e.do(request{method: "POST", path: "/v1/things/batch/rotate"}).into(&got)
	if got.ID != "batch" {
		t.Errorf("an id that is a literal elsewhere was not taken: %+v", got)
	}
}

func TestMethods(t *testing.T) {
	e := newEdge(t)
	for _, tc := range []struct{ method, path, allow string }{
		{"POST", "/v1/things/x", "DELETE, GET, HEAD, PATCH, PUT"},
		{"OPTIONS", "/v1/things", "GET, HEAD, POST"},
		{"TRACE", "/v1/things/batch", "DELETE, GET, HEAD, PATCH, POST, PUT"},
		{"get", "/v1/owner", "GET, HEAD"},
		{"GET", "/v1/things/x/rotate", "POST"},
		{"HEAD", "/v1/things/x/rotate", "POST"},
		{"POST", "/v1/things/a b", "DELETE, GET, HEAD, PATCH, PUT"},
	} {
		a := e.do(request{method: tc.method, path: tc.path, key: "-"})
		a.problem(http.StatusMethodNotAllowed, fault.MethodNotAllowed)
		if got := a.header.Get("Allow"); got != tc.allow {
			t.Errorf("%s %s: Allow is %q, want %q", tc.method, tc.path, got, tc.allow)
		}
	}
	if a := e.do(request{method: "HEAD", path: "/v1/things/x"}); a.status != http.StatusOK || a.header.Get("Etag") != `"7"` {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
}

func TestAuthentication(t *testing.T) {
	e := newEdge(t)
	for name, key := range map[string]string{
		"none":           "-",
		"empty":          " ",
		"only a scheme":  "Bearer",
		"no token":       "Bearer ",
		"another scheme": "Basic d3JpdGVyLWtleQ==",
		"no scheme":      "writer-key",
		"an unknown key": "Bearer other-key",
		"a longer key":   "Bearer writer-key x",
	} {
		t.Run(name, func(t *testing.T) {
			a := e.do(request{path: "/v1/things/x", key: key})
			a.problem(http.StatusUnauthorized, fault.Unauthenticated)
			if got := a.header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("WWW-Authenticate: %q", got)
			}
		})
	}
	for _, key := range []string{"Bearer reader-key", "bearer reader-key", "BEARER   reader-key"} {
		if got := e.do(request{path: "/v1/things/x", key: key}).seen(http.StatusOK).Principal; got != "reader" {
			t.Errorf("%q: principal %q", key, got)
		}
	}
	if got := e.do(request{path: "/public", key: "-"}).seen(http.StatusOK).Principal; got != "" {
		t.Errorf("a public route has the principal %q", got)
	}
}

func TestPermissions(t *testing.T) {
	e := newEdge(t)
	e.do(request{method: "DELETE", path: "/v1/things/x", key: "Bearer reader-key"}).problem(http.StatusForbidden, fault.Forbidden)
	e.do(request{path: "/v1/owner"}).problem(http.StatusForbidden, fault.Forbidden)
	a := e.do(request{path: "/v1/things", key: "Bearer busy-key"})
	a.problem(http.StatusServiceUnavailable, fault.Busy)
	if got := a.header.Get("Retry-After"); got != "3" {
		t.Errorf("Retry-After: %q, want 2.5 s rounded up", got)
	}
}

// Who has no right learns nothing of what else is wrong with a request.
func TestOrderOfChecks(t *testing.T) {
	e := newEdge(t)
	bad := request{method: "PUT", path: "/v1/things/x", query: "x=y", body: "not JSON", header: http.Header{"If-Match": {"broken"}}}
	bad.key = "Bearer other-key"
	e.do(bad).problem(http.StatusUnauthorized, fault.Unauthenticated)
	bad.key = "Bearer reader-key"
	e.do(bad).problem(http.StatusForbidden, fault.Forbidden)
	bad.key = ""
	e.do(bad).problem(http.StatusUnprocessableEntity, fault.Invalid)
	bad.query = ""
	e.do(bad).problem(http.StatusBadRequest, fault.BadRequest)
	bad.header = nil
	e.do(bad).problem(http.StatusBadRequest, fault.BadJSON)
}

func nothing(context.Context, *httpapi.Call, httpapi.None) (httpapi.Reply[httpapi.None], error) {
	return httpapi.Reply[httpapi.None]{}, nil
}

func TestDeclarationsAreChecked(t *testing.T) {
	good := httpapi.Route{Name: "a", Method: "GET", Pattern: "/a/{x}", Permission: "p", Success: []int{http.StatusOK}}
	body := func(_ context.Context, _ *httpapi.Call, _ putThing) (httpapi.Reply[httpapi.None], error) {
		return httpapi.Reply[httpapi.None]{}, nil
	}
	with := func(change func(*httpapi.Route)) httpapi.Endpoint {
		r := good
		change(&r)
		return httpapi.Bind(r, nothing)
	}
	for want, endpoints := range map[string][]httpapi.Endpoint{
		"has no name":               {with(func(r *httpapi.Route) { r.Name = "" })},
		"unknown method":            {with(func(r *httpapi.Route) { r.Method = "get" })},
		"the pattern is no path":    {with(func(r *httpapi.Route) { r.Pattern = "/a/" })},
		"has no permission":         {with(func(r *httpapi.Route) { r.Permission = "" })},
		"has no status of success":  {with(func(r *httpapi.Route) { r.Success = nil })},
		"only a POST honours":       {with(func(r *httpapi.Route) { r.Creates = true })},
		"a secret is shown once":    {with(func(r *httpapi.Route) { r.ShowsSecret = true })},
		"only a GET lists":          {with(func(r *httpapi.Route) { r.Method, r.List = "PUT", true })},
		"the method has no body":    {httpapi.Bind(good, body)},
		"neither a literal nor":     {with(func(r *httpapi.Route) { r.Pattern = "/a/{}" })},
		"two path parameters":       {with(func(r *httpapi.Route) { r.Pattern = "/{x}/{x}" })},
		"two query parameters":      {with(func(r *httpapi.Route) { r.List, r.Query = true, []httpapi.QueryParam{{Name: "limit"}} })},
		"an enum has values":        {with(func(r *httpapi.Route) { r.Query = []httpapi.QueryParam{{Name: "q", Kind: httpapi.Enum}} })},
		`two routes are named "a"`:  {httpapi.Bind(good, nothing), with(func(r *httpapi.Route) { r.Pattern = "/other" })},
		"match the same requests":   {httpapi.Bind(good, nothing), with(func(r *httpapi.Route) { r.Name, r.Pattern = "b", "/a/{y}" })},
		"/a/b match the same reque": {httpapi.Bind(good, nothing), with(func(r *httpapi.Route) { r.Name, r.Pattern = "b", "/a/b" })},
	} {
		_, err := httpapi.NewRouter(httpapi.Config{}, endpoints...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := httpapi.NewRouter(httpapi.Config{}, httpapi.Bind(good, nothing), with(func(r *httpapi.Route) { r.Name, r.Pattern = "b", "/{y}" })); err != nil {
		t.Error(err)
	}
}

func TestRoutesTellTheirTypes(t *testing.T) {
	routes := newEdge(t).router.Routes()
	if len(routes) != len(endpoints()) {
		t.Fatalf("%d routes", len(routes))
	}
	for _, r := range routes {
		switch r.Name {
		case "things.put":
			if r.Request.Name() != "putThing" || r.Response.Name() != "seen" {
				t.Errorf("%s: %v, %v", r.Name, r.Request, r.Response)
			}
		case "things.delete":
			if r.Request != nil || r.Response != nil {
				t.Errorf("%s: %v, %v", r.Name, r.Request, r.Response)
			}
		}
	}
}

func TestAllErrorsOfARoute(t *testing.T) {
	for _, r := range newEdge(t).router.Routes() {
		all := r.AllErrors()
		if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Errorf("%s: not sorted, or doubles: %s", r.Name, all)
		}
		for code, want := range map[fault.Code]bool{
			fault.Internal:              true,
			fault.Busy:                  true,
			fault.Forbidden:             r.Permission != httpapi.Public,
			fault.BadPathSegment:        strings.Contains(r.Pattern, "{"),
			fault.BadJSON:               r.Request != nil,
			fault.BadCursor:             r.List,
			fault.PreconditionFailed:    r.Versioned && r.Method != http.MethodGet,
			fault.IdempotencyInProgress: r.Creates,
		} {
			if got := slices.Contains(all, code); got != want {
				t.Errorf("%s: %s is declared: %t", r.Name, code, got)
			}
		}
	}
}

func TestIDsOfParameters(t *testing.T) {
	list := httpapi.Bind(httpapi.Route{
		Name: "x", Method: http.MethodGet, Pattern: "/x/{role}", Permission: httpapi.Public, Success: []int{http.StatusOK},
		Query: []httpapi.QueryParam{{Name: "actor"}, {Name: "action", Required: true}},
	}, func(_ context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[[]string], error) {
		role, err := httpapi.ParamID(c, "role", rbac.ParseRoleID)
		if err != nil {
			return httpapi.Reply[[]string]{}, err
		}
		actor, err := httpapi.QueryID(c, "actor", rbac.ParseSubjectID)
		return httpapi.Reply[[]string]{Body: []string{role.String(), actor.String()}}, err
	})
	router, err := httpapi.NewRouter(httpapi.Config{Log: slog.New(slog.DiscardHandler)}, list)
	if err != nil {
		t.Fatal(err)
	}
	e := &edge{t: t, handler: router}
	for query, want := range map[string]string{"action=a": `["admin",""]`, "action=a&actor=Zo%C3%AB": `["admin","Zoë"]`} {
		if a := e.do(request{path: "/x/admin", query: query}); string(a.body) != want {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	for _, tc := range []struct{ path, query, field string }{
		{"/x/~Li4", "action=a", "role"},
		{"/x/~AA", "action=a", "role"},
		{"/x/" + strings.Repeat("r", 129), "action=a", "role"},
		{"/x/admin", "action=a&actor=..", "actor"},
		{"/x/admin", "action=a&actor=" + strings.Repeat("r", 257), "actor"},
		{"/x/admin", "", "action"},
	} {
		p := e.do(request{path: tc.path, query: tc.query}).problem(http.StatusUnprocessableEntity, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Field != tc.field {
			t.Errorf("%s: %+v", tc.field, p)
		}
	}
}
