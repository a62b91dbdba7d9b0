package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// writer is one client in the storm: it writes its own subject's policy again
// and again, and knows what was acknowledged.
type writer struct {
	subject      string
	acknowledged string // the role of the last acknowledged write; empty: the policy was deleted, or never was
	attempted    string // that of the one whose answer never came
	open         bool   // there is such a one
}

// Every write that was acknowledged before a kill is there after it, none is
// half there, and checks agree with the policies.
func TestKilledInAWriteStorm(t *testing.T) {
	data := t.TempDir()
	roles := []string{"a", "b"}
	p := run(t, data, "WARDEN_OPERATOR_KEY="+operatorKey)
	acme := p.client(operatorKey).provision("acme")
	for _, role := range roles {
		acme.do("PUT", "/v1/scopes/acme/permissions/p"+role, object{"resource": role, "action": "do", "effect": "allow"}).want(201)
		acme.do("PUT", "/v1/scopes/acme/roles/"+role, object{"permissions": []string{"p" + role}}).want(201)
	}
	writers := make([]*writer, 8)
	for i := range writers {
		writers[i] = &writer{subject: fmt.Sprintf("s%d", i)}
	}
	for round := range 3 {
		storm(t, p, acme, writers, roles, uint64(round))
		p = run(t, data, "WARDEN_OPERATOR_KEY="+operatorKey)
		acme = p.client(acme.key)
		for _, w := range writers {
			w.settle(t, acme, roles)
		}
	}
	p.stop(syscall.SIGTERM)
}

// storm writes until the process is killed in the middle of it.
func storm(t *testing.T, p *process, acme *client, writers []*writer, roles []string, seed uint64) {
	t.Helper()
	const enough = 200 // acknowledged writes
	var count atomic.Int64
	killed := make(chan struct{})
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for {
				role := ""
				if r.IntN(4) > 0 {
					role = one(r, roles)
				}
				if !w.write(acme, role) {
					return
				}
				if count.Add(1) == enough {
					close(killed)
				}
			}
		})
	}
	<-killed
	p.stop(syscall.SIGKILL)
	wg.Wait()
}

// write is false when the answer did not come.
func (w *writer) write(acme *client, role string) bool {
	method, body := http.MethodPut, any(object{"roles": []object{{"role": role}}})
	if role == "" {
		method, body = http.MethodDelete, nil
	}
	w.attempted, w.open = role, true
	r, err := acme.call(context.Background(), method, "/v1/scopes/acme/policies/"+w.subject, body)
	if err != nil {
		return false
	}
	w.open = false
	switch {
	case r.status < 300, r.status == http.StatusNotFound && role == "":
		w.acknowledged = role
	default:
		acme.t.Errorf("%s: %d %s", r.asked, r.status, r.body)
	}
	return true
}

// settle holds what is there now to what the writer knows.
func (w *writer) settle(t *testing.T, acme *client, roles []string) {
	t.Helper()
	found := ""
	switch r := acme.do("GET", "/v1/scopes/acme/policies/"+w.subject, nil); r.status {
	case http.StatusOK:
		var policy struct {
			Roles []struct {
				Role string `json:"role"`
			} `json:"roles"`
		}
		if r.into(&policy); len(policy.Roles) != 1 {
			t.Fatalf("%s: %s", w.subject, r.body)
		}
		found = policy.Roles[0].Role
	case http.StatusNotFound:
	default:
		t.Fatalf("%d %s", r.status, r.body)
	}
	if found != w.acknowledged && (!w.open || found != w.attempted) {
		t.Errorf("%s has %q; acknowledged was %q, and %q without an answer (%v)", w.subject, found, w.acknowledged, w.attempted, w.open)
	}
	for _, role := range roles {
		members := acme.do("GET", "/v1/scopes/acme/roles/"+role+"/subjects", nil).want(200)
		var page struct {
			Items []struct {
				Subject string `json:"subject"`
			} `json:"items"`
		}
		members.into(&page)
		is := false
		for _, m := range page.Items {
			is = is || m.Subject == w.subject
		}
		if is != (role == found) {
			t.Errorf("%s has %q, and is among the subjects of %q: %v", w.subject, found, role, is)
		}
		want := map[bool]string{true: "allowed", false: "no-matching-permission"}[role == found]
		if found == "" {
			want = "no-policy"
		}
		for _, consistency := range []string{"default", "strong"} {
			if v := acme.check(question{Scope: "acme", Subject: w.subject, Resource: role, Action: "do", Consistency: consistency}); v.Reason != want {
				t.Errorf("%s has %q and may %q: %s", w.subject, found, role, v.Reason)
			}
		}
	}
	w.acknowledged, w.open = found, false
}
