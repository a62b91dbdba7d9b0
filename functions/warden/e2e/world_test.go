package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// worldSeed is the first of the seeds; a failure names its own.
var worldSeed = flag.Uint64("world-seed", 1, "seed of the first random world")

// The names that random worlds draw from: few, so that they meet, and hostile.
var (
	subjects  = []string{"alice", "Alice", "auth0|5f7", "alice@example.com", "svc#7", "arn:aws:iam::1:user/x", "Zoë", "Zoe\u0308", "a b", "%2F", "..a", "~x", "🙂", strings.Repeat("é", 128)}
	resources = []string{"invoice", "Invoice", "inv*", "*", "a:b", "a", "#", "a/b", "\u200b", strings.Repeat("r", 256)}
	actions   = []string{"read", "*", "b:c", "c", "write ", "läs", "%", strings.Repeat("x", 128)}
	roles     = []string{"reader", "Reader", "r#1", "a/b", "admin2", "roles", "batch", "ρόλος", "~cg", strings.Repeat("R", 128)}
	permits   = []string{"p", "p:q", "P", "%23", "p p", "*", "ид", "permissions", strings.Repeat("p", 128)}
)

// definition is a permission as the oracle has it.
type permit struct {
	resource, action string
	deny             bool
}

type heldRole struct{ permissions, inherits []string }

// oracle is one scope in plain texts, and answers by the words of the contract.
type oracle struct {
	permissions map[string]permit
	roles       map[string]heldRole
	policies    map[string][]string // roles by subject; a subject without one is not in it
}

func (o *oracle) answer(subject, resource, action string) string {
	held := o.policies[subject]
	if len(held) == 0 {
		return "no-policy"
	}
	allow, deny := false, false
	for _, role := range o.closure(held) {
		for _, id := range o.roles[role].permissions {
			p := o.permissions[id]
			if (p.resource == "*" || p.resource == resource) && (p.action == "*" || p.action == action) {
				allow, deny = allow || !p.deny, deny || p.deny
			}
		}
	}
	switch {
	case deny:
		return "explicit-deny"
	case allow:
		return "allowed"
	}
	return "no-matching-permission"
}

// closure is the roles and all that they inherit.
func (o *oracle) closure(from []string) []string {
	var all []string
	for todo := slices.Clone(from); len(todo) > 0; todo = todo[1:] {
		if !slices.Contains(all, todo[0]) {
			all = append(all, todo[0])
			todo = append(todo, o.roles[todo[0]].inherits...)
		}
	}
	return all
}

// uses says whether a definition is used: what keeps it from being deleted.
func (o *oracle) permissionUsed(id string) bool {
	for _, r := range o.roles {
		if slices.Contains(r.permissions, id) {
			return true
		}
	}
	return false
}

func (o *oracle) roleUsed(id string) bool {
	for _, r := range o.roles {
		if slices.Contains(r.inherits, id) {
			return true
		}
	}
	for _, held := range o.policies {
		if slices.Contains(held, id) {
			return true
		}
	}
	return false
}

// player makes random changes through the API, and the same in the oracle.
type player struct {
	*oracle
	*client
	*rand.Rand
	path, scope string
	last        string // the revision of the last change
}

func one[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// some draws up to n of what there is, without doubles.
func some(r *rand.Rand, from []string, n int) []string {
	picked := []string{}
	for _, i := range r.Perm(len(from))[:min(len(from), r.IntN(n+1))] {
		picked = append(picked, from[i])
	}
	return picked
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// change sends one request whose status the oracle knows.
func (p *player) change(status int, method, path string, body any) {
	p.t.Helper()
	r := p.do(method, p.path+path, body).want(status)
	if status < 300 {
		if p.last = r.header.Get("X-Warden-Revision"); p.last == "" {
			p.t.Fatalf("%s %s: no revision", method, path)
		}
	}
}

func existed(was bool) int {
	if was {
		return http.StatusOK
	}
	return http.StatusCreated
}

func (p *player) step() {
	p.t.Helper()
	switch p.IntN(12) {
	case 0, 1, 2:
		p.putPermission()
	case 3, 4, 5:
		p.putRole()
	case 6:
		p.deletePermission()
	case 7:
		p.deleteRole()
	case 8:
		p.deletePolicy()
	case 9:
		p.revoke()
	default:
		p.assign()
	}
}

func (p *player) putPermission() {
	p.t.Helper()
	id := one(p.Rand, permits)
	want := permit{one(p.Rand, resources), one(p.Rand, actions), p.IntN(4) == 0}
	_, was := p.permissions[id]
	effect := map[bool]string{true: "deny", false: "allow"}[want.deny]
	p.change(existed(was), "PUT", "/permissions/"+seg(id), object{"resource": want.resource, "action": want.action, "effect": effect})
	p.permissions[id] = want
}

func (p *player) putRole() {
	p.t.Helper()
	id := one(p.Rand, roles)
	want := heldRole{some(p.Rand, sorted(p.permissions), 4), some(p.Rand, sorted(p.roles), 2)}
	_, was := p.roles[id]
	status := existed(was)
	if slices.Contains(p.closure(want.inherits), id) {
		status = http.StatusUnprocessableEntity
	}
	p.change(status, "PUT", "/roles/"+seg(id), object{"permissions": want.permissions, "inherits": want.inherits})
	if status < 300 {
		p.roles[id] = want
	}
}

func (p *player) deletePermission() {
	p.t.Helper()
	id := one(p.Rand, permits)
	_, was := p.permissions[id]
	p.change(deletion(was, p.permissionUsed(id)), "DELETE", "/permissions/"+seg(id), nil)
	if was && !p.permissionUsed(id) {
		delete(p.permissions, id)
	}
}

func (p *player) deleteRole() {
	p.t.Helper()
	id := one(p.Rand, roles)
	_, was := p.roles[id]
	p.change(deletion(was, p.roleUsed(id)), "DELETE", "/roles/"+seg(id), nil)
	if was && !p.roleUsed(id) {
		delete(p.roles, id)
	}
}

func deletion(was, used bool) int {
	switch {
	case !was:
		return http.StatusNotFound
	case used:
		return http.StatusConflict
	}
	return http.StatusNoContent
}

func (p *player) assign() {
	p.t.Helper()
	u := one(p.Rand, subjects)
	held, was := p.policies[u]
	if len(p.roles) > 0 && p.IntN(2) == 0 {
		role := one(p.Rand, sorted(p.roles))
		if slices.Contains(held, role) {
			p.change(http.StatusOK, "POST", "/policies/"+seg(u)+"/roles", object{"role": role})
			return
		}
		p.change(http.StatusCreated, "POST", "/policies/"+seg(u)+"/roles", object{"role": role})
		p.policies[u] = append(slices.Clone(held), role)
		return
	}
	want := some(p.Rand, sorted(p.roles), 3)
	body := []object{}
	for _, role := range want {
		body = append(body, object{"role": role})
	}
	p.change(existed(was), "PUT", "/policies/"+seg(u), object{"roles": body})
	p.policies[u] = want
}

func (p *player) revoke() {
	p.t.Helper()
	u, role := one(p.Rand, subjects), one(p.Rand, roles)
	held := p.policies[u]
	at := slices.Index(held, role)
	if at < 0 {
		p.change(http.StatusNotFound, "DELETE", "/policies/"+seg(u)+"/roles/"+seg(role), nil)
		return
	}
	r := p.do("DELETE", p.path+"/policies/"+seg(u)+"/roles/"+seg(role), nil)
	if r.status != http.StatusOK && r.status != http.StatusNoContent {
		p.t.Fatalf("%s: %d %s", r.asked, r.status, r.body)
	}
	p.last = r.header.Get("X-Warden-Revision")
	p.policies[u] = slices.Delete(slices.Clone(held), at, at+1)
}

func (p *player) deletePolicy() {
	p.t.Helper()
	u := one(p.Rand, subjects)
	_, was := p.policies[u]
	p.change(deletion(was, false), "DELETE", "/policies/"+seg(u), nil)
	delete(p.policies, u)
}

// ask asks n random questions, each singly and all in one batch.
func (p *player) ask(n int) {
	p.t.Helper()
	var qs []question
	var want []string
	for range n {
		q := question{Scope: p.scope, Subject: one(p.Rand, subjects), Resource: one(p.Rand, resources), Action: one(p.Rand, actions)}
		switch p.IntN(4) {
		case 0:
			q.Consistency = "strong"
		case 1:
			q.AtLeast = p.last
		}
		q.Explain = p.IntN(4) == 0
		qs, want = append(qs, q), append(want, p.answer(q.Subject, q.Resource, q.Action))
	}
	for i, v := range p.checkAll(qs) {
		p.hold(qs[i], v, want[i])
		p.hold(qs[i], p.check(qs[i]), want[i])
	}
}

func (p *player) hold(q question, v verdict, want string) {
	p.t.Helper()
	if v.Reason != want || v.Allowed != (want == "allowed") {
		p.t.Errorf("%+v: %+v, want %s", q, v, want)
	}
	matches := want == "allowed" || want == "explicit-deny"
	if q.Explain && (len(v.Matched) > 0) != matches {
		p.t.Errorf("%+v: explained by %+v", q, v.Matched)
	}
	for _, m := range v.Matched {
		if !slices.Contains(p.policies[q.Subject], m.Role) || !slices.Contains(p.closure([]string{m.Role}), append([]string{m.Role}, m.Via...)[len(m.Via)]) {
			p.t.Errorf("%+v: explained by %+v, which is not so", q, m)
		}
	}
}

// Random changes through the API, with hostile names, and random questions in
// between: the server agrees with a naive oracle at every consistency.
func TestRandomWorlds(t *testing.T) {
	c, _ := start(t, t.TempDir())
	for i := range uint64(6) {
		seed := *worldSeed + i
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			scope := fmt.Sprintf("%s %d", one(r, []string{"acme", "a#b", "a/b", "Ünï", "%23"}), seed)
			inTest := &client{t: t, url: c.url, key: c.key}
			p := &player{
				oracle: &oracle{map[string]permit{}, map[string]heldRole{}, map[string][]string{}},
				client: inTest.provision(scope), Rand: r, path: "/v1/scopes/" + seg(scope), scope: scope,
			}
			// What provisioning made.
			p.permissions["*:*"] = permit{resource: "*", action: "*"}
			p.roles["admin"] = heldRole{permissions: []string{"*:*"}}
			p.policies["owner"] = []string{"admin"}
			for range 120 {
				p.step()
				p.ask(3)
				if t.Failed() {
					t.Fatalf("rerun with -world-seed %d", seed)
				}
			}
		})
	}
}
