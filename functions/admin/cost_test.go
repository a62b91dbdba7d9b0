package admin_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/httpapi"
)

// costRow is a row of the catalogue's costs: route, operations, read and write units.
var costRow = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| ([0-9]+) \\| ([0-9.]+) \\| ([0-9.]+) \\|$")

// Every route costs what the catalogue says.
func TestCosts(t *testing.T) {
	text, err := os.ReadFile("../../shared/DOMAIN_MODELS.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range costRow.FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = fmt.Sprintf("ops=%s; rru=%s; wru=%s", m[2], m[3], m[4])
	}
	routes(t, every, func(f *fixture, r *httpapi.Route, s sample) {
		f.over(f.store) // a process that has cached nothing
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		if got := f.do(req).is(s.Status).header.Get("X-Warden-Cost"); got != want[r.Name] {
			f.Errorf("%s; the catalogue says %s", got, want[r.Name])
		}
	})
	if got := len(newWorld(t).router.Routes()); len(want) != got {
		t.Errorf("the catalogue has %d routes, there are %d", len(want), got)
	}
}

func TestAnIdempotencyKeyAddsTwoWrites(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	req := request{method: "POST", path: scopePath(tn.scope, "policies", "bob", "roles"), key: tn.key, body: `{"role":"reader"}`}
	plain := tn.do(req).is(201).header.Get("X-Warden-Cost")
	req.path = scopePath(tn.scope, "policies", "carl", "roles")
	if got := tn.do(keyed(req, "k")).is(201).header.Get("X-Warden-Cost"); got != "ops=5; rru=10; wru=16" || plain != "ops=4; rru=10; wru=12" {
		t.Errorf("%s, without %s", got, plain)
	}
	if got := tn.do(keyed(req, "k")).is(201).header.Get("X-Warden-Cost"); got != "ops=3; rru=2; wru=2" {
		t.Errorf("again: %s", got)
	}
}

// What a request costs does not depend on how many others there are.
func TestCostsDoNotGrowWithTheScope(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	req := func(subject string) request {
		return request{method: "POST", path: scopePath(tn.scope, "policies", subject, "roles"), key: tn.key, body: `{"role":"reader"}`}
	}
	few := tn.do(req("a-1")).is(201).header.Get("X-Warden-Cost")
	for i := range 20 {
		body := strings.ReplaceAll(batch(100, `[{"role":"reader"}]`), "s-", fmt.Sprintf("s-%d-", i))
		tn.in("POST", `{"policies":`+body+`}`, "policies", "batch").is(200)
	}
	if many := tn.do(req("a-2")).is(201).header.Get("X-Warden-Cost"); many != few {
		t.Errorf("%s, among few %s", many, few)
	}
}
