package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
)

func creates(r *httpapi.Route) bool { return r.Creates }

// keyed is a request with an Idempotency-Key.
func keyed(req request, key string) request {
	req.header = map[string]string{"Idempotency-Key": key}
	return req
}

func TestIdempotency(t *testing.T) {
	routes(t, creates, func(f *fixture, r *httpapi.Route, s sample) {
		req := f.request(r, s, f.org, f.scope)
		req.key = f.right(r)
		first := f.do(keyed(req, "k")).is(s.Status)
		n := len(f.changes())
		again := f.do(keyed(req, "k")).is(s.Status)
		if !bytes.Equal(first.body, again.body) {
			f.Errorf("first %s\nagain %s", first.body, again.body)
		}
		for _, h := range []string{"ETag", "Location", "X-Warden-Revision"} {
			if first.header.Get(h) != again.header.Get(h) {
				f.Errorf("%s: first %q, again %q", h, first.header.Get(h), again.header.Get(h))
			}
		}
		other := req
		if r.Request != nil { // without a body there is nothing else to ask
			other.body = strings.TrimSuffix(req.body, "}") + " }"
			f.do(keyed(other, "k")).problem(http.StatusUnprocessableEntity, "idempotency-key-reused")
		}
		if got := len(f.changes()); got != n {
			f.Errorf("%d changes", got-n)
		}
		if r.ShowsSecret {
			f.holdsNoSecret(first.body)
		}
		// The key is the caller's: another one's request is its own.
		_, second := f.newKey(`["access:check","admin:read","admin:write","webhooks:manage"]`, "")
		if r.Permission != httpapi.OperatorOnly {
			theirs := req
			theirs.key = second
			a := f.do(keyed(theirs, "k"))
			if a.status == http.StatusUnprocessableEntity || bytes.Equal(a.body, first.body) && r.ShowsSecret {
				f.Errorf("another caller: %d %s", a.status, a.body)
			}
		}
		// And it is forgotten after a day.
		f.clock.advance(24 * time.Hour)
		a := f.do(keyed(req, "k"))
		if bytes.Equal(a.body, first.body) && r.ShowsSecret {
			f.Errorf("a day later: %s", a.body)
		}
	})
}

// holdsNoSecret ends the test when the table holds the secret of an answer in
// clear, or keeps the answer unsealed.
func (f *fixture) holdsNoSecret(body []byte) {
	f.Helper()
	key := regexp.MustCompile(`(wdn_live_|whsec_)[^"]+`).FindString(string(body))
	if key == "" {
		f.Fatalf("no key in %s", body)
	}
	kept := 0
	for _, c := range f.changes() {
		if c.New == nil {
			continue
		}
		if bytes.Contains(c.New.Body, []byte(key)) || bytes.Contains(c.New.Blob, []byte(key)) {
			f.Fatalf("%s holds the key in clear", c.New.Key)
		}
		if c.New.Type != "Idempotency" {
			continue
		}
		r, err := stored.Decode[entity.Idempotency](c.New)
		if err != nil {
			f.Fatal(err)
		}
		if r.Done {
			kept++
		}
		if r.Done != r.Sealed || json.Valid(r.Answer) || bytes.Contains(r.Answer, []byte("api")) {
			f.Fatalf("%s keeps %q", c.New.Key, r.Answer)
		}
	}
	if kept != 1 {
		f.Fatalf("%d answers are kept", kept)
	}
}

// An answer that shows a secret opens only for the secret that asked for it.
func TestSealedAnswersOpenForTheirBearerOnly(t *testing.T) {
	tn := newWorld(t).provision("acme")
	id, first := tn.newKey(`["admin:read","admin:write","access:check"]`, "")
	req := keyed(request{method: "POST", path: "/v1/orgs/acme/api-keys", key: first, body: `{"name":"k","permissions":["access:check"]}`}, "k")
	tn.do(req).is(201)
	second := tn.at("POST", "", "api-keys", id, "rotate").is(200).text("key")
	tn.do(req).is(201)
	req.key = second // the same caller
	tn.do(req).problem(422, "idempotency-key-reused")
}

// A request that had nothing to change has its answer kept, too.
func TestAnswersToNoChangeAreKept(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	req := keyed(request{method: "POST", path: scopePath(tn.scope, "policies", "alice", "roles"), key: tn.key, body: `{"role":"reader"}`}, "k")
	tn.do(req).is(200)
	tn.in("DELETE", "", "policies", "alice", "roles", "reader").is(204)
	tn.do(req).is(200)
	tn.in("GET", "", "policies", "alice").is(200).has(map[string]string{"roles": "[]"})
}

// A refusal is not kept: the request may be sent again when its cause is gone.
func TestRefusalsAreNotKept(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	req := keyed(request{method: "POST", path: scopePath(tn.scope, "policies", "bob", "roles"), key: tn.key, body: `{"role":"late"}`}, "k")
	tn.do(req).problem(422, "unknown-reference", "role")
	tn.in("PUT", `{"permissions":[]}`, "roles", "late").is(201)
	tn.do(req).is(201)
	tn.do(req).is(201)
}

func TestIdempotencyKeysAreHeldToTheirForm(t *testing.T) {
	tn := newWorld(t).provision("acme").furnish()
	for _, key := range []string{"", strings.Repeat("k", 256), "a\x7fb", "ключ"} {
		req := keyed(request{method: "POST", path: scopePath(tn.scope, "policies", "bob", "roles"), key: tn.key, body: `{"role":"reader"}`}, key)
		tn.do(req).problem(422, "invalid", "Idempotency-Key")
	}
}

// stop is a table that fails or stops chosen transactions.
type stop struct {
	table.Store
	before, after func(table.Tx) error
}

func (s *stop) Transact(ctx context.Context, tx table.Tx) error {
	if s.before != nil {
		if err := s.before(tx); err != nil {
			return err
		}
	}
	err := s.Store.Transact(ctx, tx)
	if err == nil && s.after != nil {
		err = s.after(tx)
	}
	return err
}

// touches says whether a transaction writes an item of the type.
func touches(tx table.Tx, kind string) bool {
	for _, op := range tx.Ops {
		if op.Item != nil && op.Item.Type == kind {
			return true
		}
	}
	return false
}

// errCrash is an error that nothing recovers from.
var errCrash = errors.New("crash")

// A process that dies between claim and change, or after the change and before
// the answer, neither loses nor doubles it.
func TestCrashes(t *testing.T) {
	for name, c := range map[string]struct {
		after  bool // the change was committed
		waited time.Duration
		status int
	}{
		"before the change, at once":      {false, 0, 409},
		"before the change, a lease on":   {false, time.Minute, 201},
		"after the change, at once":       {true, 0, 201},
		"after the change, a lease later": {true, time.Minute, 201},
	} {
		t.Run(name, func(t *testing.T) {
			tn := newWorld(t).provision("acme").furnish()
			dead := false
			die := func(tx table.Tx) error {
				if dead = dead || touches(tx, "Policy"); dead {
					return errCrash
				}
				return nil
			}
			if c.after {
				tn.over(&stop{Store: tn.store, after: die, before: func(table.Tx) error {
					if dead {
						return errCrash
					}
					return nil
				}})
			} else {
				tn.over(&stop{Store: tn.store, before: die})
			}
			req := keyed(request{method: "POST", path: scopePath(tn.scope, "policies", "bob", "roles"), key: tn.key, body: `{"role":"reader"}`}, "k")
			n := len(tn.changes())
			tn.do(req).problem(500, "internal")
			tn.over(tn.store) // a new process
			tn.clock.advance(c.waited)
			if a := tn.do(req).is(c.status); c.status == 409 {
				a.problem(409, "idempotency-in-progress")
				return
			}
			if got := tn.eventsSince(n); len(got) != 1 {
				t.Errorf("%d events", len(got))
			}
		})
	}
}

// A request that was taken for dead and goes on all the same, takes no effect.
func TestOvertakenRequestsTakeNoEffect(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		more []string
		body string
	}{
		"an assignment": {"Policy", []string{"policies", "bob", "roles"}, `{"role":"reader"}`},
		"a key":         {"APIKey", nil, `{"name":"k","permissions":["access:check"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			tn := newWorld(t).provision("acme").furnish()
			req := keyed(request{method: "POST", path: orgPath(tn.org, "api-keys"), key: tn.key, body: c.body}, "k")
			if c.more != nil {
				req.path = scopePath(tn.scope, c.more...)
			}
			slow, n := &stop{Store: tn.store}, len(tn.changes())
			slow.before = func(tx table.Tx) error {
				if touches(tx, c.kind) {
					slow.before = nil
					tn.clock.advance(2 * time.Minute)
					tn.do(req).is(201)
				}
				return nil
			}
			tn.over(slow)
			tn.do(req).problem(409, "idempotency-in-progress")
			if got := tn.eventsSince(n); len(got) != 1 {
				t.Errorf("%d events", len(got))
			}
		})
	}
}

// together sends requests at the same time and counts the statuses.
func (w *world) together(n int, of func(i int) request) map[int]int {
	w.Helper()
	got, mu := map[int]int{}, sync.Mutex{}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			a := w.do(of(i))
			mu.Lock()
			defer mu.Unlock()
			got[a.status]++
		})
	}
	all.Wait()
	return got
}

func TestNamesAreTakenOnce(t *testing.T) {
	w := newWorld(t)
	tn := w.provision("acme")
	for name, of := range map[string]func(int) request{
		"an org's name": func(int) request {
			return request{method: "POST", path: "/v1/orgs", key: operator, body: `{"name":"Same","owner":"o"}`}
		},
		"an org's id": func(i int) request {
			return request{method: "POST", path: "/v1/orgs", key: operator, body: fmt.Sprintf(`{"id":"same","name":"n%d","owner":"o"}`, i)}
		},
		"a first scope's id": func(i int) request {
			return request{method: "POST", path: "/v1/orgs", key: operator, body: fmt.Sprintf(`{"name":"m%d","owner":"o","scope":{"id":"first","name":"F"}}`, i)}
		},
		"a scope's id": func(int) request {
			return request{method: "POST", path: "/v1/orgs/acme/scopes", key: tn.key, body: `{"id":"s","name":"S"}`}
		},
	} {
		n := len(w.changes())
		got := w.together(20, of)
		if got[201] != 1 || got[409] != 19 {
			t.Errorf("%s: %v", name, got)
		}
		if events := len(w.eventsSince(n)); events != 1 {
			t.Errorf("%s: %d events", name, events)
		}
	}
}

func TestOneKeyHasOneEffect(t *testing.T) {
	tn := newWorld(t).provision("acme")
	n := len(tn.changes())
	req := keyed(request{method: "POST", path: "/v1/orgs/acme/api-keys", key: tn.key, body: `{"name":"k","permissions":["access:check"]}`}, "k")
	got := tn.together(20, func(int) request { return req })
	if got[201] < 1 || got[201]+got[409] != 20 {
		t.Errorf("statuses %v", got)
	}
	if events := len(tn.eventsSince(n)); events != 1 {
		t.Errorf("%d events", events)
	}
	tn.do(req).is(201)
}

// Scopes made together all count.
func TestCountsHoldWhenMadeTogether(t *testing.T) {
	tn := newWorld(t).provision("acme")
	done := 0
	for done < 20 {
		got := tn.together(20-done, func(i int) request {
			return request{method: "POST", path: "/v1/orgs/acme/scopes", key: tn.key, body: fmt.Sprintf(`{"id":"s-%d-%d","name":"S"}`, done, i)}
		})
		if got[201]+got[503] != 20-done || got[201] == 0 {
			t.Fatalf("statuses %v", got)
		}
		done += got[201]
	}
	if got := len(strings.Fields(tn.listOrg("scopes"))); got != 21 {
		t.Errorf("%d scopes", got)
	}
}
