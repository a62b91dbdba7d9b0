package admin_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/admin/admintest"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
)

func TestSamplesAreOfRoutes(t *testing.T) {
	names := map[string]bool{}
	for _, r := range newWorld(t).router.Routes() {
		names[r.Name] = true
	}
	for name := range admintest.Samples {
		if !names[name] {
			t.Errorf("a sample is of no route: %s", name)
		}
	}
}

func TestEveryRouteAnswersItsSample(t *testing.T) {
	routes(t, every, func(f *fixture, r *httpapi.Route, s sample) {
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		a := f.do(req).is(s.Status)
		if got := a.header.Get("X-Warden-Revision"); (got != "") != r.Writes() {
			f.Errorf("revision %q of a %s", got, r.Method)
		}
		etag := a.header.Get("ETag")
		if want := r.Versioned && s.Status != http.StatusNoContent; want && etag == "" {
			f.Error("no ETag")
		}
		if r.Response == nil && len(a.body) > 0 {
			f.Errorf("an answer where none is declared: %s", a.body)
		}
		if a.header.Get("X-Request-Id") == "" || a.header.Get("X-Warden-Cost") == "" {
			f.Errorf("headers %v", a.header)
		}
	})
}

// An operator may do everything in every org.
func TestOperatorsMayUseEveryRoute(t *testing.T) {
	routes(t, every, func(f *fixture, r *httpapi.Route, s sample) {
		req := f.request(r, s, f.org, f.scope)
		req.key = operator
		f.do(req).is(s.Status)
	})
}

func TestEveryRouteNeedsAKey(t *testing.T) {
	routes(t, every, func(f *fixture, r *httpapi.Route, s sample) {
		_, revoked := f.newKey(`["admin:read","admin:write"]`, "")
		id := strings.Split(strings.TrimPrefix(revoked, "wdn_live_"), "_")[0]
		f.at("DELETE", "", "api-keys", id).is(204)
		n := len(f.changes())
		for name, key := range map[string]string{
			"none": "", "no key": "secret", "one with a typo": f.key[:len(f.key)-1] + "!", "revoked": revoked,
			"unknown operator's": "wdn_operator_abc_def",
		} {
			req := f.request(r, s, f.org, f.scope)
			req.key = key
			a := f.do(req)
			a.problem(http.StatusUnauthorized, "unauthenticated")
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				f.Errorf("%s: %v", name, a.header)
			}
		}
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
	})
}

func TestEveryRouteNeedsItsRight(t *testing.T) {
	routes(t, every, func(f *fixture, r *httpapi.Route, s sample) {
		lacking := `["access:check","admin:read","audit:read","webhooks:manage","scim:manage"]`
		switch {
		case r.Permission == httpapi.Permission(entity.RightWebhooks):
			lacking = `["access:check","admin:read","admin:write","audit:read","scim:manage"]`
		case r.Permission == httpapi.OperatorOnly:
			lacking = `["access:check","admin:read","admin:write","audit:read","webhooks:manage","scim:manage"]`
		case !r.Writes():
			lacking = `["access:check","admin:write","audit:read","webhooks:manage","scim:manage"]`
		}
		_, key := f.newKey(lacking, "")
		n := len(f.changes())
		req := f.request(r, s, f.org, f.scope)
		req.key = key
		f.do(req).problem(http.StatusForbidden, "forbidden")
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
	})
}

// What is another org's, or beyond the scopes of a key, answers as what does not
// exist: byte for byte.
func TestIsolation(t *testing.T) {
	scoped := func(r *httpapi.Route) bool { return len(r.PathParams()) > 0 }
	routes(t, scoped, func(f *fixture, r *httpapi.Route, s sample) {
		other := f.provision("other").furnish()
		f.at("POST", `{"id":"acme-second","name":"Second"}`, "scopes").is(201)
		_, limited := f.newKey(`["admin:read","admin:write","webhooks:manage"]`, `["acme-second"]`)
		for name, c := range map[string]struct {
			key             string
			org, scope      string // of what is asked
			noOrg, notThere string // of what does not exist
		}{
			"another org's key":   {other.key, f.org, f.scope, "missing", "missing"},
			"a key for one scope": {limited, "", f.scope, "", "missing"},
		} {
			if c.org == "" && strings.Contains(r.Pattern, "{org}") {
				continue
			}
			n := len(f.changes())
			foreign, missing := f.request(r, s, c.org, c.scope), f.request(r, s, c.noOrg, c.notThere)
			foreign.key, missing.key = c.key, c.key
			same := map[string]string{"X-Request-Id": "same", "Idempotency-Key": ""}
			delete(same, "Idempotency-Key")
			foreign.header, missing.header = same, same
			got, want := f.do(foreign), f.do(missing)
			want.problem(http.StatusNotFound, "not-found")
			if got.status != want.status || !bytes.Equal(got.body, want.body) {
				f.Errorf("%s: %d %s\nmissing: %d %s", name, got.status, got.body, want.status, want.body)
			}
			for h := range want.header {
				if got.header.Get(h) != want.header.Get(h) {
					f.Errorf("%s: %s is %q, of a missing one %q", name, h, got.header.Get(h), want.header.Get(h))
				}
			}
			if len(got.header) != len(want.header) {
				f.Errorf("%s: headers %v, of a missing one %v", name, got.header, want.header)
			}
			if got := len(f.changes()); got != n {
				f.Errorf("%s: %d changes", name, got-n)
			}
		}
	})
}

// Every change has one event, and nothing else gives one.
func TestEveryChangeHasOneEvent(t *testing.T) {
	routes(t, every, func(f *fixture, r *httpapi.Route, s sample) {
		if r.Writes() != (len(s.Events) > 0 || s.Silent) {
			f.Fatalf("a %s whose sample names %d events", r.Method, len(s.Events))
		}
		n := len(f.changes())
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		req.header = map[string]string{"X-Request-Id": "req-1", "X-Warden-On-Behalf-Of": "jane@example.com"}
		f.do(req).is(s.Status)
		got := f.eventsSince(n)
		if len(got) != len(s.Events) {
			f.Fatalf("events %+v, want %v", got, s.Events)
		}
		for i, e := range got {
			actor := "api_key"
			if r.Permission == httpapi.OperatorOnly {
				actor = "operator"
			}
			if e.Type != s.Events[i] || e.Actor.Type != actor || e.Actor.ID == "" || e.RequestID != "req-1" || e.OnBehalfOf != "jane@example.com" ||
				e.SourceIP == "" || e.Org == "" || e.ID == "" || e.Time == "" {
				f.Errorf("event %+v", e)
			}
			if target := e.Target.Type + "/" + e.Target.ID; s.Target != "" && target != s.Target || e.Target.ID == "" {
				f.Errorf("target %s, want %s", target, s.Target)
			}
			if inScope := strings.Contains(r.Pattern, "{scope}") || strings.HasPrefix(r.Name, "scopes."); (e.Scope != nil) != inScope {
				f.Errorf("scope %v", e.Scope)
			}
			if (string(e.Before) != "null") != s.Before || (string(e.After) != "null") != s.After {
				f.Errorf("before %s, after %s", e.Before, e.After)
			}
			for _, shown := range []string{string(e.Before), string(e.After)} {
				if strings.Contains(shown, "hash") || strings.Contains(shown, "wdn_") || strings.Contains(shown, "secret") {
					f.Errorf("a secret in %s", shown)
				}
			}
		}
	})
}

// The same PUT or PATCH again changes nothing.
func TestTheSameAgainChangesNothing(t *testing.T) {
	replaces := func(r *httpapi.Route) bool { return r.Method == http.MethodPut || r.Method == http.MethodPatch }
	routes(t, replaces, func(f *fixture, r *httpapi.Route, s sample) {
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		first := f.do(req).is(s.Status)
		n := len(f.changes())
		again := f.do(req).is(http.StatusOK)
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
		if !bytes.Equal(first.body, again.body) || first.header.Get("ETag") != again.header.Get("ETag") ||
			first.header.Get("X-Warden-Revision") != again.header.Get("X-Warden-Revision") {
			f.Errorf("first %s %v\nagain %s %v", first.body, first.header, again.body, again.header)
		}
	})
}

func TestPreconditions(t *testing.T) {
	versioned := func(r *httpapi.Route) bool { return r.Versioned && r.Writes() }
	routes(t, versioned, func(f *fixture, r *httpapi.Route, s sample) {
		n := len(f.changes())
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		req.header = map[string]string{"If-Match": `"99"`}
		f.do(req).problem(http.StatusPreconditionFailed, "precondition-failed")
		if s.Before {
			req.header = map[string]string{"If-None-Match": "*"}
			f.do(req).problem(http.StatusPreconditionFailed, "precondition-failed")
		} else {
			req.header = map[string]string{"If-Match": "*"}
			f.do(req).problem(http.StatusPreconditionFailed, "precondition-failed")
		}
		req.header = map[string]string{"If-Match": "3"}
		f.do(req).problem(http.StatusBadRequest, "bad-request")
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
		if s.Before {
			req.header = map[string]string{"If-Match": "*"}
		} else {
			req.header = map[string]string{"If-None-Match": "*"}
		}
		f.do(req).is(s.Status)
	})
}

// Preconditions are looked at when the request would succeed without them (RFC
// 9110, section 13.2.1): what makes a resource that is missing fails by If-Match,
// and what needs it there answers 404 with the header as without.
func TestPreconditionsOfWhatIsMissing(t *testing.T) {
	versioned := func(r *httpapi.Route) bool { return r.Versioned && r.Writes() }
	routes(t, versioned, func(f *fixture, r *httpapi.Route, s sample) {
		org, scope := "missing", "missing"
		if len(r.PathParams()) > 1 { // the resource is one in an org or scope that is there
			org, scope = f.org, f.scope
		}
		missing := s
		missing.Params = map[string]string{}
		for name := range s.Params {
			missing.Params[name] = "missing"
		}
		req := f.request(r, missing, org, scope)
		req.key = operator
		n := len(f.changes())
		for _, match := range []string{"*", `"1"`} {
			req.header = map[string]string{"If-Match": match}
			if r.Method == http.MethodPut || r.Name == "policies.roles.assign" {
				f.do(req).problem(http.StatusPreconditionFailed, "precondition-failed")
			} else {
				f.do(req).problem(http.StatusNotFound, "not-found")
			}
		}
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
	})
}

// A write's revision is one of its scope, or of its org when it is in none.
func TestRevisionsAreOfWhatWasWritten(t *testing.T) {
	routes(t, func(r *httpapi.Route) bool { return r.Writes() }, func(f *fixture, r *httpapi.Route, s sample) {
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		token, err := revision.Parse(f.do(req).is(s.Status).header.Get("X-Warden-Revision"))
		if err != nil {
			f.Fatal(err)
		}
		scope := map[string]string{"orgs.create": "fresh", "scopes.create": "acme-2"}[r.Name] // of what is made
		if strings.Contains(r.Pattern, "{scope}") {
			scope = f.scope
		}
		if scope == "" {
			if !token.OfOrg(rbac.Must(rbac.ParseOrgID(f.org))) {
				f.Errorf("%+v is not of the org", token)
			}
			return
		}
		if !token.Of(rbac.Must(rbac.ParseScopeID(scope))) {
			f.Errorf("%+v is not of scope %s", token, scope)
		}
	})
}
