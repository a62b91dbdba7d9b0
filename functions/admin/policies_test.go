package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestPolicies(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	put := func(body string) *answer { return tn.in("PUT", body, "policies", "svc#7") }
	put(`{"roles":[{"role":"spare"},{"role":"reader","expires_at":"2030-01-02T04:04:05.5+01:00"}]}`).is(201).has(map[string]string{
		"subject": `"svc#7"`, "version": "1",
		"roles": `[{"role":"reader","expires_at":"2030-01-02T03:04:05.500Z","source":"direct"},{"role":"spare","source":"direct"}]`,
	})
	put(`{"roles":[{"role":"reader","expires_at":"2030-01-02T03:04:05.500Z"},{"role":"spare"}]}`).is(200).has(map[string]string{"version": "1"})
	put(`{"roles":[]}`).is(200).has(map[string]string{"version": "2", "roles": "[]"})
	put(`{"roles":[{"role":"reader","expires_at":"1999-01-01T00:00:00Z"}]}`).is(200)
	for name, c := range map[string]struct {
		body, code string
		fields     []string
	}{
		"no roles":        {`{}`, "invalid", []string{"roles"}},
		"no role":         {`{"roles":[{}]}`, "invalid", []string{"roles[0].role"}},
		"unknown":         {`{"roles":[{"role":"reader"},{"role":"x"}]}`, "unknown-reference", []string{"roles[1].role"}},
		"twice":           {`{"roles":[{"role":"reader"},{"role":"spare"},{"role":"reader","expires_at":"2030-01-01T00:00:00Z"}]}`, "invalid", []string{"roles[2].role"}},
		"many":            {`{"roles":` + roles(41) + `}`, "limit-exceeded", []string{"roles"}},
		"no offset":       {`{"roles":[{"role":"reader","expires_at":"2030-01-01T00:00:00"}]}`, "invalid", []string{"roles[0].expires_at"}},
		"another source":  {`{"roles":[{"role":"reader","source":"mapping:x"}]}`, "invalid", []string{"roles[0].source"}},
		"expires in 2030": {`{"roles":[{"role":"reader","expires_at":2030}]}`, "invalid", []string{"roles[0].expires_at"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := put(c.body)
			a.T = t
			a.problem(422, c.code, c.fields...)
		})
	}
	tn.in("DELETE", "", "policies", "svc#7").is(204)
	tn.in("GET", "", "policies", "svc#7").problem(404, "not-found")
	tn.in("DELETE", "", "policies", "svc#7").problem(404, "not-found")
	a := put(`{"roles":[]}`).is(201)
	if a.get("version") <= "3" {
		t.Errorf("the version restarts: %s", a.body)
	}
}

func roles(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"role":"r-%d"}`, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestAssignAndRevoke(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	assign := func(body string) *answer { return tn.in("POST", body, "policies", "bob", "roles") }
	assign(`{"role":"reader"}`).is(201).has(map[string]string{"roles": `[{"role":"reader","source":"direct"}]`, "version": "1"})
	assign(`{"role":"spare"}`).is(201)
	n := len(tn.changes())
	assign(`{"role":"reader"}`).is(200).has(map[string]string{"version": "2"})
	if got := len(tn.changes()); got != n {
		t.Errorf("%d changes", got-n)
	}
	assign(`{"role":"reader","expires_at":"2030-01-01T00:00:00Z"}`).is(200).has(map[string]string{"version": "3"})
	assign(`{"role":"x"}`).problem(422, "unknown-reference", "role")
	assign(`{}`).problem(422, "invalid", "role")
	tn.in("DELETE", "", "policies", "bob", "roles", "reader").is(204)
	tn.in("DELETE", "", "policies", "bob", "roles", "reader").problem(404, "not-found")
	tn.in("DELETE", "", "policies", "nobody", "roles", "reader").problem(404, "not-found")
	tn.in("GET", "", "policies", "bob").is(200).has(map[string]string{"roles": `[{"role":"spare","source":"direct"}]`})
}

// If-Match and If-None-Match speak of the policy that the assignment stands in.
func TestAssignmentsHaveThePreconditionsOfTheirPolicy(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	ask := func(method, body, header, value string, more ...string) *answer {
		t.Helper()
		return tn.do(request{
			method: method, path: scopePath(tn.scope, append([]string{"policies", "bob", "roles"}, more...)...), key: tn.key, body: body,
			header: map[string]string{header: value},
		})
	}
	assign := func(role, header, value string) *answer {
		t.Helper()
		return ask("POST", `{"role":"`+role+`"}`, header, value)
	}
	assign("reader", "If-Match", "*").problem(412, "precondition-failed")
	if got := assign("reader", "If-None-Match", "*").is(201).header.Get("ETag"); got != `"1"` {
		t.Errorf("ETag %s", got)
	}
	assign("spare", "If-None-Match", "*").problem(412, "precondition-failed")
	assign("spare", "If-Match", `"2"`).problem(412, "precondition-failed")
	assign("spare", "If-Match", `"1"`).is(201)
	ask("DELETE", "", "If-Match", `"1"`, "spare").problem(412, "precondition-failed")
	ask("DELETE", "", "If-Match", `"1"`, "ghost").problem(404, "not-found") // as without the header
	ask("DELETE", "", "If-Match", `"2"`, "spare").is(204)
	tn.in("GET", "", "policies", "bob").is(200).has(map[string]string{"roles": `[{"role":"reader","source":"direct"}]`, "version": "3"})
}

func TestBatch(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	a := tn.in("POST", `{"policies":[
		{"subject":"bob","roles":[{"role":"reader"}]},
		{"subject":"carol","roles":[{"role":"reader"},{"role":"ghost"}]},
		{"subject":"alice","roles":[{"role":"reader"}]},
		{"subject":"dave","roles":[]}
	]}`, "policies", "batch").is(200)
	var got struct {
		Results []struct {
			Subject, Revision string
			Status            int
			Policy            *struct{ Version int }
			Problem           *struct {
				Code   string
				Errors []struct{ Field string }
			}
		}
	}
	a.into(&got)
	if len(got.Results) != 4 {
		t.Fatalf("%s", a.body)
	}
	for i, want := range []struct {
		subject string
		status  int
	}{{"bob", 201}, {"carol", 422}, {"alice", 200}, {"dave", 201}} {
		r := got.Results[i]
		failed := want.status >= 400
		if r.Subject != want.subject || r.Status != want.status || (r.Policy == nil) != failed || (r.Problem == nil) == failed || (r.Revision == "") != failed {
			t.Errorf("result %d: %+v in %s", i, r, a.body)
		}
	}
	if p := got.Results[1].Problem; p.Code != "unknown-reference" || p.Errors[0].Field != "roles[1].role" {
		t.Errorf("problem %+v", p)
	}
	tn.in("GET", "", "policies", "carol").problem(404, "not-found")
	alone := tn.in("POST", `{"policies":[{"subject":"bob","roles":[]}]}`, "policies", "batch").is(200)
	alone.into(&got)
	if alone.header.Get("X-Warden-Revision") != got.Results[0].Revision {
		t.Errorf("revision %s of %s", alone.header.Get("X-Warden-Revision"), alone.body)
	}
}

func TestBatchRefusals(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	for name, c := range map[string]struct{ body, code, field string }{
		"none":           {`{"policies":[]}`, "invalid", "policies"},
		"a subject less": {`{"policies":[{"subject":"a","roles":[]},{"roles":[]}]}`, "invalid", "policies[1].subject"},
		"a role less":    {`{"policies":[{"subject":"a","roles":[]},{"subject":"b","roles":[{"role":"reader"},{}]}]}`, "invalid", "policies[1].roles[1].role"},
		"twice":          {`{"policies":[{"subject":"a","roles":[]},{"subject":"a","roles":[]}]}`, "invalid", "policies[1].subject"},
		"a role twice":   {`{"policies":[{"subject":"a","roles":[{"role":"reader"},{"role":"reader"}]}]}`, "invalid", "policies[0].roles[1].role"},
		"many roles":     {`{"policies":[{"subject":"a","roles":` + roles(41) + `}]}`, "limit-exceeded", "policies[0].roles"},
		"many":           {`{"policies":` + batch(101, `[]`) + `}`, "limit-exceeded", "policies"},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(tn.changes())
			a := tn.in("POST", c.body, "policies", "batch")
			a.T = t
			a.problem(422, c.code, c.field)
			if got := len(tn.changes()); got != n {
				t.Errorf("%d changes", got-n)
			}
		})
	}
	tn.in("POST", `{"policies":`+batch(100, `[{"role":"reader"}]`)+`}`, "policies", "batch").is(200)
	if got := len(strings.Fields(tn.list("policies"))); got != 102 {
		t.Errorf("%d policies", got)
	}
}

// batch is n policies with those roles.
func batch(n int, roles string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"subject":"s-%d","roles":%s}`, i, roles)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// A subject may be named like a part of another route.
func TestASubjectNamedBatch(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	tn.in("PUT", `{"roles":[{"role":"reader"}]}`, "policies", "batch").is(201)
	tn.in("POST", `{"role":"spare"}`, "policies", "batch", "roles").is(201)
	tn.in("GET", "", "policies", "batch").is(200).has(map[string]string{"subject": `"batch"`})
}

func TestEffectivePermissions(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	tn.in("PUT", `{"permissions":["invoice:pay"],"inherits":["reader"]}`, "roles", "payer").is(201)
	tn.in("PUT", `{"permissions":["invoice:read"],"inherits":["payer"]}`, "roles", "boss").is(201)
	soon := tn.clock.Now().Add(time.Hour).Format(time.RFC3339)
	tn.in("PUT", `{"roles":[{"role":"boss","expires_at":"`+soon+`"},{"role":"reader"},{"role":"spare"}]}`, "policies", "bob").is(201)
	tn.in("GET", "", "subjects", "bob", "permissions").is(200).has(map[string]string{"items": list(
		`{"permission":"invoice:pay","resource":"invoice","action":"pay","effect":"deny","expires_at":"2026-03-01T13:00:00.000Z","role":"boss","via":["payer"]}`,
		`{"permission":"invoice:read","resource":"invoice","action":"read","effect":"allow","expires_at":"2026-03-01T13:00:00.000Z","role":"boss","via":[]}`,
		`{"permission":"invoice:read","resource":"invoice","action":"read","effect":"allow","role":"reader","via":[]}`,
	)})
	if got := tn.list("subjects", "bob", "permissions"); got != "invoice:pay invoice:read invoice:read" {
		t.Errorf("in pages: %s", got)
	}
	// A definition changes: the document is stale, the answer is not.
	tn.in("PUT", `{"permissions":[]}`, "roles", "reader").is(200)
	if got := tn.list("subjects", "bob", "permissions"); got != "invoice:pay invoice:read" {
		t.Errorf("after the change: %s", got)
	}
	tn.clock.advance(time.Hour)
	if got := tn.list("subjects", "bob", "permissions"); got != "" {
		t.Errorf("after the end: %s", got)
	}
	if got := tn.list("subjects", "nobody", "permissions"); got != "" {
		t.Errorf("of nobody: %s", got)
	}
	tn.in("DELETE", "", "policies", "alice").is(204)
	if got := tn.list("subjects", "alice", "permissions"); got != "" {
		t.Errorf("after the deletion: %s", got)
	}
}

func list(elements ...string) string {
	out := "[" + strings.Join(elements, ",") + "]"
	if !json.Valid([]byte(out)) {
		panic(out)
	}
	return out
}

// Pages of many grants, put together, are the whole.
func TestEffectivePermissionsArePaged(t *testing.T) {
	tn := newWorld(t).provision("acme")
	const permissions, holders = 200, 30
	long := func(s string) string { return s + strings.Repeat("x", 120-len(s)) }
	var ps, rs []string
	for i := range permissions {
		p := long(fmt.Sprintf("p%d", i))
		tn.in("PUT", `{"resource":"`+strings.Repeat("r", 256)+`","action":"`+long("a")+`","effect":"allow"}`, "permissions", p).is(201)
		ps = append(ps, `"`+p+`"`)
	}
	for i := range holders {
		r := long(fmt.Sprintf("r%d", i))
		tn.in("PUT", `{"permissions":[`+strings.Join(ps, ",")+`]}`, "roles", r).is(201)
		rs = append(rs, `{"role":"`+r+`"}`)
	}
	tn.in("PUT", `{"roles":[`+strings.Join(rs, ",")+`]}`, "policies", "u").is(201)
	seen, pages := map[string]bool{}, 0
	for cursor := ""; ; pages++ {
		var page struct {
			Items []struct{ Permission, Role string }
			Next  string `json:"next_cursor"`
		}
		a := tn.do(request{method: "GET", path: scopePath(tn.scope, "subjects", "u", "permissions"), query: "limit=1000&cursor=" + cursor, key: tn.key}).is(200).into(&page)
		if len(a.body) > 4_100_000 {
			t.Fatalf("an answer of %d bytes", len(a.body))
		}
		for _, e := range page.Items {
			seen[e.Permission+" "+e.Role] = true
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if len(cursor) > 1024 {
			t.Fatalf("a cursor of %d bytes", len(cursor))
		}
	}
	if len(seen) != permissions*holders || pages < permissions*holders/1000-1 {
		t.Errorf("%d grants in %d pages", len(seen), pages+1)
	}
}
