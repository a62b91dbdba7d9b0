package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

func TestPermissions(t *testing.T) {
	tn := newWorld(t).provision("acme")
	put := func(body string) *answer { return tn.in("PUT", body, "permissions", "arn:aws:iam::1:user/x") }
	put(`{"resource":"arn:aws:iam::1:user/x","action":"read","effect":"allow","description":"d"}`).is(201).
		has(map[string]string{"id": `"arn:aws:iam::1:user/x"`, "description": `"d"`, "version": "1", "effect": `"allow"`})
	put(`{"resource":"r","action":"a","effect":"deny"}`).is(200).has(map[string]string{"version": "2", "description": "", "effect": `"deny"`})
	tn.in("GET", "", "permissions", "arn:aws:iam::1:user/x").is(200).has(map[string]string{"resource": `"r"`})
	put(`{"resource":"r","action":"a","effect":"maybe"}`).problem(422, "invalid", "effect")
	put(`{"resource":"r","action":"a","effect":"allow","condition":{"x":1}}`).problem(422, "invalid", "condition")
	put(`{"action":"a","effect":"allow"}`).problem(422, "invalid", "resource")
	put(`{"resource":"`+strings.Repeat("x", 257)+`","action":"`+strings.Repeat("x", 129)+`","effect":"allow"}`).problem(422, "invalid", "resource", "action")
	put(`{"resource":"r","action":"a","effect":"allow","description":"`+strings.Repeat("x", 1025)+`"}`).problem(422, "limit-exceeded", "description")
	tn.in("DELETE", "", "permissions", "arn:aws:iam::1:user/x").is(204)
	tn.in("GET", "", "permissions", "arn:aws:iam::1:user/x").problem(404, "not-found")
	tn.in("DELETE", "", "permissions", "arn:aws:iam::1:user/x").problem(404, "not-found")
	put(`{"resource":"r","action":"a","effect":"allow"}`).is(201).has(map[string]string{"version": "4"}) // after the tombstone's
	used := tn.in("DELETE", "", "permissions", "*:*")
	used.problem(409, "in-use")
	used.has(map[string]string{"used_by": `[{"type":"role","id":"admin"}]`})
}

func TestRoles(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	put := func(id, body string) *answer { return tn.in("PUT", body, "roles", id) }
	put("full", `{"name":"N","description":"D","permissions":["invoice:pay","invoice:read"],"inherits":["reader"],"approvers":["boss"],"required_approvals":2}`).
		is(201).has(map[string]string{
		"id": `"full"`, "name": `"N"`, "description": `"D"`, "permissions": `["invoice:pay","invoice:read"]`, "inherits": `["reader"]`,
		"approvers": `["boss"]`, "required_approvals": "2", "version": "1",
	})
	put("full", `{"permissions":[]}`).is(200).has(map[string]string{"name": "", "inherits": "[]", "approvers": "", "required_approvals": "1", "version": "2"})
	for name, c := range map[string]struct {
		body, code string
		fields     []string
	}{
		"no permissions":      {`{}`, "invalid", []string{"permissions"}},
		"unknown ones":        {`{"permissions":["invoice:read","x","y"],"inherits":["reader","z"]}`, "unknown-reference", []string{"permissions[1]", "permissions[2]", "inherits[1]"}},
		"itself":              {`{"permissions":[],"inherits":["full"]}`, "role-cycle", []string{"inherits"}},
		"twice":               {`{"permissions":["invoice:read","invoice:read"],"inherits":["reader","reader"],"approvers":["a","a"]}`, "invalid", []string{"permissions[1]", "inherits[1]", "approvers[1]"}},
		"no approval":         {`{"permissions":[],"required_approvals":0}`, "invalid", []string{"required_approvals"}},
		"many permissions":    {`{"permissions":` + ids(1001) + `}`, "limit-exceeded", []string{"permissions"}},
		"many inherited":      {`{"permissions":[],"inherits":` + ids(51) + `}`, "limit-exceeded", []string{"inherits"}},
		"many approvers":      {`{"permissions":[],"approvers":` + ids(101) + `}`, "limit-exceeded", []string{"approvers"}},
		"long texts":          {`{"permissions":[],"name":"` + strings.Repeat("x", 257) + `","description":"` + strings.Repeat("x", 1025) + `"}`, "limit-exceeded", []string{"name", "description"}},
		"an id that is none":  {`{"permissions":[""]}`, "invalid", []string{"permissions[0]"}},
		"a number for an id":  {`{"permissions":[1]}`, "invalid", []string{"permissions[0]"}},
		"approvals as a text": {`{"permissions":[],"required_approvals":"2"}`, "invalid", []string{"required_approvals"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := put("full", c.body)
			a.T = t
			a.problem(422, c.code, c.fields...)
		})
	}
	put("a", `{"permissions":[],"inherits":["full"]}`).is(201)
	a := put("full", `{"permissions":[],"inherits":["a"]}`)
	if a.problem(422, "role-cycle", "inherits"); !strings.Contains(string(a.body), "full > a > full") {
		t.Errorf("no path: %s", a.body)
	}
	tn.in("DELETE", "", "roles", "full").problem(409, "in-use")
	tn.in("DELETE", "", "roles", "reader").problem(409, "in-use")
	tn.in("DELETE", "", "roles", "a").is(204)
	tn.in("GET", "", "roles", "a").problem(404, "not-found")
	tn.in("GET", "", "roles", "a", "subjects").problem(404, "not-found")
}

// ids is a list of n ids, as JSON.
func ids(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"id-%d"`, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestDefinitionsAreListed(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	tn.in("DELETE", "", "permissions", "invoice:pay").is(204)
	tn.in("DELETE", "", "roles", "spare").is(204)
	for _, c := range []struct{ of, want string }{
		{"permissions", "*:* invoice:read"},
		{"roles", "admin reader"},
		{"policies", "alice owner"},
	} {
		if got := tn.list(c.of); got != c.want {
			t.Errorf("%s: %s, want %s", c.of, got, c.want)
		}
	}
	tn.do(request{method: "GET", path: scopePath(tn.scope, "roles"), query: "limit=0", key: tn.key}).problem(422, "invalid", "limit")
	tn.do(request{method: "GET", path: scopePath(tn.scope, "roles"), query: "cursor=abc", key: tn.key}).problem(400, "bad-cursor")
}

// list is a list of the scope, read in pages of one.
func (t *tenant) list(more ...string) string {
	t.Helper()
	var got []string
	for cursor := ""; ; {
		var page struct {
			Items []struct{ ID, Subject, Permission string }
			Next  string `json:"next_cursor"`
		}
		t.do(request{method: "GET", path: scopePath(t.scope, more...), query: "limit=1&cursor=" + cursor, key: t.key}).is(200).into(&page)
		for _, e := range page.Items {
			got = append(got, e.ID+e.Subject+e.Permission)
		}
		if cursor = page.Next; cursor == "" {
			return strings.Join(got, " ")
		}
		if len(got) > 1000 {
			t.Fatalf("the list does not end: %v", got[:10])
		}
	}
}

// A cursor leads nowhere but on in its own list.
func TestCursorsAreBoundToTheirList(t *testing.T) {
	w := newWorld(t)
	tn, other := w.provision("acme").furnish(), w.provision("other").furnish()
	first := tn.do(request{method: "GET", path: scopePath(tn.scope, "roles"), query: "limit=1", key: tn.key}).is(200)
	query := "limit=1&cursor=" + first.text("next_cursor")
	tn.do(request{method: "GET", path: scopePath(tn.scope, "permissions"), query: query, key: tn.key}).problem(400, "bad-cursor")
	tn.do(request{method: "GET", path: scopePath(other.scope, "roles"), query: query, key: other.key}).problem(400, "bad-cursor")
	effective := tn.do(request{method: "GET", path: scopePath(tn.scope, "subjects", "owner", "permissions"), query: query, key: tn.key})
	effective.problem(400, "bad-cursor")
}

func TestRoleSubjects(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	end := tn.clock.Now().Add(time.Hour).Format(time.RFC3339)
	tn.in("PUT", `{"roles":[{"role":"spare","expires_at":"`+end+`"}]}`, "policies", "bob").is(201)
	tn.in("PUT", `{"roles":[{"role":"spare"}]}`, "policies", "carol").is(201)
	tn.in("GET", "", "roles", "spare", "subjects").is(200).
		has(map[string]string{"items": `[{"subject":"bob","expires_at":"2026-03-01T13:00:00.000Z"},{"subject":"carol"}]`})
	tn.clock.advance(time.Hour)
	tn.in("GET", "", "roles", "spare", "subjects").is(200).has(map[string]string{"items": `[{"subject":"carol"}]`})
	// Its last holder gone, the role dies and is born again: bob's assignment, over
	// as it is, is to the one before.
	tn.in("DELETE", "", "policies", "carol").is(204)
	tn.in("DELETE", "", "roles", "spare").is(204)
	tn.in("PUT", `{"permissions":[]}`, "roles", "spare").is(201)
	tn.in("GET", "", "roles", "spare", "subjects").is(200).has(map[string]string{"items": `[]`})
	// One that raced the role's death names a life that is over.
	raced := keys.RoleMember(rbac.Must(rbac.ParseScopeID(tn.scope)), rbac.Must(rbac.ParseRoleID("spare")), rbac.Must(rbac.ParseSubjectID("dave"))).Raw()
	err := tn.store.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(&table.Item{
		Key: raced, Type: "RoleMember", Version: 1, Format: entity.Format, Body: []byte(`{"subject":"dave","incarnation":1}`),
	}, table.Absent())}})
	if err != nil {
		t.Fatal(err)
	}
	tn.in("GET", "", "roles", "spare", "subjects").is(200).has(map[string]string{"items": `[]`})
}

// The largest role of the contract, with ids whose JSON is twice as long, fits
// into the table and its events.
func TestTheLargestRoleFits(t *testing.T) {
	tn := newWorld(t).provision("acme")
	id := func(n int, kind string, i int) string {
		s := fmt.Sprintf("%s%d", kind, i)
		return s + strings.Repeat(`"`, n-len(s))
	}
	var permissions, approvers []string
	for i := range 1000 {
		p := id(128, "p", i)
		permissions = append(permissions, fmt.Sprintf("%q", p))
		tn.in("PUT", `{"resource":"r","action":"a","effect":"allow"}`, "permissions", p).is(201)
	}
	for i := range 100 {
		approvers = append(approvers, fmt.Sprintf("%q", id(256, "u", i)))
	}
	body := func(description string) string {
		return `{"description":"` + description + `","permissions":[` + strings.Join(permissions, ",") + `],"approvers":[` + strings.Join(approvers, ",") + `]}`
	}
	tn.in("PUT", body(strings.Repeat(`\u0001`, 1024)), "roles", "largest").is(201)
	n := len(tn.changes())
	tn.in("PUT", body("d"), "roles", "largest").is(200)
	e := tn.eventsSince(n)
	if len(e) != 1 || !strings.Contains(string(e[0].After), `"truncated":"diff"`) || !strings.Contains(string(e[0].After), `"description":"d"`) {
		t.Fatalf("event %+v", e)
	}
	tn.in("GET", "", "roles", "largest").is(200)
}
