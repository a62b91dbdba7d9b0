package write

import (
	"context"
	"errors"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// CreateScope makes an empty scope. fault.AlreadyExists when the id is taken by
// whatever org, fault.BeingDeleted while the org's own old scope is purged.
func (w *Writer) CreateScope(ctx context.Context, req *Request, want entity.Scope) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		org, orgItem, err := w.readOrg(ctx, want.Org)
		if err != nil {
			return nil, err
		}
		if org.Scopes >= rbac.MaxScopesInOrg {
			return nil, limit("scopes an org", rbac.MaxScopesInOrg)
		}
		before, err := w.freeScope(ctx, want.Org, want.ID, "id")
		if err != nil {
			return nil, err
		}
		org.Scopes++
		op, _, err := orgOp(req, orgItem, org)
		if err != nil {
			return nil, err
		}
		want.Edition, want.EditedAt = 1, req.Time
		it, err := req.body(keys.Scope(want.Org, want.ID).Raw(), "Scope", 1, nil, want)
		if err != nil {
			return nil, err
		}
		h := head.Head{Org: want.Org, Incarnation: incarnationAt(req), Revision: before.Revision, Version: before.Version + 1}
		headItem := req.item(keys.Head(want.ID).Raw(), "Head", h.Version, nil)
		headItem.Blob = h.Encode()
		e, err := updated(events.ScopeCreated, want.Org, &want.ID, scopeTarget(want.ID), nil, it, showScope)
		return &plan{
			outcome: Outcome{Item: it, Created: true, Revision: revision.OfDefinition(want.ID, h.Revision).String()},
			ops:     []table.Op{op, table.Put(it, table.Absent()), table.Put(headItem, table.VersionIs(before.Version))},
			event:   e,
		}, err
	})
}

func scopeTarget(s rbac.ScopeID) events.Target { return events.Target{Type: "scope", ID: s.String()} }

func showScope(it *table.Item) ([]byte, error) {
	e, err := stored.Decode[entity.Scope](it)
	if err != nil {
		return nil, err
	}
	return shown(resource.OfScope(it, e))
}

// UpdateScope changes a scope's name and description.
func (w *Writer) UpdateScope(ctx context.Context, req *Request, s Scope, pre Precondition, edit func(*entity.Scope) error) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		old, it, h, err := w.readScope(ctx, s)
		if err != nil {
			return nil, err
		}
		if err := pre.test(true, old.Edition); err != nil {
			return nil, err
		}
		next := old
		if err := edit(&next); err != nil {
			return nil, err
		}
		rev := revision.OfDefinition(s.ID, h.Revision).String()
		if next == old {
			return &plan{outcome: Outcome{Item: it, Unchanged: true, Revision: rev}}, nil
		}
		next.Edition++
		next.EditedAt = req.Time
		after, err := req.body(it.Key, "Scope", it.Version+1, it, next)
		if err != nil {
			return nil, err
		}
		e, err := updated(events.ScopeUpdated, s.Org, &s.ID, scopeTarget(s.ID), it, after, showScope)
		return &plan{
			outcome: Outcome{Item: after, Revision: rev},
			ops:     []table.Op{table.Put(after, table.VersionIs(it.Version))},
			event:   e,
		}, err
	})
}

func (w *Writer) readScope(ctx context.Context, s Scope) (entity.Scope, *table.Item, *head.Head, error) {
	h, err := w.readHead(ctx, s.ID)
	if err != nil {
		return entity.Scope{}, nil, nil, err
	}
	if err := s.check(h); err != nil {
		return entity.Scope{}, nil, nil, err
	}
	e, it, err := stored.Get(ctx, w.Table, keys.Scope(s.Org, s.ID), table.Strong)
	if err == nil && it == nil {
		err = ErrNoScope
	}
	return e, it, h, err
}

func (w *Writer) readHead(ctx context.Context, s rbac.ScopeID) (*head.Head, error) {
	it, err := w.Table.Get(ctx, keys.Head(s).Raw(), table.Strong)
	if err != nil || it == nil {
		return nil, err
	}
	return head.Decode(it)
}

// DeleteScope marks a scope as deleted: every check in it denies when this
// returns, and its contents are purged after. Its id stays taken until then.
// fault.InUse unless cascade, when the scope has definitions or policies.
func (w *Writer) DeleteScope(ctx context.Context, req *Request, s Scope, pre Precondition, cascade bool) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		old, it, h, err := w.readScope(ctx, s)
		if err != nil {
			return nil, err
		}
		if err := pre.test(true, old.Edition); err != nil {
			return nil, err
		}
		if !cascade {
			if err := w.emptyScope(ctx, s, h); err != nil {
				return nil, err
			}
		}
		org, orgItem, err := w.readOrg(ctx, s.Org)
		if err != nil {
			return nil, err
		}
		org.Scopes--
		orgPut, _, err := orgOp(req, orgItem, org)
		if err != nil {
			return nil, err
		}
		old.Deleting = true
		after, err := req.body(it.Key, "Scope", it.Version+1, it, old)
		if err != nil {
			return nil, err
		}
		after.Index[keys.GSI4-1] = keys.Due(req.Time, "scope/"+s.ID.String())
		e, err := updated(events.ScopeDeleted, s.Org, &s.ID, scopeTarget(s.ID), it, nil, showScope)
		return &plan{
			outcome: Outcome{Revision: revision.OfDefinition(s.ID, h.Revision+1).String()},
			ops:     []table.Op{orgPut, table.Put(after, table.VersionIs(it.Version)), headDeleted(req, s.ID, h)},
			event:   e,
		}, err
	})
}

// emptyScope refuses to delete a scope with contents, naming some.
func (w *Writer) emptyScope(ctx context.Context, s Scope, h *head.Head) error {
	users := new(users)
	err := stored.All(ctx, w.Table, keys.Policies(s.ID), func(r stored.Row[entity.Policy]) bool {
		users.add("policy", r.Entity.Subject.String())
		return !users.full()
	})
	if err != nil || h.Permissions+h.Roles == 0 || users.full() {
		return errors.Join(err, users.inUse("scope"))
	}
	err = stored.All(ctx, w.Table, keys.Roles(s.ID), func(r stored.Row[entity.Role]) bool {
		if !r.Entity.Deleted {
			users.add("role", r.Entity.ID.String())
		}
		return !users.full()
	})
	if err != nil {
		return err
	}
	err = stored.All(ctx, w.Table, keys.Permissions(s.ID), func(r stored.Row[entity.Permission]) bool {
		if !r.Entity.Deleted {
			users.add("permission", r.Entity.ID.String())
		}
		return !users.full()
	})
	return errors.Join(err, users.inUse("scope"))
}

// headDeleted marks HEAD, conditioned on the version that was read: no
// definition write passes it. It raises the revision, so that whoever demands
// the deletion's revision is not answered from a HEAD of before.
func headDeleted(req *Request, s rbac.ScopeID, h *head.Head) table.Op {
	next := *h
	next.Deleted = true
	next.Revision++
	next.Version++
	it := req.item(keys.Head(s).Raw(), "Head", next.Version, nil)
	it.Blob = next.Encode()
	return table.Put(it, table.VersionIs(h.Version))
}

// markHead marks one scope on behalf of its org's deletion. The event of that is
// the org's, so the transaction carries none.
func (w *Writer) markHead(ctx context.Context, req *Request, o rbac.OrgID, s rbac.ScopeID) error {
	for n := range plans {
		h, err := w.readHead(ctx, s)
		if err != nil || h == nil || h.Org != o || h.Deleted {
			return err
		}
		e, it, err := stored.Get(ctx, w.Table, keys.Scope(o, s), table.Strong)
		if err != nil || it == nil {
			return err
		}
		e.Deleting = true
		after, err := req.body(it.Key, "Scope", it.Version+1, it, e)
		if err != nil {
			return err
		}
		after.Index[keys.GSI4-1] = keys.Due(req.Time, "scope/"+s.String())
		err = w.transact(ctx, table.Tx{Ops: []table.Op{headDeleted(req, s, h), table.Put(after, table.VersionIs(it.Version))}})
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
		if _, err := w.Backoff.Wait(ctx, n); err != nil {
			return err
		}
	}
	return fault.BusyAfter(time.Second, errors.New("write: HEAD keeps changing"))
}
