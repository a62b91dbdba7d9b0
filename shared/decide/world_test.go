package decide_test

import (
	"context"
	"errors"
	"testing"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// between is a table with something happening before a read is answered, and after.
type between struct {
	table.Reader
	before, after func(wanted []keys.Raw)
	reads         int
}

func (b *between) around(wanted []keys.Raw, read func() ([]*table.Item, error)) ([]*table.Item, error) {
	b.reads++
	if f := b.before; f != nil {
		b.before = nil
		f(wanted)
	}
	items, err := read()
	if f := b.after; f != nil {
		b.after = nil
		f(wanted)
	}
	return items, err
}

func (b *between) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	return b.around(wanted, func() ([]*table.Item, error) { return b.Reader.BatchGet(ctx, wanted, c) })
}

func (b *between) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	return b.around(wanted, func() ([]*table.Item, error) { return b.Reader.TransactGet(ctx, wanted) })
}

// desk is a tenant and a process that answers for it.
type desk struct {
	*writetest.Tenant
	table   *between
	checker *decide.Checker
	cred    auth.Credential
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	tenant := writetest.New(t).Provision("acme", nil)
	d := &desk{Tenant: tenant, table: &between{Reader: tenant.Table}}
	snapshots := &snapshot.Reader{Table: d.table, Cache: snapshot.NewCache(1000), Backoff: tenant.Snapshots.Backoff}
	d.checker = &decide.Checker{Table: d.table, Snapshots: snapshots, Clock: tenant.Clock, Cache: decide.NewCache(1 << 20)}
	var ok bool
	if d.cred, ok = auth.Present(tenant.Text); !ok {
		t.Fatal("the key is none")
	}
	d.Permission("invoice", "read", rbac.Allow)
	d.Permission("invoice", "read", rbac.Deny)
	d.Role("reader", []string{"invoice:read"})
	d.Assign("alice", "reader")
	return d
}

// ask is a question about the invoice.
func (d *desk) ask(subject string) decide.Question {
	return decide.Question{
		Scope: d.Scope.ID, Subject: writetest.Subject(subject),
		Ask: rbac.Question{Resource: writetest.Resource("invoice"), Action: writetest.Action("read")},
	}
}

func (d *desk) strong(subject string) decide.Question {
	q := d.ask(subject)
	q.Strong = true
	return q
}

func (d *desk) atLeast(subject, token string) decide.Question {
	d.T.Helper()
	q := d.ask(subject)
	t, err := revision.Parse(token)
	d.Must(err)
	q.AtLeast = &t
	return q
}

// want asks both ways, alone and in a batch of two.
func (d *desk) want(q decide.Question, reason rbac.Reason) {
	d.T.Helper()
	a, err := d.checker.One(context.Background(), d.cred, &q)
	d.Must(err)
	if a.Reason != reason {
		d.T.Errorf("%s, want %s", a.Reason, reason)
	}
	both, err := d.checker.Check(context.Background(), d.cred, []decide.Question{q, q})
	d.Must(err)
	if both[0].Reason != reason || both[1].Reason != reason {
		d.T.Errorf("together: %s and %s, want %s", both[0].Reason, both[1].Reason, reason)
	}
}

func (d *desk) refused(q decide.Question, code fault.Code) {
	d.T.Helper()
	_, err := d.checker.One(context.Background(), d.cred, &q)
	_, err2 := d.checker.Check(context.Background(), d.cred, []decide.Question{q})
	if fault.CodeOf(err) != code || fault.CodeOf(err2) != code {
		d.T.Errorf("%v and %v, want %s", err, err2, code)
	}
}

func (d *desk) ahead(q decide.Question) {
	d.T.Helper()
	var unknown *decide.RevisionUnknownError
	if _, err := d.checker.One(context.Background(), d.cred, &q); !errors.As(err, &unknown) || unknown.Question != 0 {
		d.T.Errorf("%v, want a revision that is unknown", err)
	}
	if _, err := d.checker.Check(context.Background(), d.cred, []decide.Question{d.ask("alice"), q}); !errors.As(err, &unknown) || unknown.Question != 1 {
		d.T.Errorf("%v, want a revision that is unknown in question 1", err)
	}
}
