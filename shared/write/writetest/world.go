// Package writetest is a tenant over the in-memory table, written through the
// writer as the admin function does, for tests of those who read. For tests only.
package writetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak/memory"
	"github.com/wardenhq/warden/shared/write"
)

// Clock is a clock that stands still but for Advance and Sleep.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Start is when every Clock begins.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sleep advances the clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.Advance(d)
	return ctx.Err()
}

// World is the table, and what writes to it.
type World struct {
	T         testing.TB
	Clock     *Clock
	Table     *memory.Store
	Snapshots *snapshot.Reader
	Writer    *write.Writer
}

// New makes an empty world.
func New(t testing.TB) *World {
	c := &Clock{now: Start}
	store := memory.New(c.Now)
	backoff := retry.Backoff{Clock: c, Jitter: func() float64 { return 0 }, Base: time.Microsecond, Max: time.Microsecond, Tries: 5}
	w := &World{T: t, Clock: c, Table: store, Snapshots: &snapshot.Reader{Table: store, Cache: snapshot.NewCache(1000), Backoff: backoff}}
	w.Writer = &write.Writer{
		Table: store, Snapshots: w.Snapshots, Clock: c, Backoff: backoff,
		EventID: func(at time.Time) string { return "evt_" + ulid.MustNewDefault(at).String() },
	}
	return w
}

func (w *World) request() *write.Request {
	return w.Writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "test"}, RequestID: "req_test"})
}

// Must ends the test on an error.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Tenant is an org with one scope and one key.
type Tenant struct {
	*World
	Scope write.Scope
	Key   entity.APIKey
	Text  string // the key's text
}

// Provision makes a tenant: org and scope of that name, whose owner may do all.
// The key has all rights unless edit says otherwise.
func (w *World) Provision(name string, edit func(*entity.APIKey)) *Tenant {
	w.T.Helper()
	t := &Tenant{World: w}
	org := rbac.Must(rbac.ParseOrgID(name))
	t.Key = entity.APIKey{ID: auth.NewKeyID(), Org: org, Name: "first", Permissions: entity.AllRights, CreatedBy: "operator:test"}
	t.Text, t.Key.Hash = auth.NewAPIKey(org, t.Key.ID)
	if edit != nil {
		edit(&t.Key)
	}
	scope := rbac.Must(rbac.ParseScopeID(name))
	_, _, err := w.Writer.ProvisionOrg(context.Background(), w.request(), write.Provision{
		Org: org, Name: name, Owner: Subject("owner"), Scope: scope, ScopeName: name, Retention: 365, Key: t.Key,
	})
	w.Must(err)
	t.Scope = write.Scope{Org: org, ID: scope}
	t.Scope.Incarnation = t.Head().Incarnation
	return t
}

// Head is the scope's HEAD.
func (t *Tenant) Head() *head.Head {
	t.T.Helper()
	it, err := t.Table.Get(context.Background(), keys.Head(t.Scope.ID).Raw(), table.Strong)
	t.Must(err)
	h, err := head.Decode(it)
	t.Must(err)
	return h
}

// Edit rewrites the key as stored.
func (t *Tenant) Edit(edit func(*entity.APIKey)) {
	t.T.Helper()
	k := keys.APIKey(t.Key.Org, t.Key.ID)
	e, it, err := stored.Get(context.Background(), t.Table, k, table.Strong)
	t.Must(err)
	edit(&e)
	t.Put(k.Raw(), "APIKey", it.Version+1, e)
}

// Revoke removes the key.
func (t *Tenant) Revoke() {
	t.T.Helper()
	t.Must(t.Table.Transact(context.Background(), table.Tx{Ops: []table.Op{
		table.Delete(keys.APIKey(t.Key.Org, t.Key.ID).Raw(), table.Present()),
	}}))
}

// Permission puts one, named `resource:action` or, for denies, `!resource:action`.
// It returns the revision's token.
func (t *Tenant) Permission(resource, action string, effect rbac.Effect) string {
	t.T.Helper()
	id := resource + ":" + action
	if effect == rbac.Deny {
		id = "!" + id
	}
	return t.PermissionAs(id, resource, action, effect)
}

// PermissionAs puts one of any id.
func (t *Tenant) PermissionAs(id, resource, action string, effect rbac.Effect) string {
	t.T.Helper()
	out, err := t.Writer.PutPermission(context.Background(), t.request(), t.Scope, entity.Permission{Permission: rbac.Permission{
		ID: rbac.Must(rbac.ParsePermissionID(id)), Effect: effect, Resource: Resource(resource), Action: Action(action),
	}}, nil)
	t.Must(err)
	return out.Revision
}

// Role puts a role with permissions and the roles that it inherits.
func (t *Tenant) Role(id string, permissions []string, inherits ...string) string {
	t.T.Helper()
	r := write.Role{ID: Role(id)}
	for _, p := range permissions {
		r.Permissions = append(r.Permissions, rbac.Must(rbac.ParsePermissionID(p)))
	}
	for _, p := range inherits {
		r.Inherits = append(r.Inherits, Role(p))
	}
	out, err := t.Writer.PutRole(context.Background(), t.request(), t.Scope, r, nil)
	t.Must(err)
	return out.Revision
}

// Assign gives a subject a role for good.
func (t *Tenant) Assign(subject, role string) string {
	t.T.Helper()
	return t.assign(subject, write.Grant{Role: Role(role)})
}

// AssignUntil gives a subject a role that ends.
func (t *Tenant) AssignUntil(subject, role string, end time.Time) string {
	t.T.Helper()
	return t.assign(subject, write.Grant{Role: Role(role), Expiry: rbac.ExpiresAt(end)})
}

func (t *Tenant) assign(subject string, g write.Grant) string {
	t.T.Helper()
	out, err := t.Writer.AssignRole(context.Background(), t.request(), t.Scope, Subject(subject), g, nil)
	t.Must(err)
	return out.Revision
}

// DeletePolicy takes away what a subject holds.
func (t *Tenant) DeletePolicy(subject string) string {
	t.T.Helper()
	out, err := t.Writer.DeletePolicy(context.Background(), t.request(), t.Scope, Subject(subject), nil)
	t.Must(err)
	return out.Revision
}

// DeleteScope deletes the scope and all in it.
func (t *Tenant) DeleteScope() {
	t.T.Helper()
	_, err := t.Writer.DeleteScope(context.Background(), t.request(), t.Scope, nil, true)
	t.Must(err)
}

// NewScope makes another scope of the tenant's org: a tenant of the same key.
func (t *Tenant) NewScope(id string) *Tenant {
	t.T.Helper()
	scope := rbac.Must(rbac.ParseScopeID(id))
	_, err := t.Writer.CreateScope(context.Background(), t.request(), entity.Scope{ID: scope, Org: t.Key.Org, Name: id})
	t.Must(err)
	other := &Tenant{World: t.World, Scope: write.Scope{Org: t.Key.Org, ID: scope}, Key: t.Key, Text: t.Text}
	other.Scope.Incarnation = other.Head().Incarnation
	return other
}
