package admin_test

import (
	"strings"
	"testing"
)

func TestScopes(t *testing.T) {
	w := newWorld(t)
	tn := w.provision("acme")
	a := tn.at("POST", `{"id":"Zoë","name":"Zoë's","description":"two\nlines"}`, "scopes").is(201)
	a.has(map[string]string{"id": `"Zoë"`, "org": `"acme"`, "name": `"Zoë's"`, "description": `"two\nlines"`, "version": "1"})
	if got := a.header.Get("Location"); got != "/v1/scopes/~Wm_Dqw" {
		t.Errorf("Location %s", got)
	}
	tn.scope = "Zoë"
	tn.in("GET", "").is(200).has(map[string]string{"version": "1", "pending_recomputations": "0"})
	tn.in("PATCH", `{"description":null,"name":"Z"}`).is(200).has(map[string]string{"description": "", "name": `"Z"`, "version": "2"})
	tn.in("PATCH", `{"name":null}`).problem(422, "invalid", "name")
	tn.in("PATCH", `{"name":"","description":"`+strings.Repeat("x", 1025)+`"}`).problem(422, "invalid", "name", "description")
	tn.in("PATCH", `{"id":"other"}`).problem(422, "invalid", "id")
	tn.at("POST", `{"id":"Zoë","name":"Again"}`, "scopes").problem(409, "already-exists", "id")
	w.provision("other").at("POST", `{"id":"Zoë","name":"Theirs"}`, "scopes").problem(409, "already-exists", "id")
	tn.at("POST", `{"id":"zoë","name":"Case counts"}`, "scopes").is(201)
	tn.at("POST", `{"id":"s"}`, "scopes").problem(422, "invalid", "name")
	tn.at("POST", `{"id":"s","name":"n","description":"`+strings.Repeat("x", 1025)+`"}`, "scopes").problem(422, "limit-exceeded", "description")
}

func TestScopesShowPendingRecomputations(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	before := tn.in("GET", "").is(200).has(map[string]string{"pending_recomputations": "0"})
	token := tn.in("PUT", `{"permissions":[]}`, "roles", "reader").is(200).header.Get("X-Warden-Revision")
	after := tn.in("GET", "").is(200).has(map[string]string{"pending_recomputations": "1", "version": "1"})
	if after.text("revision") == before.text("revision") || after.text("revision") != token {
		t.Errorf("revisions %s, %s, of the write %s", before.body, after.body, token)
	}
}

func TestScopeDeletion(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	tn.in("DELETE", "").problem(409, "in-use")
	tn.do(request{method: "DELETE", path: "/v1/scopes/acme-main", query: "cascade=maybe", key: tn.key}).problem(422, "invalid", "cascade")
	tn.do(request{method: "DELETE", path: "/v1/scopes/acme-main", query: "cascade=true", key: tn.key}).is(204)
	tn.in("DELETE", "").problem(404, "not-found")
	tn.in("GET", "").problem(404, "not-found")
	tn.in("GET", "", "roles").problem(404, "not-found")
	tn.in("PUT", `{"roles":[]}`, "policies", "bob").problem(404, "not-found")
	tn.in("GET", "", "subjects", "alice", "permissions").problem(404, "not-found")
	var page struct{ Items []struct{ ID string } }
	if tn.at("GET", "", "scopes").is(200).into(&page); len(page.Items) != 0 {
		t.Errorf("scopes %+v", page)
	}
	tn.at("POST", `{"id":"acme-main","name":"Again"}`, "scopes").problem(409, "being-deleted")
	tn.provision("other").at("POST", `{"id":"acme-main","name":"Theirs"}`, "scopes").problem(409, "already-exists", "id")
}

func TestAnEmptyScopeNeedsNoCascade(t *testing.T) {
	tn := newWorld(t).provision("acme")
	tn.at("POST", `{"id":"empty","name":"E"}`, "scopes").is(201)
	tn.scope = "empty"
	tn.in("DELETE", "").is(204)
}
