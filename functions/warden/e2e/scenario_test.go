package e2e

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

type object = map[string]any

func TestFromNothingToAnswers(t *testing.T) {
	c, _ := start(t, t.TempDir())
	acme := c.provision("acme")
	ask := func(subject, action string) verdict {
		t.Helper()
		return acme.check(question{Scope: "acme", Subject: subject, Resource: "invoice", Action: action})
	}
	if v := acme.check(question{Scope: "acme", Subject: "owner", Resource: "any", Action: "thing"}); !v.Allowed {
		t.Errorf("the owner: %+v", v)
	}
	acme.do("PUT", "/v1/scopes/acme/permissions/invoice:read", object{"resource": "invoice", "action": "read", "effect": "allow"}).want(201)
	acme.do("PUT", "/v1/scopes/acme/permissions/no-writes", object{"resource": "invoice", "action": "write", "effect": "deny"}).want(201)
	acme.do("PUT", "/v1/scopes/acme/permissions/invoice:any", object{"resource": "invoice", "action": "*", "effect": "allow"}).want(201)
	acme.do("PUT", "/v1/scopes/acme/roles/reader", object{"permissions": []string{"invoice:read"}}).want(201)
	acme.do("PUT", "/v1/scopes/acme/roles/auditor", object{"permissions": []string{"no-writes", "invoice:any"}, "inherits": []string{"reader"}}).want(201)

	if v := ask("alice", "read"); v.Reason != "no-policy" {
		t.Errorf("nobody yet: %+v", v)
	}
	granted := acme.do("POST", "/v1/scopes/acme/policies/alice/roles", object{"role": "reader"}).want(201)
	acme.do("PUT", "/v1/scopes/acme/policies/bob", object{"roles": []object{{"role": "auditor"}}}).want(201)
	for subject, want := range map[string][3]string{ // reading, writing, deleting
		"alice": {"allowed", "no-matching-permission", "no-matching-permission"},
		"bob":   {"allowed", "explicit-deny", "allowed"},
		"carol": {"no-policy", "no-policy", "no-policy"},
	} {
		got := [3]string{ask(subject, "read").Reason, ask(subject, "write").Reason, ask(subject, "delete").Reason}
		if got != want {
			t.Errorf("%s: %v, want %v", subject, got, want)
		}
	}
	explained := acme.check(question{Scope: "acme", Subject: "bob", Resource: "invoice", Action: "read", Explain: true})
	if len(explained.Matched) != 2 || explained.Matched[1].Permission != "invoice:read" || !slices.Equal(explained.Matched[1].Via, []string{"reader"}) {
		t.Errorf("%+v", explained)
	}
	if v := acme.check(question{Scope: "acme", Subject: "alice", Resource: "invoice", Action: "read", AtLeast: granted.header.Get("X-Warden-Revision")}); !v.Allowed {
		t.Errorf("at least the grant: %+v", v)
	}

	// Every change shows in the next answer: this server is never behind itself.
	acme.do("PUT", "/v1/scopes/acme/permissions/invoice:read", object{"resource": "invoice", "action": "read", "effect": "deny"}).want(200)
	if v := ask("alice", "read"); v.Reason != "explicit-deny" {
		t.Errorf("after the permission's change: %+v", v)
	}
	acme.do("PUT", "/v1/scopes/acme/roles/reader", object{"permissions": []string{}}).want(200)
	if v := ask("alice", "read"); v.Reason != "no-matching-permission" {
		t.Errorf("after the role's change: %+v", v)
	}
	acme.do("DELETE", "/v1/scopes/acme/policies/alice", nil).want(204)
	if v := ask("alice", "read"); v.Reason != "no-policy" {
		t.Errorf("after the policy's end: %+v", v)
	}
	acme.do("DELETE", "/v1/scopes/acme?cascade=true", nil).want(204)
	if v := ask("bob", "read"); v.Reason != "no-policy" {
		t.Errorf("after the scope's end: %+v", v)
	}
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	c, _ := start(t, t.TempDir())
	a, b := c.provision("a"), c.provision("b")
	for _, tenant := range []*client{a, b} {
		scope := map[*client]string{a: "a", b: "b"}[tenant]
		tenant.do("PUT", "/v1/scopes/"+scope+"/roles/reader", object{"permissions": []string{"*:*"}}).want(201)
		tenant.do("PUT", "/v1/scopes/"+scope+"/policies/alice", object{"roles": []object{{"role": "reader"}}}).want(201)
	}
	for _, consistency := range []string{"default", "strong"} {
		q := question{Scope: "b", Subject: "alice", Resource: "x", Action: "y", Consistency: consistency}
		if v := b.check(q); !v.Allowed {
			t.Errorf("its own: %+v", v)
		}
		if v := a.check(q); v.Reason != "no-policy" {
			t.Errorf("the other's: %+v", v)
		}
	}
	b.do("DELETE", "/v1/scopes/b/policies/alice", nil).want(204)
	if v := a.check(question{Scope: "a", Subject: "alice", Resource: "x", Action: "y"}); !v.Allowed {
		t.Errorf("after the other's end: %+v", v)
	}
	if r := a.do("GET", "/v1/scopes/b", nil).want(404); r.code() != "not-found" {
		t.Errorf("%s", r.body)
	}
}

func TestAssignmentsEnd(t *testing.T) {
	c, _ := start(t, t.TempDir())
	acme := c.provision("acme")
	end := time.Now().Add(300 * time.Millisecond)
	acme.do("PUT", "/v1/scopes/acme/policies/temp", object{"roles": []object{{"role": "admin", "expires_at": end.Format(time.RFC3339Nano)}}}).want(201)
	acme.do("PUT", "/v1/scopes/acme/policies/over", object{"roles": []object{{"role": "admin", "expires_at": "2001-01-01T00:00:00+02:00"}}}).want(201)
	if v := acme.check(question{Scope: "acme", Subject: "over", Resource: "x", Action: "y"}); v.Reason != "no-policy" {
		t.Errorf("long over: %+v", v)
	}
	for { // until it is over by this process's clock, which is the server's
		before := time.Now()
		v := acme.check(question{Scope: "acme", Subject: "temp", Resource: "x", Action: "y"})
		after := time.Now()
		switch {
		case after.Before(end) && !v.Allowed:
			t.Fatalf("refused %v before its end: %+v", end.Sub(after), v)
		case !before.Before(end) && v.Allowed:
			t.Fatalf("allowed %v after its end: %+v", before.Sub(end), v)
		}
		if !before.Before(end) {
			return
		}
	}
}

func TestKeys(t *testing.T) {
	c, _ := start(t, t.TempDir())
	acme := c.provision("acme")
	q := question{Scope: "acme", Subject: "owner", Resource: "x", Action: "y"}
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	acme.do("POST", "/v1/orgs/acme/api-keys", object{"name": "checks", "permissions": []string{"access:check"}}).want(201).into(&made)
	checks := acme.as(made.Key)
	if v := checks.check(q); !v.Allowed {
		t.Errorf("%+v", v)
	}
	checks.do("GET", "/v1/scopes/acme", nil).want(403)
	acme.do("DELETE", "/v1/orgs/acme/api-keys/"+made.ID, nil).want(204)
	checks.do("POST", "/v1/access/check", q).want(401) // at once: this process made the write
	if v := c.check(q); !v.Allowed {
		t.Errorf("the operator: %+v", v)
	}
	for _, key := range []string{"x", operatorKey + "x"} {
		r := c.as(key).do("POST", "/v1/access/check", q).want(401)
		if r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%v", r.header)
		}
	}
}

func TestPathsAndProbes(t *testing.T) {
	c, _ := start(t, t.TempDir())
	for _, path := range []string{"/", "/v1", "/v2/orgs", "/v1/orgs/", "//v1/orgs", "/v1//orgs", "/v1/orgs/../orgs", "/v1/orgs/%2e%2e", "/healthz/", "/V1/orgs", "/v1/access", "/v1/access/check/"} {
		r := c.do("GET", path, nil).want(http.StatusNotFound)
		if r.header.Get("Content-Type") != "application/problem+json" || r.header.Get("Location") != "" || r.code() != "not-found" {
			t.Errorf("%s: %v %s", path, r.header, r.body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if r := c.as("no key").do("GET", path, nil).want(http.StatusOK); strings.TrimSpace(string(r.body)) != `{"status":"ok"}` {
			t.Errorf("%s: %s", path, r.body)
		}
		if r := c.do("POST", path, object{}).want(http.StatusMethodNotAllowed); !strings.Contains(r.header.Get("Allow"), "GET") {
			t.Errorf("%s: %v", path, r.header)
		}
	}
	if r := c.do("GET", "/v1/access/check", nil).want(http.StatusMethodNotAllowed); r.header.Get("Allow") != "POST" {
		t.Errorf("%v", r.header)
	}
	// A slash that was escaped arrives as one, as behind the gateway.
	c.provision("a/b")
	c.do("GET", "/v1/scopes/a%2Fb", nil).want(http.StatusNotFound)
	c.do("GET", "/v1/scopes/"+seg("a/b"), nil).want(http.StatusOK)
	if r := c.do("GET", "/v1/scopes/a%20b", nil).want(http.StatusBadRequest); r.code() != "bad-path-segment" {
		t.Errorf("%s", r.body)
	}
	for range 2 {
		r := c.do("POST", "/v1/access/check", question{Scope: "a/b", Subject: "owner", Resource: "x", Action: "y"}).want(200)
		for _, name := range []string{"X-Request-Id", "X-Warden-Cost"} {
			if r.header.Get(name) == "" {
				t.Errorf("no %s: %v", name, r.header)
			}
		}
	}
}

// What was acknowledged is there after a restart, and answers the same.
func TestRestart(t *testing.T) {
	data := t.TempDir()
	c, stop := start(t, data)
	acme := c.provision("acme")
	var qs []question
	for i := range 20 {
		subject := fmt.Sprintf("s%d", i)
		acme.do("PUT", "/v1/scopes/acme/policies/"+subject, object{"roles": []object{{"role": "admin"}}}).want(201)
		qs = append(qs, question{Scope: "acme", Subject: subject, Resource: "x", Action: "y", Explain: true})
	}
	before := acme.checkAll(qs)
	stop()
	c, _ = start(t, data)
	if after := c.as(acme.key).checkAll(qs); !reflect.DeepEqual(after, before) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
}
