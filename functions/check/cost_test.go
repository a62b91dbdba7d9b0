package check_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/write/writetest"
)

func (a answer) cost(want string) {
	a.t.Helper()
	a.result()
	if got := a.header.Get("X-Warden-Cost"); got != want {
		a.t.Errorf("cost %q, want %q", got, want)
	}
}

// What a check costs does not depend on how many subjects the scope has.
func TestCosts(t *testing.T) {
	for _, subjects := range []int{10, 1000} {
		t.Run(fmt.Sprint(subjects), func(t *testing.T) {
			w := writetest.New(t)
			a := w.Provision("acme", nil)
			a.Permission("invoice", "read", rbac.Allow)
			a.Role("reader", []string{"invoice:read"})
			for i := range subjects {
				a.Assign(fmt.Sprintf("s%d", i), "reader")
			}
			s := serve(w)
			s.ask(a.Text, read("s0")).cost("ops=1; rru=1.5; wru=0") // cold
			s.ask(a.Text, read("s1")).cost("ops=1; rru=0.5; wru=0") // key and HEAD cached
			s.ask(a.Text, read("nobody")).cost("ops=1; rru=0.5; wru=0")
			for _, subject := range []string{"s0", "s1", "nobody"} {
				s.ask(a.Text, read(subject)).cost("ops=0; rru=0; wru=0") // all cached
			}
			s.ask(a.Text, read("s0").strong()).cost("ops=1; rru=6; wru=0")
			w.Clock.Advance(2*time.Second + 1)
			s.ask(a.Text, read("s0")).cost("ops=1; rru=1.5; wru=0") // all too old
		})
	}
}

func TestCostOfBatches(t *testing.T) {
	w := writetest.New(t)
	a := w.Provision("acme", nil)
	a.Permission("invoice", "read", rbac.Allow)
	a.Role("reader", []string{"invoice:read"})
	var qs []question
	for i := range 1000 {
		subject := fmt.Sprintf("s%d", i%100)
		if i < 100 {
			a.Assign(subject, "reader")
		}
		qs = append(qs, question{Scope: "acme", Subject: subject, Resource: fmt.Sprintf("r%d", i/200), Action: "read"})
	}
	s := serve(w)
	for _, want := range []string{"ops=2; rru=51; wru=0", "ops=0; rru=0; wru=0"} {
		batch := s.askAll(a.Text, qs)
		batch.results()
		if got := batch.header.Get("X-Warden-Cost"); got != want {
			t.Errorf("1,000 checks over 100 subjects cost %q, want %q", got, want)
		}
	}
	for i := range qs {
		qs[i].Consistency = "strong"
	}
	if got := s.askAll(a.Text, qs).header.Get("X-Warden-Cost"); got != "ops=2; rru=208; wru=0" { // 98 and 2 documents, each with HEAD and key
		t.Errorf("strong: %q", got)
	}
}

// A stale document costs one snapshot of what the process lacks, and no more
// once the definitions are cached.
func TestCostOfStaleDocuments(t *testing.T) {
	w, a := acme(t)
	a.Role("reader", []string{"invoice:read", "*:read"})
	s := serve(w)
	s.ask(a.Text, read("reader")).cost("ops=2; rru=5.5; wru=0") // the rest, then HEAD and the role that changed
	s.ask(a.Text, read("reader")).cost("ops=0; rru=0; wru=0")
	elsewhere := serveTable(w, w.Table)
	elsewhere.checker.Snapshots.Cache = newDefinitions()
	elsewhere.ask(a.Text, read("reader")).cost("ops=3; rru=11.5; wru=0") // HEAD and the role, HEAD and its two permissions
	elsewhere.ask(a.Text, read("reader")).cost("ops=0; rru=0; wru=0")
	elsewhere.ask(a.Text, read("heir")).cost("ops=2; rru=4.5; wru=0") // HEAD and one role more
}

func TestRevokedKey(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	s.ask(a.Text, read("reader")).result()
	a.Revoke()
	w.Clock.Advance(2 * time.Second)
	s.ask(a.Text, read("reader")).result() // still believed: it was read 2 s ago
	s.ask(a.Text, read("reader").strong()).problem(401, "unauthenticated")
	s.askAll(a.Text, []question{read("reader"), read("reader").strong()}).problem(401, "unauthenticated")
	w.Clock.Advance(1)
	s.ask(a.Text, read("reader")).problem(401, "unauthenticated")
	s.post("/v1/access/check", a.Text, "{").problem(401, "unauthenticated") // and learns nothing of its body
}

func TestKeys(t *testing.T) {
	w, a := acme(t)
	end := writetest.Start.Add(time.Second)
	short := w.Provision("short", func(k *entity.APIKey) { k.ExpiresAt = &end })
	writer := w.Provision("writer", func(k *entity.APIKey) { k.Permissions = []entity.Right{entity.RightAdminWrite} })
	s := serve(w)
	q := question{Scope: "short", Subject: "owner", Resource: "x", Action: "y"}
	s.ask(short.Text, q).result()
	w.Clock.Advance(time.Second)
	s.ask(short.Text, q).problem(401, "unauthenticated")

	q.Scope = "writer"
	for _, q := range []question{q, q, q.strong()} {
		s.ask(writer.Text, q).problem(403, "forbidden")
		s.askAll(writer.Text, []question{q}).problem(403, "forbidden")
	}
	s.post("/v1/access/check", writer.Text, "{").problem(403, "forbidden")
	writer.Edit(func(k *entity.APIKey) { k.Permissions = []entity.Right{entity.RightCheck} })
	s.ask(writer.Text, q.strong()).result()

	for name, key := range map[string]string{
		"none": "", "garbage": "x", "typo": a.Text[:len(a.Text)-1] + "!", "cut off": a.Text[:len(a.Text)-2],
		"another's secret": a.Text[:9] + short.Text[9:25] + a.Text[25:], "prefix alone": "wdn_live_", "operator prefix": "wdn_operator_",
	} {
		r := s.ask(key, read("reader"))
		r.problem(401, "unauthenticated")
		if r.header.Get("WWW-Authenticate") != "Bearer" || r.header.Get("X-Warden-Cost") != "ops=0; rru=0; wru=0" {
			t.Errorf("%s: %v", name, r.header)
		}
		if strong := s.ask(key, read("reader").strong()); strong.header.Get("X-Warden-Cost") != "ops=0; rru=0; wru=0" {
			t.Errorf("%s, strong: %v", name, strong.header)
		}
	}
}

// What a check of another tenant's scope costs is what one of no scope costs,
// whatever is in there, whoever asked before and whatever was written meanwhile.
func TestCostTellsNothingOfOthers(t *testing.T) {
	w := writetest.New(t)
	victim, curious := w.Provision("victim", nil), w.Provision("curious", nil)
	victim.Permission("invoice", "read", rbac.Allow)
	var many []string
	for i := range 300 {
		id := fmt.Sprintf("resource-%d:some-action", i)
		victim.PermissionAs(id, fmt.Sprintf("resource-%d", i), "some-action", rbac.Allow)
		many = append(many, id)
	}
	victim.Role("large", many)
	victim.Assign("alice", "large")
	s := serve(w)
	in := func(scope, subject string, strong bool) question {
		q := question{Scope: scope, Subject: subject, Resource: "invoice", Action: "read"}
		if strong {
			q.Consistency = "strong"
		}
		return q
	}
	same := func(when string) {
		t.Helper()
		for _, strong := range []bool{false, true} {
			foreign, none := s.ask(curious.Text, in("victim", "alice", strong)), s.ask(curious.Text, in("nowhere", "alice", strong))
			if f, n := foreign.header.Get("X-Warden-Cost"), none.header.Get("X-Warden-Cost"); f != n || f == "" {
				t.Errorf("%s, strong %v: foreign %s, missing %s", when, strong, f, n)
			}
			all := []question{in("victim", "alice", strong), in("curious", "owner", strong)}
			f := s.askAll(curious.Text, all).header.Get("X-Warden-Cost")
			all[0].Scope = "nowhere"
			if n := s.askAll(curious.Text, all).header.Get("X-Warden-Cost"); f != n {
				t.Errorf("%s, batch, strong %v: foreign %s, missing %s", when, strong, f, n)
			}
		}
	}
	same("cold")
	same("again")
	s.ask(victim.Text, in("victim", "alice", false)).result()
	same("after the tenant asked")
	victim.Assign("alice", "admin")
	same("after the tenant wrote")
	forged := s.ask(victim.Text[:len(victim.Text)-1]+"x", in("victim", "alice", false))
	if got := forged.header.Get("X-Warden-Cost"); got != "ops=0; rru=0; wru=0" {
		t.Errorf("a key that fails its checksum costs %s", got)
	}
}
