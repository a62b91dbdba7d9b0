package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

func TestAPIKeys(t *testing.T) {
	tn := newWorld(t).provision("acme")
	a := tn.at("POST", `{"name":"CI","permissions":["admin:read"],"scopes":["acme-main"],"expires_at":"2026-03-01T13:00:00Z"}`, "api-keys").is(201)
	id, key := a.text("id"), a.text("key")
	a.has(map[string]string{"name": `"CI"`, "permissions": `["admin:read"]`, "scopes": `["acme-main"]`, "expires_at": `"2026-03-01T13:00:00.000Z"`, "version": "1"})
	if got := a.header.Get("Location"); got != "/v1/orgs/acme/api-keys/"+id {
		t.Errorf("Location %s", got)
	}
	shown := tn.at("GET", "", "api-keys", id).is(200)
	if shown.get("key") != "" || shown.get("id") != a.get("id") || strings.Contains(string(shown.body), "hash") {
		t.Errorf("shown %s", shown.body)
	}
	if got := len(strings.Fields(tn.listOrg("api-keys"))); got != 2 {
		t.Errorf("%d keys", got)
	}
	as := tn.with(key)
	as.in("GET", "").is(200)
	tn.clock.advance(time.Hour)
	as.in("GET", "").problem(401, "unauthenticated")
	tn.at("DELETE", "", "api-keys", id).is(204)
	tn.at("GET", "", "api-keys", id).problem(404, "not-found")
	tn.at("DELETE", "", "api-keys", id).problem(404, "not-found")
	tn.at("POST", "", "api-keys", id, "rotate").problem(404, "not-found")
}

// with is the tenant's with another key.
func (t *tenant) with(key string) *tenant { return &tenant{t.world, t.org, t.scope, key} }

func (t *tenant) listOrg(of string) string {
	t.Helper()
	var page struct{ Items []struct{ ID string } }
	t.at("GET", "", of).is(200).into(&page)
	var ids []string
	for _, e := range page.Items {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

func TestAPIKeyRefusals(t *testing.T) {
	w := newWorld(t)
	tn := w.provision("acme")
	w.provision("other")
	tn.at("POST", `{"id":"gone","name":"G"}`, "scopes").is(201)
	tn.do(request{method: "DELETE", path: "/v1/scopes/gone", key: tn.key}).is(204)
	for name, c := range map[string]struct {
		body, code string
		fields     []string
	}{
		"nothing":         {`{}`, "invalid", []string{"name", "permissions"}},
		"no permissions":  {`{"name":"k","permissions":[]}`, "invalid", []string{"permissions"}},
		"unknown ones":    {`{"name":"k","permissions":["admin:read","admin:*","root"]}`, "invalid", []string{"permissions[1]", "permissions[2]"}},
		"twice":           {`{"name":"k","permissions":["admin:read","admin:read"]}`, "invalid", []string{"permissions[1]"}},
		"no scopes":       {`{"name":"k","permissions":["admin:read"],"scopes":[]}`, "invalid", []string{"scopes"}},
		"null scopes":     {`{"name":"k","permissions":["admin:read"],"scopes":null}`, "invalid", []string{"scopes"}},
		"a scope twice":   {`{"name":"k","permissions":["admin:read"],"scopes":["acme-main","acme-main"]}`, "invalid", []string{"scopes[1]"}},
		"another org's":   {`{"name":"k","permissions":["admin:read"],"scopes":["acme-main","other-main"]}`, "unknown-reference", []string{"scopes[1]"}},
		"no such scope":   {`{"name":"k","permissions":["admin:read"],"scopes":["x","acme-main","gone"]}`, "unknown-reference", []string{"scopes[0]", "scopes[2]"}},
		"too many scopes": {`{"name":"k","permissions":["admin:read"],"scopes":` + ids(101) + `}`, "limit-exceeded", []string{"scopes"}},
		"a hash":          {`{"name":"k","permissions":["admin:read"],"hash":"AA=="}`, "invalid", []string{"hash"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := tn.at("POST", c.body, "api-keys")
			a.T = t
			a.problem(422, c.code, c.fields...)
		})
	}
}

func TestNobodyGivesMoreThanTheyHold(t *testing.T) {
	tn := newWorld(t).provision("acme")
	tn.at("POST", `{"id":"second","name":"S"}`, "scopes").is(201)
	_, poor := tn.newKey(`["admin:write","admin:read"]`, "")
	_, narrow := tn.newKey(`["admin:write","admin:read","access:check"]`, `["acme-main"]`)
	richID, _ := tn.newKey(`["access:check"]`, "")
	for name, c := range map[string]struct {
		key, body string
		status    int
		fields    []string // what would be more than the caller has
	}{
		"the same":          {poor, `{"name":"k","permissions":["admin:read","admin:write"]}`, 201, nil},
		"less":              {poor, `{"name":"k","permissions":["admin:read"],"scopes":["second"]}`, 201, nil},
		"another right":     {poor, `{"name":"k","permissions":["admin:read","access:check"]}`, 403, []string{"permissions[1]"}},
		"its scope":         {narrow, `{"name":"k","permissions":["access:check"],"scopes":["acme-main"]}`, 201, nil},
		"another scope":     {narrow, `{"name":"k","permissions":["access:check"],"scopes":["acme-main","second"]}`, 403, []string{"scopes[1]"}},
		"every scope":       {narrow, `{"name":"k","permissions":["access:check"]}`, 403, []string{"scopes"}},
		"an unknown scope":  {narrow, `{"name":"k","permissions":["audit:read"],"scopes":["ghost"]}`, 403, []string{"permissions[0]", "scopes[0]"}},
		"all, by operators": {operator, `{"name":"k","permissions":["access:check","scim:manage"]}`, 201, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(tn.changes())
			a := tn.with(c.key).at("POST", c.body, "api-keys")
			a.T = t
			if a.is(c.status); c.status == 403 {
				a.problem(403, "would-escalate", c.fields...)
				if got := len(tn.changes()); got != n {
					t.Errorf("%d changes", got-n)
				}
			}
		})
	}
	// Who rotates a key has its secret; who may not see it finds none.
	tn.with(poor).at("POST", "", "api-keys", richID, "rotate").problem(403, "would-escalate")
	tn.with(narrow).at("POST", "", "api-keys", richID, "rotate").problem(404, "not-found")
	tn.with(narrow).at("GET", "", "api-keys", richID).problem(404, "not-found")
	tn.with(narrow).at("DELETE", "", "api-keys", richID).problem(404, "not-found")
	if got := tn.with(narrow).listOrg("api-keys"); strings.Contains(got, richID) || len(strings.Fields(got)) != 2 {
		t.Errorf("a limited key sees %s", got)
	}
	tn.with(poor).at("DELETE", "", "api-keys", richID).is(204)
}

func TestRotation(t *testing.T) {
	tn := newWorld(t).provision("acme")
	id, first := tn.newKey(`["admin:read"]`, "")
	reads := func(key string, status int) {
		t.Helper()
		tn.with(key).in("GET", "").is(status)
	}
	a := tn.at("POST", `{"overlap":"90m"}`, "api-keys", id, "rotate").is(200)
	second := a.text("key")
	a.has(map[string]string{"id": `"` + id + `"`, "version": "2", "previous_until": `"2026-03-01T13:30:00.000Z"`})
	if first == second {
		t.Fatal("the same secret")
	}
	reads(first, 200)
	reads(second, 200)
	tn.clock.advance(90*time.Minute - time.Nanosecond)
	reads(first, 200)
	tn.clock.advance(time.Nanosecond)
	reads(first, 401)
	reads(second, 200)
	third := tn.at("POST", "", "api-keys", id, "rotate").is(200) // a day, when nothing is said
	if got := third.text("previous_until"); got != "2026-03-02T13:30:00.000Z" {
		t.Errorf("until %s", got)
	}
	fourth := tn.at("POST", `{"overlap":"0s"}`, "api-keys", id, "rotate").is(200)
	reads(second, 401)
	reads(third.text("key"), 401)
	reads(fourth.text("key"), 200)
	tn.at("POST", `{"overlap":"30d"}`, "api-keys", id, "rotate").is(200)
	for _, overlap := range []string{`"31d"`, `"720h1s"`, `"-1h"`, `"+1h"`, `"1w"`, `"d"`, `""`, `"24"`, `24`, `"1.5d"`, `"99999999999d"`} {
		tn.at("POST", `{"overlap":`+overlap+`}`, "api-keys", id, "rotate").problem(422, "invalid", "overlap")
	}
}

// An overlap that a rotation promised outlives the rotations after it, except
// for one that asks for none.
func TestOverlapsOutliveLaterRotations(t *testing.T) {
	tn := newWorld(t).provision("acme")
	id, first := tn.newKey(`["admin:read"]`, "")
	reads := func(key string, status int) {
		t.Helper()
		tn.with(key).in("GET", "").is(status)
	}
	rotate := func(overlap string) *answer {
		t.Helper()
		return tn.at("POST", `{"overlap":"`+overlap+`"}`, "api-keys", id, "rotate")
	}
	until := func(a *answer, want string) {
		t.Helper()
		if got := a.text("previous_until"); got != want {
			t.Errorf("until %s, want %s", got, want)
		}
	}
	a := rotate("3h").is(200)
	second := a.text("key")
	until(a, "2026-03-01T15:00:00.000Z")
	a = rotate("1h").is(200)
	third := a.text("key")
	until(a, "2026-03-01T15:00:00.000Z") // the latest end
	tn.clock.advance(time.Hour)
	reads(first, 200)
	reads(second, 401)
	reads(third, 200)
	for range rbac.MaxPastSecrets - 1 { // the first one's overlap, and these
		rotate("2d").is(200)
	}
	n := len(tn.changes())
	rotate("2d").problem(422, "limit-exceeded")
	if got := len(tn.changes()); got != n {
		t.Errorf("%d changes", got-n)
	}
	reads(first, 200)
	reads(third, 200)
	tn.clock.advance(2 * time.Hour)
	reads(first, 401)
	a = rotate("2d").is(200) // its place is free again
	until(a, "2026-03-03T15:00:00.000Z")
	reads(third, 200)
	newest := rotate("0s").is(200)
	if got := newest.get("previous_until"); got != "" {
		t.Errorf("until %s", got)
	}
	reads(third, 401)
	reads(a.text("key"), 401)
	reads(newest.text("key"), 200)
}

// A key that is over before it begins is refused; that an answer is given again
// does not depend on the time.
func TestKeysEndInTheFuture(t *testing.T) {
	tn := newWorld(t).provision("acme")
	body := func(end string) string {
		return `{"name":"k","permissions":["access:check"],"expires_at":"` + end + `"}`
	}
	for _, end := range []string{"2026-03-01T12:00:00Z", "2020-01-01T00:00:00Z"} {
		tn.at("POST", body(end), "api-keys").problem(422, "invalid", "expires_at")
	}
	req := keyed(request{method: "POST", path: orgPath(tn.org, "api-keys"), key: tn.key, body: body("2026-03-01T12:00:01Z")}, "once")
	first := tn.do(req).is(201)
	tn.clock.advance(time.Hour)
	if again := tn.do(req).is(201); string(again.body) != string(first.body) {
		t.Errorf("%s, first %s", again.body, first.body)
	}
}

func TestKeysOfAnOrgAreCounted(t *testing.T) {
	tn := newWorld(t).provision("acme")
	last := ""
	for i := range rbac.MaxAPIKeysInOrg - 1 {
		last = tn.at("POST", fmt.Sprintf(`{"name":"k%d","permissions":["access:check"]}`, i), "api-keys").is(201).text("id")
	}
	body := `{"name":"one more","permissions":["access:check"]}`
	tn.at("POST", body, "api-keys").problem(422, "limit-exceeded")
	tn.at("DELETE", "", "api-keys", last).is(204)
	tn.at("POST", body, "api-keys").is(201)
}

func TestKeysDoNotOutliveTheirMaker(t *testing.T) {
	f := newFixture(t)
	end := f.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	short := f.at("POST", `{"name":"short","permissions":["admin:read","admin:write"],"expires_at":"`+end+`"}`, "api-keys").is(201)
	maker := f.with(short.text("key"))
	maker.at("POST", `{"name":"x","permissions":["admin:read"]}`, "api-keys").problem(403, "would-escalate", "expires_at")
	maker.at("POST", `{"name":"x","permissions":["admin:read"],"expires_at":"`+f.clock.Now().Add(2*time.Hour).UTC().Format(time.RFC3339)+`"}`, "api-keys").problem(403, "would-escalate", "expires_at")
	maker.at("POST", `{"name":"x","permissions":["admin:read"],"expires_at":"`+end+`"}`, "api-keys").is(201)
}

// A secret that leaked and was rotated away can't take the key over.
func TestReplacedSecretsTouchNoKeys(t *testing.T) {
	f := newFixture(t)
	made := f.at("POST", `{"name":"k","permissions":["admin:read","admin:write"]}`, "api-keys").is(201)
	id, leaked := made.text("id"), f.with(made.text("key"))
	f.at("POST", `{"overlap":"1h"}`, "api-keys", id, "rotate").is(200)
	leaked.at("GET", "", "api-keys", id).is(200)
	leaked.at("POST", `{"overlap":"0s"}`, "api-keys", id, "rotate").problem(403, "forbidden")
	leaked.at("POST", `{"name":"x","permissions":["admin:read"]}`, "api-keys").problem(403, "forbidden")
	leaked.at("DELETE", "", "api-keys", id).problem(403, "forbidden")
}
