package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func (w *world) createOrg(body string) *answer {
	w.Helper()
	return w.do(request{method: "POST", path: "/v1/orgs", key: operator, body: body})
}

func TestProvisioning(t *testing.T) {
	w := newWorld(t)
	a := w.createOrg(`{"id":"acme","name":"Acme & Söhne","owner":"auth0|5f7","scope":{"id":"prod","name":"Production"}}`).is(201)
	a.has(map[string]string{
		"org.id": `"acme"`, "org.name": `"Acme & Söhne"`, "org.status": `"active"`, "org.audit_retention_days": "365", "org.version": "1",
		"scope.id": `"prod"`, "scope.org": `"acme"`, "scope.name": `"Production"`, "scope.version": "1",
		"api_key.permissions": `["access:check","admin:read","admin:write","audit:read","webhooks:manage","scim:manage"]`, "api_key.scopes": "",
		"org.created_at": `"2026-03-01T12:00:00.000Z"`,
	})
	if got := a.header.Get("Location"); got != "/v1/orgs/acme" {
		t.Errorf("Location %s", got)
	}
	key := a.text("api_key.key")
	if !strings.HasPrefix(key, "wdn_live_") {
		t.Errorf("key %s", key)
	}
	tn := &tenant{world: w, org: "acme", scope: "prod", key: key}
	if got := string(tn.at("GET", "").is(200).body); got != a.get("org") {
		t.Errorf("the org is %s, was answered as %s", got, a.get("org"))
	}
	tn.at("GET", "", "api-keys", a.text("api_key.id")).is(200).has(map[string]string{"created_at": a.get("api_key.created_at"), "version": "1"})
	tn.in("GET", "", "policies", "auth0|5f7").is(200).has(map[string]string{"roles": `[{"role":"admin","source":"direct"}]`})
	tn.in("GET", "", "roles", "admin").is(200).has(map[string]string{"permissions": `["*:*"]`, "inherits": "[]", "required_approvals": "1"})
	tn.in("GET", "", "permissions", "*:*").is(200).has(map[string]string{"resource": `"*"`, "action": `"*"`, "effect": `"allow"`})
	tn.in("GET", "", "subjects", "auth0|5f7", "permissions").is(200)
	tn.in("GET", "").is(200).has(map[string]string{"id": `"prod"`, "pending_recomputations": "0"})
}

func TestProvisioningFillsIn(t *testing.T) {
	w := newWorld(t)
	a := w.createOrg(`{"name":"Acme","owner":"o"}`).is(201)
	id := a.text("org.id")
	if !strings.HasPrefix(id, "org_") || a.text("scope.id") != id || a.text("scope.name") != "Acme" {
		t.Errorf("made %s", a.body)
	}
	if other := w.createOrg(`{"name":"Other","owner":"o"}`).is(201).text("org.id"); other == id {
		t.Error("two orgs have one id")
	}
}

func TestProvisioningRefuses(t *testing.T) {
	w := newWorld(t)
	w.createOrg(`{"id":"acme","name":"Acme","owner":"o","scope":{"id":"main","name":"Main"}}`).is(201)
	long := strings.Repeat("x", 257)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		fields []string
	}{
		"id taken":       {`{"id":"acme","name":"Other","owner":"o","scope":{"id":"s","name":"S"}}`, 409, "already-exists", []string{"id"}},
		"name taken":     {`{"id":"other","name":"Acme","owner":"o","scope":{"id":"s","name":"S"}}`, 409, "already-exists", []string{"name"}},
		"scope taken":    {`{"id":"other","name":"Other","owner":"o","scope":{"id":"main","name":"S"}}`, 409, "already-exists", []string{"scope.id"}},
		"nothing":        {`{}`, 422, "invalid", []string{"name", "owner"}},
		"empty names":    {`{"name":"","owner":"o","scope":{"id":"s","name":""}}`, 422, "invalid", []string{"name", "scope.name"}},
		"long name":      {`{"name":"` + long + `","owner":"o"}`, 422, "limit-exceeded", []string{"name"}},
		"a tab in names": {`{"name":"a\tb","owner":"o"}`, 422, "invalid", []string{"name"}},
		"scope without":  {`{"name":"n","owner":"o","scope":{}}`, 422, "invalid", []string{"scope.id", "scope.name"}},
		"long id":        {`{"id":"` + long + `","name":"n","owner":"o"}`, 422, "invalid", []string{"id"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(w.changes())
			a := w.createOrg(c.body)
			a.T = t
			a.problem(c.status, c.code, c.fields...)
			if got := len(w.changes()); got != n {
				t.Errorf("%d changes", got-n)
			}
		})
	}
}

func TestOrgsAreListedByName(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"c", "a", "d", "b"} {
		w.createOrg(fmt.Sprintf(`{"id":"o-%s","name":%q,"owner":"o"}`, name, name)).is(201)
	}
	w.do(request{method: "DELETE", path: "/v1/orgs/o-b", query: "cascade=true", key: operator}).is(204)
	var got []string
	for cursor := ""; ; {
		var page struct {
			Items []struct{ ID string }
			Next  string `json:"next_cursor"`
		}
		w.do(request{method: "GET", path: "/v1/orgs", query: "limit=2&cursor=" + cursor, key: operator}).is(200).into(&page)
		for _, o := range page.Items {
			got = append(got, o.ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != "[o-a o-c o-d]" {
		t.Errorf("orgs %v", got)
	}
}

func TestOrgPatch(t *testing.T) {
	w := newWorld(t)
	tn := w.provision("acme")
	w.provision("other")
	tn.at("PATCH", `{"name":"New","audit_retention_days":30}`).is(200).
		has(map[string]string{"name": `"New"`, "audit_retention_days": "30", "version": "2", "status": `"active"`})
	tn.at("PATCH", `{"audit_retention_days":null,"status":"active"}`).is(200).has(map[string]string{"audit_retention_days": "365", "version": "3"})
	tn.at("PATCH", `{}`).is(200).has(map[string]string{"version": "3"})
	tn.at("PATCH", `{"name":"Org other"}`).problem(409, "already-exists", "name")
	tn.at("PATCH", `{"name":null}`).problem(422, "invalid", "name")
	tn.at("PATCH", `{"status":"suspended"}`).problem(422, "invalid", "status")
	tn.at("PATCH", `{"status":null}`).problem(422, "invalid", "status")
	for _, days := range []string{"0", "3651", "-1", "1.5", `"30"`} {
		tn.at("PATCH", `{"audit_retention_days":`+days+`}`).problem(422, "invalid", "audit_retention_days")
	}
	// The old name is free again, and the new one is taken.
	w.createOrg(`{"name":"Org acme","owner":"o"}`).is(201)
	w.createOrg(`{"name":"New","owner":"o"}`).problem(409, "already-exists", "name")
	merge := request{method: "PATCH", path: "/v1/orgs/acme", key: tn.key, body: `{"name":"Newer"}`, header: map[string]string{"Content-Type": "application/merge-patch+json"}}
	w.do(merge).is(200)
}

func TestOrgDeletion(t *testing.T) {
	w := newWorld(t)
	tn := w.provision("acme").furnish()
	tn.at("DELETE", "").problem(409, "in-use")
	w.do(request{method: "DELETE", path: "/v1/orgs/acme", query: "cascade=true", key: tn.key}).is(204)
	tn.at("DELETE", "").problem(404, "not-found")
	tn.at("GET", "").problem(404, "not-found")
	tn.at("GET", "", "scopes").problem(404, "not-found")
	tn.at("GET", "", "api-keys").problem(404, "not-found")
	tn.at("POST", `{"name":"k","permissions":["admin:read"]}`, "api-keys").problem(404, "not-found")
	tn.at("POST", `{"id":"s","name":"S"}`, "scopes").problem(404, "not-found")
	tn.in("GET", "").problem(404, "not-found")
	tn.in("PUT", `{"permissions":[]}`, "roles", "r").problem(404, "not-found")
	w.createOrg(`{"id":"acme","name":"Again","owner":"o"}`).problem(409, "being-deleted")
	w.createOrg(`{"id":"new","name":"Again","owner":"o","scope":{"id":"acme-main","name":"S"}}`).problem(409, "already-exists", "scope.id")
}

func TestKeysLimitedToScopesLeaveTheOrgAlone(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	tn.at("POST", `{"id":"second","name":"S"}`, "scopes").is(201)
	_, limited := tn.newKey(`["admin:read","admin:write"]`, `["acme-main"]`)
	as := &tenant{world: tn.world, org: tn.org, scope: tn.scope, key: limited}
	as.at("PATCH", `{"name":"Mine"}`).problem(http.StatusForbidden, "forbidden")
	as.at("DELETE", "").problem(http.StatusForbidden, "forbidden")
	as.at("POST", `{"id":"third","name":"S"}`, "scopes").problem(http.StatusForbidden, "forbidden")
	as.at("GET", "").is(200)
	var page struct{ Items []struct{ ID string } }
	as.at("GET", "", "scopes").is(200).into(&page)
	if len(page.Items) != 1 || page.Items[0].ID != "acme-main" {
		t.Errorf("sees %+v", page)
	}
	as.in("PUT", `{"permissions":[]}`, "roles", "r").is(201)
}

// An org's ETag tells of the org: keys and scopes that come and go don't change it.
func TestOrgVersionIsTheOrgs(t *testing.T) {
	f := newFixture(t)
	before := f.at("GET", "").is(200)
	f.newKey(`["access:check"]`, "")
	f.at("POST", `{"id":"acme-more","name":"More"}`, "scopes").is(201)
	after := f.at("GET", "").is(200)
	if string(after.body) != string(before.body) || after.header.Get("ETag") != before.header.Get("ETag") {
		t.Errorf("before %s\nafter %s", before.body, after.body)
	}
	f.at("PATCH", `{"name":"Renamed"}`).is(200).has(map[string]string{"version": "2"})
	scope := f.in("GET", "").is(200).header.Get("ETag")
	f.newHook("https://hooks.acme.com/more", "*")
	if got := f.in("GET", "").is(200).header.Get("ETag"); got != scope {
		t.Errorf("the scope's ETag %s became %s with a webhook", scope, got)
	}
}
