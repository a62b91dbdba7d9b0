package write_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

func perm(id string) entity.Permission {
	resource, action, _ := strings.Cut(id, ":")
	return entity.Permission{Permission: rbac.Permission{
		ID: rbac.Must(rbac.ParsePermissionID(id)), Effect: rbac.Allow,
		Resource: rbac.Must(rbac.ParseResourceID(resource)), Action: rbac.Must(rbac.ParseActionID(action)),
	}}
}

// role makes a wish for a role from permission ids and, after ">", inherited roles.
func role(id string, refs ...string) write.Role {
	r := write.Role{ID: rbac.Must(rbac.ParseRoleID(id))}
	for _, ref := range refs {
		if parent, ok := strings.CutPrefix(ref, ">"); ok {
			r.Inherits = append(r.Inherits, rbac.Must(rbac.ParseRoleID(parent)))
		} else {
			r.Permissions = append(r.Permissions, rbac.Must(rbac.ParsePermissionID(ref)))
		}
	}
	return r
}

func (w *world) putPermission(id string) write.Outcome {
	w.t.Helper()
	out, err := w.writer.PutPermission(w.ctx, w.request(), w.scope, perm(id), nil)
	must(w.t, err)
	return out
}

func (w *world) putRole(id string, refs ...string) (write.Outcome, error) {
	return w.writer.PutRole(w.ctx, w.request(), w.scope, role(id, refs...), nil)
}

func (w *world) mustRole(id string, refs ...string) write.Outcome {
	w.t.Helper()
	out, err := w.putRole(id, refs...)
	must(w.t, err)
	return out
}

func (w *world) assign(subject, r string, until ...time.Time) {
	w.t.Helper()
	g := write.Grant{Role: rbac.Must(rbac.ParseRoleID(r))}
	if len(until) > 0 {
		g.Expiry = rbac.ExpiresAt(until[0])
	}
	_, err := w.writer.AssignRole(w.ctx, w.request(), w.scope, rbac.Must(rbac.ParseSubjectID(subject)), g, nil)
	must(w.t, err)
}

func (w *world) readHead() *head.Head {
	w.t.Helper()
	it, err := w.table.Get(w.ctx, keys.Head(w.scope.ID).Raw(), table.Strong)
	must(w.t, err)
	h, err := head.Decode(it)
	must(w.t, err)
	return h
}

func refusedAs(t *testing.T, err error, code fault.Code, says ...string) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestUnknownReferencesAreNamed(t *testing.T) {
	w := newWorld(t)
	w.putPermission("a:x")
	_, err := w.putRole("r", "a:x", "b:x", ">ghost")
	refusedAs(t, err, fault.UnknownReference, `permissions[1]: no such permission: "b:x"`, `inherits[0]: no such role: "ghost"`)
	if _, it, _ := stored.Get(w.ctx, w.table, keys.Role(w.scope.ID, role("r").ID), table.Strong); it != nil {
		t.Error("a refused role was written")
	}
}

func TestCyclesAreRefusedWithTheirPath(t *testing.T) {
	w := newWorld(t)
	w.mustRole("c")
	w.mustRole("b", ">c")
	w.mustRole("a", ">b")
	_, err := w.putRole("c", ">a")
	refusedAs(t, err, fault.RoleCycle, "c > a > b > c")
	_, err = w.putRole("b", ">b")
	refusedAs(t, err, fault.RoleCycle, "b > b")
	_, err = w.putRole("new", ">new")
	refusedAs(t, err, fault.RoleCycle, "new > new")
}

func TestInheritanceLimitsLookUpwards(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r0")
	for i := 1; i <= rbac.MaxInheritanceDepth; i++ {
		w.mustRole(fmt.Sprintf("r%d", i), fmt.Sprintf(">r%d", i-1))
	}
	w.mustRole("base")
	_, err := w.putRole("r0", ">base") // the deepest role above would pass the limit
	refusedAs(t, err, fault.LimitExceeded, "inheritance depth", fmt.Sprintf("r%d", rbac.MaxInheritanceDepth))
	w.mustRole("r1", ">r0", ">base") // no deeper than before
}

func TestInUse(t *testing.T) {
	w := newWorld(t)
	w.putPermission("a:x")
	w.mustRole("base", "a:x")
	w.mustRole("top", ">base")
	w.assign("alice", "top")
	w.assign("bob", "base", time.Now().Add(-time.Hour)) // over: no use
	_, err := w.writer.DeletePermission(w.ctx, w.request(), w.scope, perm("a:x").ID, nil)
	refusedAs(t, err, fault.InUse, `role "base"`)
	_, err = w.writer.DeleteRole(w.ctx, w.request(), w.scope, role("base").ID, nil)
	refusedAs(t, err, fault.InUse, `role "top"`)
	if strings.Contains(err.Error(), "bob") {
		t.Errorf("an assignment that is over counts as use: %v", err)
	}
	_, err = w.writer.DeleteRole(w.ctx, w.request(), w.scope, role("top").ID, nil)
	refusedAs(t, err, fault.InUse, `subject "alice"`)
	_, err = w.writer.DeletePolicy(w.ctx, w.request(), w.scope, rbac.Must(rbac.ParseSubjectID("alice")), nil)
	must(t, err)
	for _, r := range []string{"top", "base"} {
		_, err = w.writer.DeleteRole(w.ctx, w.request(), w.scope, role(r).ID, nil)
		must(t, err)
		_, err = w.writer.DeleteRole(w.ctx, w.request(), w.scope, role(r).ID, nil)
		refusedAs(t, err, fault.NotFound)
	}
	_, err = w.writer.DeletePermission(w.ctx, w.request(), w.scope, perm("a:x").ID, nil)
	must(t, err)
}

func TestInUseNamesTen(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	for i := range 12 {
		w.assign(fmt.Sprintf("user-%02d", i), "r")
	}
	_, err := w.writer.DeleteRole(w.ctx, w.request(), w.scope, role("r").ID, nil)
	refusedAs(t, err, fault.InUse, "user-00", "user-09", "and maybe more")
	var f *fault.Error
	if !errors.As(err, &f) || len(f.UsedBy) != 10 || f.UsedBy[9] != (fault.User{Type: "subject", ID: "user-09"}) {
		t.Errorf("used by %+v", f)
	}
	if strings.Contains(err.Error(), "user-10") {
		t.Errorf("more than ten are named: %v", err)
	}
}

func TestSameDefinitionAgainChangesNothing(t *testing.T) {
	w := newWorld(t)
	first := w.putPermission("a:x")
	again := w.putPermission("a:x")
	if !first.Created || again.Created || !again.Unchanged || again.Item.Version != 1 || again.Revision != first.Revision {
		t.Errorf("first %+v, again %+v", first, again)
	}
	made := w.mustRole("r", "a:x")
	same := w.mustRole("r", "a:x")
	if !same.Unchanged || same.Item.Version != made.Item.Version {
		t.Errorf("made %+v, same %+v", made, same)
	}
	if h := w.readHead(); h.Revision != 3 {
		t.Errorf("revision %d after provisioning and two changes", h.Revision)
	}
}

func TestRebornDefinitionGivesNothingToOldHolders(t *testing.T) {
	w := newWorld(t)
	w.putPermission("a:x")
	w.mustRole("r", "a:x")
	w.assign("alice", "r", time.Now().Add(-time.Second)) // over, so the role may go
	_, err := w.writer.DeleteRole(w.ctx, w.request(), w.scope, role("r").ID, nil)
	must(t, err)
	out := w.mustRole("r", "a:x")
	if !out.Created || out.Item.Version != 3 {
		t.Errorf("created anew: %+v with version %d, want 3: versions go on", out, out.Item.Version)
	}
	e, err := stored.Decode[entity.Role](out.Item)
	must(t, err)
	if uint64(e.Incarnation) != uint64(e.Revision) {
		t.Errorf("incarnation %d, revision %d", e.Incarnation, e.Revision)
	}
	if got := w.ask("alice", "a", "x", true); got != rbac.ReasonNoPolicy {
		t.Errorf("got %s", got)
	}
}

func TestEntriesInFlux(t *testing.T) {
	w := newWorld(t)
	w.putPermission("a:x") // never used before: no entry
	w.mustRole("r", "a:x")
	if h := w.readHead(); h.Pending() != 0 || h.Permissions != 2 || h.Roles != 2 {
		t.Fatalf("HEAD %+v", h)
	}
	w.mustRole("r")
	_, err := w.writer.DeletePermission(w.ctx, w.request(), w.scope, perm("a:x").ID, nil)
	must(t, err)
	if h := w.readHead(); h.Pending() != 2 || h.Permissions != 1 || !h.ChangedSince(rbac.OfPermission(perm("a:x").ID).Hash(), h.Revision-1) {
		t.Errorf("HEAD %+v", h)
	}
}

func TestPreconditionsSeeWhatStandsThere(t *testing.T) {
	w := newWorld(t)
	w.putPermission("a:x")
	var exists bool
	var version uint64
	stop := fault.New(fault.PreconditionFailed, "no")
	pre := func(e bool, v uint64) error { exists, version = e, v; return stop }
	changed := perm("a:x")
	changed.Effect = rbac.Deny
	_, err := w.writer.PutPermission(w.ctx, w.request(), w.scope, changed, pre)
	refusedAs(t, err, fault.PreconditionFailed)
	if !exists || version != 1 {
		t.Errorf("exists %v, version %d", exists, version)
	}
	_, err = w.writer.PutRole(w.ctx, w.request(), w.scope, role("none"), pre)
	refusedAs(t, err, fault.PreconditionFailed)
	if exists || version != 0 {
		t.Errorf("exists %v, version %d", exists, version)
	}
}

func TestAnotherLifeOfTheScopeIsNotFound(t *testing.T) {
	w := newWorld(t)
	w.scope.Incarnation++
	_, err := w.putRole("r")
	refusedAs(t, err, fault.NotFound)
	_, err = w.writer.PutPolicy(w.ctx, w.request(), w.scope, rbac.Must(rbac.ParseSubjectID("alice")), nil, nil)
	refusedAs(t, err, fault.NotFound)
}
