package write_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

func subject(s string) rbac.SubjectID { return rbac.Must(rbac.ParseSubjectID(s)) }

func grants(roles ...string) []write.Grant {
	out := make([]write.Grant, len(roles))
	for i, r := range roles {
		out[i].Role = rbac.Must(rbac.ParseRoleID(r))
	}
	return out
}

func (w *world) putPolicy(u string, roles ...string) (write.Outcome, error) {
	return w.writer.PutPolicy(w.ctx, w.request(), w.scope, subject(u), grants(roles...), nil)
}

// members are the subjects that hold a role, by its items.
func (w *world) members(r string) string {
	w.t.Helper()
	var ids []string
	must(w.t, stored.All(w.ctx, w.table, keys.RoleMembers(w.scope.ID, role(r).ID), func(m stored.Row[entity.RoleMember]) bool {
		ids = append(ids, m.Entity.Subject.String())
		return true
	}))
	return strings.Join(ids, " ")
}

func (w *world) document(u string) (*table.Item, access.View) {
	w.t.Helper()
	it, err := w.table.Get(w.ctx, keys.Access(w.scope.ID, subject(u)).Raw(), table.Strong)
	must(w.t, err)
	v, err := access.Parse(it.Blob)
	must(w.t, err)
	return it, v
}

func TestPolicyKeepsMembersAndScopes(t *testing.T) {
	w := newWorld(t)
	for _, r := range []string{"a", "b", "c"} {
		w.mustRole(r)
	}
	where := keys.SubjectScope(w.scope.Org, subject("u"), w.scope.ID)
	step := func(what, a, b, c string, inScope bool) {
		t.Helper()
		if w.members("a") != a || w.members("b") != b || w.members("c") != c {
			t.Errorf("%s: members %q, %q, %q", what, w.members("a"), w.members("b"), w.members("c"))
		}
		if _, it, _ := stored.Get(w.ctx, w.table, where, table.Strong); (it != nil) != inScope {
			t.Errorf("%s: in scope: %v", what, it != nil)
		}
	}
	_, err := w.putPolicy("u", "a", "b")
	must(t, err)
	step("put", "u", "u", "", true)
	_, err = w.putPolicy("u", "c", "b")
	must(t, err)
	step("replaced", "", "u", "u", true)
	_, err = w.writer.RevokeRole(w.ctx, w.request(), w.scope, subject("u"), role("b").ID, nil)
	must(t, err)
	step("revoked", "", "", "u", true)
	_, err = w.putPolicy("u")
	must(t, err)
	step("emptied", "", "", "", true)
	_, err = w.writer.DeletePolicy(w.ctx, w.request(), w.scope, subject("u"), nil)
	must(t, err)
	step("deleted", "", "", "", false)
}

func TestVersionsNeverRestart(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	last := uint64(0)
	for range 3 {
		out, err := w.putPolicy("u", "r")
		must(t, err)
		doc, _ := w.document("u")
		if out.Item.Version <= last || doc.Version != out.Item.Version {
			t.Fatalf("policy %d, document %d, before %d", out.Item.Version, doc.Version, last)
		}
		_, err = w.writer.DeletePolicy(w.ctx, w.request(), w.scope, subject("u"), nil)
		must(t, err)
		tomb, v := w.document("u")
		if tomb.Version <= doc.Version || v.InForce(time.Now()) {
			t.Fatalf("tombstone version %d after %d", tomb.Version, doc.Version)
		}
		last = tomb.Version
	}
}

func TestPolicyRefusals(t *testing.T) {
	w := newWorld(t)
	_, err := w.putPolicy("u", "admin", "ghost")
	refusedAs(t, err, fault.UnknownReference, `roles[1].role: no such role: "ghost"`)
	_, err = w.writer.DeletePolicy(w.ctx, w.request(), w.scope, subject("u"), nil)
	refusedAs(t, err, fault.NotFound)
	_, err = w.writer.RevokeRole(w.ctx, w.request(), w.scope, subject("u"), role("admin").ID, nil)
	refusedAs(t, err, fault.NotFound)
	var many []string
	for i := range rbac.MaxRolesPerPolicy + 1 {
		r := fmt.Sprintf("r%d", i)
		w.mustRole(r)
		many = append(many, r)
	}
	_, err = w.putPolicy("u", many...)
	refusedAs(t, err, fault.LimitExceeded, "roles a policy")
	_, err = w.putPolicy("u", many[1:]...)
	must(t, err)
	_, err = w.writer.AssignRole(w.ctx, w.request(), w.scope, subject("u"), grants(many[0])[0], nil)
	refusedAs(t, err, fault.LimitExceeded, "roles a policy")
	other := make([]string, rbac.MaxRolesPerPolicy) // all of 40 replaced fits into one transaction
	for i := range other {
		other[i] = fmt.Sprintf("s%d", i)
		w.mustRole(other[i])
	}
	_, err = w.putPolicy("u", other...)
	must(t, err)
}

func TestAssignReplacesTheExpiry(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	soon := time.Now().Add(time.Hour)
	assign := func(until time.Time) write.Outcome {
		t.Helper()
		g := grants("r")[0]
		if !until.IsZero() {
			g.Expiry = rbac.ExpiresAt(until)
		}
		out, err := w.writer.AssignRole(w.ctx, w.request(), w.scope, subject("u"), g, nil)
		must(t, err)
		return out
	}
	if out := assign(time.Time{}); out.Replaced || !out.Created {
		t.Errorf("first: %+v", out)
	}
	if out := assign(soon); !out.Replaced || out.Unchanged {
		t.Errorf("with an expiry: %+v", out)
	}
	if out := assign(soon); !out.Unchanged || !out.Replaced {
		t.Errorf("the same again: %+v", out)
	}
	assign(soon.Add(-2 * time.Hour)) // in the past: accepted, and over
	if got := w.ask("u", "a", "x", true); got != rbac.ReasonNoPolicy {
		t.Errorf("got %s", got)
	}
}

func TestConcurrentAssignmentsAllHold(t *testing.T) {
	w := newWorld(t)
	const n = 12
	for i := range n {
		w.mustRole(fmt.Sprintf("r%d", i))
	}
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			for { // a writer that is told to come back does
				_, errs[i] = w.writer.AssignRole(w.ctx, w.request(), w.scope, subject("u"), grants(fmt.Sprintf("r%d", i))[0], nil)
				if fault.CodeOf(errs[i]) != fault.Busy {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		must(t, err)
	}
	p, _, err := stored.Get(w.ctx, w.table, keys.Policy(w.scope.ID, subject("u")), table.Strong)
	must(t, err)
	if len(p.Assignments) != n {
		t.Errorf("%d of %d assignments hold", len(p.Assignments), n)
	}
}
