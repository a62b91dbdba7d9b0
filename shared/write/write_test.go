package write_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/weak/memory"
	"github.com/wardenhq/warden/shared/write"
)

// world is a writer and a checker over one table.
type world struct {
	t       *testing.T
	ctx     context.Context
	table   table.Store
	writer  *write.Writer
	checker *decide.Checker
	scope   write.Scope
	cred    auth.Credential
}

func newWorld(t *testing.T) *world {
	store := memory.New(time.Now)
	backoff := retry.Backoff{Clock: clock.System{}, Jitter: rand.Float64, Base: time.Microsecond, Max: time.Millisecond, Tries: 6}
	snapshots := &snapshot.Reader{Table: store, Cache: snapshot.NewCache(10000), Backoff: backoff}
	cache := decide.NewCache(1 << 20)
	w := &world{t: t, ctx: t.Context(), table: store}
	w.writer = &write.Writer{
		Table: store, Snapshots: snapshots, Clock: clock.System{}, Backoff: backoff, Changed: cache.Drop,
		EventID: func(at time.Time) string { return "evt_" + ulid.MustNewDefault(at).String() },
	}
	w.checker = &decide.Checker{Table: store, Snapshots: snapshots, Clock: clock.System{}, Cache: cache}
	org := rbac.Must(rbac.ParseOrgID("acme"))
	id := auth.NewKeyID()
	text, hash := auth.NewAPIKey(org, id)
	w.cred, _ = auth.Present(text)
	scope := rbac.Must(rbac.ParseScopeID("main"))
	_, made, err := w.writer.ProvisionOrg(w.ctx, w.request(), write.Provision{
		Org: org, Name: "Acme", Owner: rbac.Must(rbac.ParseSubjectID("owner")), Scope: scope, ScopeName: "Main", Retention: 365,
		Key: entity.APIKey{ID: id, Org: org, Name: "first", Permissions: entity.AllRights, Hash: hash, CreatedBy: "operator:x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = made
	h, err := snapshots.Read(w.ctx, snapshot.Request{Scope: scope, Wanted: func(snapshot.State) ([]rbac.DefinitionID, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	w.scope = write.Scope{Org: org, ID: scope, Incarnation: h.Head.Incarnation}
	return w
}

func (w *world) request() *write.Request {
	return w.writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "x"}, RequestID: "req_1"})
}

func (w *world) ask(subject, resource, action string, strong bool) rbac.Reason {
	w.t.Helper()
	a, err := w.checker.Check(w.ctx, w.cred, []decide.Question{{
		Scope: w.scope.ID, Subject: rbac.Must(rbac.ParseSubjectID(subject)), Strong: strong,
		Ask: rbac.Question{Resource: rbac.Must(rbac.ParseResourceID(resource)), Action: rbac.Must(rbac.ParseActionID(action))},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return a[0].Reason
}

func TestChangesShowInChecksAtOnce(t *testing.T) {
	w := newWorld(t)
	both := func(subject, resource, action string, want rbac.Reason) {
		t.Helper()
		for _, strong := range []bool{false, true} {
			if got := w.ask(subject, resource, action, strong); got != want {
				t.Fatalf("%s may %s %s (strong %v)? got %s, want %s", subject, action, resource, strong, got, want)
			}
		}
	}
	both("owner", "anything", "whatever", rbac.ReasonAllowed)
	both("alice", "invoice", "read", rbac.ReasonNoPolicy)

	perm := entity.Permission{Permission: rbac.Permission{
		ID: rbac.Must(rbac.ParsePermissionID("invoice:read")), Effect: rbac.Allow,
		Resource: rbac.Must(rbac.ParseResourceID("invoice")), Action: rbac.Must(rbac.ParseActionID("read")),
	}}
	_, err := w.writer.PutPermission(w.ctx, w.request(), w.scope, perm, nil)
	must(t, err)
	reader := rbac.Must(rbac.ParseRoleID("reader"))
	_, err = w.writer.PutRole(w.ctx, w.request(), w.scope, write.Role{ID: reader, Permissions: []rbac.PermissionID{perm.ID}}, nil)
	must(t, err)
	alice := rbac.Must(rbac.ParseSubjectID("alice"))
	_, err = w.writer.AssignRole(w.ctx, w.request(), w.scope, alice, write.Grant{Role: reader}, nil)
	must(t, err)
	both("alice", "invoice", "read", rbac.ReasonAllowed)
	both("alice", "invoice", "write", rbac.ReasonNoMatch)

	perm.Effect = rbac.Deny
	_, err = w.writer.PutPermission(w.ctx, w.request(), w.scope, perm, nil)
	must(t, err)
	both("alice", "invoice", "read", rbac.ReasonDenied)

	_, err = w.writer.DeletePolicy(w.ctx, w.request(), w.scope, alice, nil)
	must(t, err)
	both("alice", "invoice", "read", rbac.ReasonNoPolicy)

	_, err = w.writer.DeleteScope(w.ctx, w.request(), w.scope, nil, true)
	must(t, err)
	both("owner", "anything", "whatever", rbac.ReasonNoPolicy)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
