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
	}{
		"the same":          {poor, `{"name":"k","permissions":["admin:read","admin:write"]}`, 201},
		"less":              {poor, `{"name":"k","permissions":["admin:read"],"scopes":["second"]}`, 201},
		"another right":     {poor, `{"name":"k","permissions":["access:check"]}`, 403},
		"its scope":         {narrow, `{"name":"k","permissions":["access:check"],"scopes":["acme-main"]}`, 201},
		"another scope":     {narrow, `{"name":"k","permissions":["access:check"],"scopes":["acme-main","second"]}`, 403},
		"every scope":       {narrow, `{"name":"k","permissions":["access:check"]}`, 403},
		"an unknown scope":  {narrow, `{"name":"k","permissions":["access:check"],"scopes":["ghost"]}`, 403},
		"all, by operators": {operator, `{"name":"k","permissions":["access:check","scim:manage"]}`, 201},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(tn.changes())
			a := tn.with(c.key).at("POST", c.body, "api-keys")
			a.T = t
			if a.is(c.status); c.status == 403 {
				a.problem(403, "would-escalate")
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
