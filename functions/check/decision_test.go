package check_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write/writetest"
)

func read(subject string) question {
	return question{Scope: "acme", Subject: subject, Resource: "invoice", Action: "read"}
}

func (q question) strong() question {
	q.Consistency = "strong"
	return q
}

func (q question) atLeast(revision string) question {
	q.AtLeast = revision
	return q
}

// acme is a tenant whose subjects hold, by their names, what the tests need.
func acme(t *testing.T) (*writetest.World, *writetest.Tenant) {
	t.Helper()
	w := writetest.New(t)
	a := w.Provision("acme", nil)
	a.Permission("invoice", "read", rbac.Allow)
	a.Permission("invoice", "*", rbac.Allow)
	a.Permission("*", "read", rbac.Allow)
	a.Permission("invoice", "read", rbac.Deny)
	a.Permission("inv*", "read", rbac.Allow)
	a.Role("reader", []string{"invoice:read"})
	a.Role("biller", []string{"invoice:*"})
	a.Role("viewer", []string{"*:read"})
	a.Role("barred", []string{"!invoice:read"})
	a.Role("prefix", []string{"inv*:read"})
	a.Role("heir", nil, "reader")
	a.Role("barred-heir", nil, "heir", "barred")
	a.Role("nothing", nil)
	for _, role := range []string{"reader", "biller", "viewer", "barred", "prefix", "heir", "barred-heir", "nothing"} {
		a.Assign(role, role)
	}
	a.AssignUntil("over", "reader", writetest.Start)
	a.Assign("left", "reader")
	a.DeletePolicy("left")
	return w, a
}

func TestReasons(t *testing.T) {
	w, a := acme(t)
	other := w.Provision("other", nil)
	limited := w.Provision("limited", func(k *entity.APIKey) { k.Scopes = []rbac.ScopeID{rbac.Must(rbac.ParseScopeID("limited"))} })
	beyond := limited.NewScope("beyond")
	a.NewScope("gone").DeleteScope()
	for _, c := range []struct {
		name string
		key  string
		q    question
		want rbac.Reason
	}{
		{"owner", a.Text, question{Scope: "acme", Subject: "owner", Resource: "any", Action: "thing"}, rbac.ReasonAllowed},
		{"exact", a.Text, read("reader"), rbac.ReasonAllowed},
		{"any action", a.Text, read("biller"), rbac.ReasonAllowed},
		{"any resource", a.Text, read("viewer"), rbac.ReasonAllowed},
		{"inherited", a.Text, read("heir"), rbac.ReasonAllowed},
		{"deny", a.Text, read("barred"), rbac.ReasonDenied},
		{"inherited deny beats inherited allow", a.Text, read("barred-heir"), rbac.ReasonDenied},
		{"no match", a.Text, question{Scope: "acme", Subject: "reader", Resource: "invoice", Action: "write"}, rbac.ReasonNoMatch},
		{"a star inside is a plain name", a.Text, read("prefix"), rbac.ReasonNoMatch},
		{"the plain name itself", a.Text, question{Scope: "acme", Subject: "prefix", Resource: "inv*", Action: "read"}, rbac.ReasonAllowed},
		{"a star in the question is a name", a.Text, question{Scope: "acme", Subject: "reader", Resource: "*", Action: "read"}, rbac.ReasonNoMatch},
		{"role without permissions", a.Text, read("nothing"), rbac.ReasonNoMatch},
		{"case counts", a.Text, question{Scope: "acme", Subject: "reader", Resource: "Invoice", Action: "read"}, rbac.ReasonNoMatch},
		{"nobody", a.Text, read("nobody"), rbac.ReasonNoPolicy},
		{"all over", a.Text, read("over"), rbac.ReasonNoPolicy},
		{"policy deleted", a.Text, read("left"), rbac.ReasonNoPolicy},
		{"unknown scope", a.Text, question{Scope: "nowhere", Subject: "reader", Resource: "invoice", Action: "read"}, rbac.ReasonNoPolicy},
		{"deleted scope", a.Text, question{Scope: "gone", Subject: "owner", Resource: "invoice", Action: "read"}, rbac.ReasonNoPolicy},
		{"another org's scope", other.Text, read("reader"), rbac.ReasonNoPolicy},
		{"within the key's scopes", limited.Text, question{Scope: "limited", Subject: "owner", Resource: "x", Action: "y"}, rbac.ReasonAllowed},
		{"outside the key's scopes", limited.Text, question{Scope: beyond.Scope.ID.String(), Subject: "owner", Resource: "x", Action: "y"}, rbac.ReasonNoPolicy},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(w)
			for _, q := range []question{c.q, c.q, c.q.strong(), {Scope: c.q.Scope, Subject: c.q.Subject, Resource: c.q.Resource, Action: c.q.Action, Consistency: "default"}} {
				r := s.ask(c.key, q).result()
				if r.Reason != c.want || r.Revision == "" || r.Matched != nil {
					t.Errorf("%+v: %+v, want %s", q, r, c.want)
				}
				if rs := s.askAll(c.key, []question{q, q}).results(); len(rs) != 2 || !reflect.DeepEqual(rs[0], r) || !reflect.DeepEqual(rs[1], r) {
					t.Errorf("%+v in a batch: %+v, want %+v", q, rs, r)
				}
			}
		})
	}
}

// What is foreign answers exactly as what is missing.
func TestForeignIsMissing(t *testing.T) {
	w, a := acme(t)
	b := w.Provision("other", nil)
	s := serve(w)
	for _, q := range []question{read("reader"), read("reader").strong()} {
		q.Explain = true
		foreign := s.ask(b.Text, q)
		q.Scope = "nowhere"
		missing := s.ask(b.Text, q)
		rf, rm := foreign.result(), missing.result()
		rf.Revision, rm.Revision = "", "" // tokens name their scopes
		if !reflect.DeepEqual(rf, rm) || foreign.header.Get("X-Warden-Cost") == "" {
			t.Errorf("foreign %s, missing %s", foreign.body, missing.body)
		}
		if len(foreign.body) != len(missing.body) {
			t.Errorf("foreign %s and missing %s differ in form", foreign.body, missing.body)
		}
	}
	if r := s.ask(a.Text, read("reader")).result(); !r.Allowed {
		t.Errorf("the tenant itself: %+v", r)
	}
}

func TestExplain(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	reader := match{"invoice:read", "reader", []string{}, "allow"}
	for _, c := range []struct {
		subject string
		want    []match
	}{
		{"reader", []match{reader}},
		{"heir", []match{{"invoice:read", "heir", []string{"reader"}, "allow"}}},
		{"barred-heir", []match{
			{"!invoice:read", "barred-heir", []string{"barred"}, "deny"},
			{"invoice:read", "barred-heir", []string{"heir", "reader"}, "allow"},
		}},
		{"nothing", []match{}},
		{"nobody", []match{}},
	} {
		q := read(c.subject)
		q.Explain = true
		for _, q := range []question{q, q.strong()} {
			if r := s.ask(a.Text, q).result(); !reflect.DeepEqual(r.Matched, c.want) {
				t.Errorf("%s: matched %+v, want %+v", c.subject, r.Matched, c.want)
			}
		}
		both := s.askAll(a.Text, []question{read(c.subject), q}).results()
		if both[0].Matched != nil || !reflect.DeepEqual(both[1].Matched, c.want) {
			t.Errorf("%s in a batch: %+v", c.subject, both)
		}
	}
	a.Permission("invoice", "*", rbac.Deny) // a document made stale is answered from its assignments
	a.Role("reader", []string{"invoice:read", "!invoice:*"})
	q := read("heir").strong()
	q.Explain = true
	want := []match{{"!invoice:*", "heir", []string{"reader"}, "deny"}, {"invoice:read", "heir", []string{"reader"}, "allow"}}
	if r := s.ask(a.Text, q).result(); r.Reason != rbac.ReasonDenied || !reflect.DeepEqual(r.Matched, want) {
		t.Errorf("stale: %+v", r)
	}
}

func TestExpiryIsExact(t *testing.T) {
	w, a := acme(t)
	end := writetest.Start.Add(time.Second)
	a.AssignUntil("temp", "reader", end)
	a.AssignUntil("mixed", "reader", end)
	a.Assign("mixed", "nothing")
	s := serve(w)
	both := func(temp, mixed rbac.Reason) {
		t.Helper()
		for subject, want := range map[string]rbac.Reason{"temp": temp, "mixed": mixed} {
			for _, q := range []question{read(subject), read(subject).strong()} {
				if r := s.ask(a.Text, q).result(); r.Reason != want {
					t.Errorf("%s: %s, want %s", subject, r.Reason, want)
				}
			}
		}
	}
	both(rbac.ReasonAllowed, rbac.ReasonAllowed)
	w.Clock.Advance(time.Second - 1)
	both(rbac.ReasonAllowed, rbac.ReasonAllowed)
	w.Clock.Advance(1) // cached, and over all the same
	both(rbac.ReasonNoPolicy, rbac.ReasonNoMatch)
}

// Two processes: what one caches is at most 2 s behind the other's writes.
func TestAgeOfAnswers(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	want := func(subject string, q question, want rbac.Reason) {
		t.Helper()
		if r := s.ask(a.Text, q).result(); r.Reason != want {
			t.Errorf("%s %s: %s, want %s", subject, q.Consistency, r.Reason, want)
		}
	}
	want("reader", read("reader"), rbac.ReasonAllowed)
	want("nobody", read("nobody"), rbac.ReasonNoPolicy)
	a.DeletePolicy("reader")
	a.Assign("nobody", "reader") // absence is cached too
	a.Role("viewer", nil)
	for _, subject := range []string{"reader", "nobody"} {
		w.Clock.Advance(time.Second - 1)
		before := map[string]rbac.Reason{"reader": rbac.ReasonAllowed, "nobody": rbac.ReasonNoPolicy}[subject]
		want(subject, read(subject), before)
	}
	want("reader", read("reader").strong(), rbac.ReasonNoPolicy)
	want("nobody", read("nobody").strong(), rbac.ReasonAllowed)
	want("viewer", read("viewer").strong(), rbac.ReasonNoMatch)
	w.Clock.Advance(2)
	want("reader", read("reader"), rbac.ReasonAllowed) // read exactly 2 s ago
	w.Clock.Advance(1)
	want("reader", read("reader"), rbac.ReasonNoPolicy)
	want("nobody", read("nobody"), rbac.ReasonAllowed)
	want("viewer", read("viewer"), rbac.ReasonNoMatch)
}

// A role's change shows in all its holders' answers within the same 2 s,
// though no document was written.
func TestDefinitionsReachStaleDocuments(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	for _, subject := range []string{"reader", "heir"} {
		if r := s.ask(a.Text, read(subject)).result(); !r.Allowed {
			t.Fatalf("%s: %+v", subject, r)
		}
	}
	revision := a.Role("reader", nil)
	for _, subject := range []string{"reader", "heir"} {
		if r := s.ask(a.Text, read(subject)).result(); !r.Allowed {
			t.Errorf("%s: a cached answer may be 2 s old: %+v", subject, r)
		}
		if r := s.ask(a.Text, read(subject).atLeast(revision)).result(); r.Reason != rbac.ReasonNoMatch {
			t.Errorf("%s, at least the write: %+v", subject, r)
		}
	}
	w.Clock.Advance(2*time.Second + 1)
	for _, subject := range []string{"reader", "heir"} {
		if r := s.ask(a.Text, read(subject)).result(); r.Reason != rbac.ReasonNoMatch {
			t.Errorf("%s: %+v", subject, r)
		}
	}
}

func TestAtLeast(t *testing.T) {
	w, a := acme(t)
	other := a.NewScope("second")
	s := serve(w)
	s.ask(a.Text, read("nobody")).result() // cached: none
	granted := a.Assign("nobody", "reader")
	r := s.ask(a.Text, read("nobody").atLeast(granted)).result()
	if !r.Allowed {
		t.Errorf("at least its own grant: %+v", r)
	}
	if got := s.ask(a.Text, read("nobody").strong().atLeast(granted)).result(); !got.Allowed {
		t.Errorf("strong and at least: %+v", got)
	}
	// An answer's own revision can be demanded of the next one, which is then
	// answered from what proved it.
	if again := s.ask(a.Text, read("nobody").atLeast(r.Revision)).result(); !again.Allowed {
		t.Errorf("at least an answer: %+v", again)
	}
	// Of another subject a policy's token says no more than its HEAD.
	if got := s.ask(a.Text, read("reader").atLeast(granted)); got.status != http.StatusOK {
		t.Errorf("another subject: %s", got.body)
	}

	for name, text := range map[string]string{
		"none": "", "garbage": "x", "damaged": granted[:len(granted)-1] + "A", "other scope": other.Permission("x", "y", rbac.Allow),
	} {
		p := s.ask2(a.Text, read("nobody"), text).problem(http.StatusUnprocessableEntity, fault.InvalidRevision)
		if len(p.Errors) != 1 || p.Errors[0].Field != "at_least" {
			t.Errorf("%s: %+v", name, p)
		}
		body := encode(t, map[string]any{"checks": []any{read("reader"), withAtLeast(read("nobody"), text)}})
		p = s.post("/v1/access/batch-check", a.Text, body).problem(http.StatusUnprocessableEntity, fault.InvalidRevision)
		if len(p.Errors) != 1 || p.Errors[0].Field != "checks[1].at_least" {
			t.Errorf("%s in a batch: %+v", name, p)
		}
	}
}

// ask2 sends at_least whatever it is, also when it is empty.
func (s *server) ask2(key string, q question, atLeast string) answer {
	s.T.Helper()
	return s.post("/v1/access/check", key, encode(s.T, withAtLeast(q, atLeast)))
}

func withAtLeast(q question, text string) map[string]any {
	return map[string]any{"scope": q.Scope, "subject": q.Subject, "resource": q.Resource, "action": q.Action, "at_least": text}
}

func TestRevisionAheadOfTheTable(t *testing.T) {
	w, _ := acme(t)
	ahead, behind := writetest.New(t), serve(w)
	b := ahead.Provision("acme", nil)
	var token string
	for i := range 20 { // the same scope's name, more writes
		token = b.Permission(fmt.Sprintf("r%d", i), "read", rbac.Allow)
	}
	given := "a key of sixteen bytes and more"
	behind.checker.GivenKey = auth.Hash(given)
	for _, q := range []question{read("reader"), read("reader").strong(), read("nobody")} {
		p := behind.ask(given, q.atLeast(token)).problem(http.StatusConflict, fault.RevisionUnknown)
		if p.Detail == "" {
			t.Errorf("%+v", p)
		}
		behind.askAll(given, []question{read("reader"), q.atLeast(token)}).problem(http.StatusConflict, fault.RevisionUnknown)
	}
}

func TestBatchKeepsOrder(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	var qs []question
	var want []rbac.Reason
	for i := range 1000 {
		q := read([]string{"reader", "barred", "nothing", "nobody"}[i%4])
		if i%7 == 0 {
			q = q.strong()
		}
		q.Explain = i%5 == 0
		qs = append(qs, q)
		want = append(want, []rbac.Reason{rbac.ReasonAllowed, rbac.ReasonDenied, rbac.ReasonNoMatch, rbac.ReasonNoPolicy}[i%4])
	}
	rs := s.askAll(a.Text, qs).results()
	if len(rs) != len(qs) {
		t.Fatalf("%d results", len(rs))
	}
	for i, r := range rs {
		if r.Reason != want[i] || (r.Matched != nil) != qs[i].Explain {
			t.Fatalf("check %d: %+v, want %s", i, r, want[i])
		}
	}
}

func TestOperators(t *testing.T) {
	w, _ := acme(t)
	s := serve(w)
	id := auth.NewKeyID()
	text, hash := auth.NewOperatorKey(id)
	s.ask(text, read("reader")).problem(http.StatusUnauthorized, fault.Unauthenticated)
	w.Put(keys.OperatorKey(id).Raw(), "OperatorKey", 1, entity.OperatorKey{ID: id, Hash: hash})
	w.Clock.Advance(3 * time.Second)
	if r := s.ask(text, read("reader")).result(); !r.Allowed {
		t.Errorf("stored operator: %+v", r)
	}
	if a := s.ask(text, read("reader")); a.header.Get("X-Warden-Cost") != "ops=0; rru=0; wru=0" {
		t.Errorf("a cached operator: %s", a.header)
	}
	given := "wdn_live_is only how this one begins"
	s.ask(given, read("reader")).problem(http.StatusUnauthorized, fault.Unauthenticated)
	s.checker.GivenKey = auth.Hash(given)
	for _, q := range []question{read("reader"), read("reader"), read("reader").strong()} {
		if r := s.ask(given, q).result(); !r.Allowed {
			t.Errorf("given operator: %+v", r)
		}
	}
}
