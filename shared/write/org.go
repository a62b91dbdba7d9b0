package write

import (
	"context"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Provision is a new tenant.
type Provision struct {
	Org       rbac.OrgID
	Name      string
	Owner     rbac.SubjectID
	Scope     rbac.ScopeID
	ScopeName string
	Retention int           // days of audit
	Key       entity.APIKey // with all rights and scopes; its hash is made
}

// Provisioned is what provisioning made.
type Provisioned struct {
	Org, Scope, Key *table.Item
}

// adminRole is the role that the owner gets, and its one permission.
const (
	adminRole       = "admin"
	adminPermission = "*:*"
)

// ProvisionOrg makes an org in one transaction: the org, its unique name, a
// first scope, permission `*:*`, role `admin`, the owner's policy, member and
// access document, and a first API key. fault.AlreadyExists when the org's id,
// name or the scope's id is taken, fault.BeingDeleted while one is purged.
func (w *Writer) ProvisionOrg(ctx context.Context, req *Request, p Provision) (Outcome, Provisioned, error) {
	var made Provisioned
	out, err := w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		before, err := w.free(ctx, p)
		if err != nil {
			return nil, err
		}
		ops, m, err := p.items(req, before)
		if err != nil {
			return nil, err
		}
		made = m
		after, err := showOrg(m.Org)
		if err != nil {
			return nil, err
		}
		return &plan{
			outcome: Outcome{Item: m.Org, Created: true, Revision: revision.OfPolicy(p.Scope, 1, p.Owner, 1).String()},
			ops:     ops,
			event: &events.Event{
				Type: events.OrgCreated, Org: p.Org.String(),
				Target: events.Target{Type: "org", ID: p.Org.String()}, After: after,
			},
			refused: map[keys.Raw]error{
				keys.Unique(keys.UniqueOrgName, p.Name).Raw(): fault.InField(fault.AlreadyExists, "name", "an org of this name exists"),
			},
		}, nil
	})
	return out, made, err
}

// remains are what a scope of the same id and org left when it was purged: its
// HEAD, which keeps the id from other orgs, and documents, whose versions go on.
type remains struct {
	head  head.Head
	owner []*table.Item // as a policy write reads it
}

// free says clearly what is in the way of new ids; the transaction's conditions
// are what holds.
func (w *Writer) free(ctx context.Context, p Provision) (remains, error) {
	var r remains
	org, it, err := stored.Get(ctx, w.Table, keys.Org(p.Org), table.Strong)
	switch {
	case err != nil:
		return r, err
	case it != nil && org.Status == entity.OrgDeleting:
		return r, fault.New(fault.BeingDeleted, "an org of this id is being deleted")
	case it != nil:
		return r, fault.InField(fault.AlreadyExists, "id", "an org of this id exists")
	}
	if r.head, err = w.freeScope(ctx, p.Org, p.Scope, "scope.id"); err != nil {
		return r, err
	}
	owner := policyWrite{scope: Scope{ID: p.Scope}, subject: p.Owner}.keys()
	if r.head.Version == 0 {
		r.owner = make([]*table.Item, len(owner))
		return r, nil
	}
	r.owner, err = w.Table.BatchGet(ctx, owner, table.Strong)
	return r, err
}

// freeScope is the HEAD that a purged scope of the id left, the zero one when the
// id is new. Only the org whose scope it was learns that it is being deleted.
func (w *Writer) freeScope(ctx context.Context, o rbac.OrgID, s rbac.ScopeID, field string) (head.Head, error) {
	it, err := w.Table.Get(ctx, keys.Head(s).Raw(), table.Strong)
	if err != nil || it == nil {
		return head.Head{}, err
	}
	h, err := head.Decode(it)
	switch {
	case err != nil:
		return head.Head{}, err
	case h.Org != o || !h.Deleted:
		return head.Head{}, fault.InField(fault.AlreadyExists, field, "a scope of this id exists")
	case !h.Purged:
		return head.Head{}, fault.New(fault.BeingDeleted, "a scope of this id is being deleted")
	}
	return *h, nil
}

func (p Provision) items(req *Request, before remains) (ops []table.Op, made Provisioned, err error) {
	incarnation := incarnationAt(req)
	perm := entity.Permission{Permission: rbac.Permission{
		ID: rbac.Must(rbac.ParsePermissionID(adminPermission)), Resource: rbac.Must(rbac.ParseResourceID(rbac.Wildcard)),
		Action: rbac.Must(rbac.ParseActionID(rbac.Wildcard)), Effect: rbac.Allow, State: rbac.State{Incarnation: 1, Revision: 1},
	}}
	role := entity.Role{Role: rbac.Role{
		ID: rbac.Must(rbac.ParseRoleID(adminRole)), State: rbac.State{Incarnation: 1, Revision: 1},
		Permissions: []rbac.PermissionRef{{ID: perm.ID, Incarnation: 1}}, Inherits: []rbac.RoleRef{},
	}, Name: "Administrator", RequiredApprovals: 1}
	h := head.Head{Org: p.Org, Incarnation: incarnation, Revision: 1, Last: rbac.OfRole(role.ID), Permissions: 1, Roles: 1, Version: before.head.Version + 1}
	defs := new(rbac.Definitions)
	defs.PutPermission(perm.ID, &perm.Permission)
	defs.PutRole(role.ID, &role.Role)
	scope := Scope{Org: p.Org, ID: p.Scope, Incarnation: incarnation}
	write := policyWrite{scope: scope, subject: p.Owner, roles: []Grant{{Role: role.ID}}, wish: func(held) (wish, error) {
		return wish{direct: []Grant{{Role: role.ID}}}, nil
	}}
	state := snapshot.State{Head: &h, Defs: defs, With: before.owner}
	at, _, err := write.attempt(state)
	if err != nil {
		return nil, made, err
	}
	policy, err := at.plan(req, write, state)
	if err != nil {
		return nil, made, err
	}
	b := builder{req: req}
	made.Org = b.put(keys.Org(p.Org).Raw(), "Org", entity.Org{ID: p.Org, Name: p.Name, Status: entity.OrgActive, AuditRetentionDays: p.Retention, Scopes: 1, APIKeys: 1, Edition: 1, EditedAt: req.Time})
	b.put(keys.Unique(keys.UniqueOrgName, p.Name).Raw(), "Unique", entity.Unique{Owner: p.Org})
	made.Scope = b.put(keys.Scope(p.Org, p.Scope).Raw(), "Scope", entity.Scope{ID: p.Scope, Org: p.Org, Name: p.ScopeName, Edition: 1, EditedAt: req.Time})
	b.put(keys.Permission(p.Scope, perm.ID).Raw(), "Permission", perm)
	b.put(keys.Role(p.Scope, role.ID).Raw(), "Role", role)
	b.put(keys.Member(p.Org, p.Owner).Raw(), "Member", entity.Member{User: p.Owner, Role: entity.MemberOwner})
	made.Key = b.put(keys.APIKey(p.Org, p.Key.ID).Raw(), "APIKey", p.Key)
	if b.err != nil {
		return nil, made, b.err
	}
	made.Org.Index[keys.GSI1-1] = keys.OrgByName(p.Name, p.Org)
	headItem := req.item(keys.Head(p.Scope).Raw(), "Head", h.Version, nil)
	headItem.Blob = h.Encode()
	return append(append(b.ops, table.Put(headItem, table.VersionIs(before.head.Version))), policy.ops...), made, nil
}

// incarnationAt makes the incarnation of a scope: no two scopes of one id are
// made in the same nanosecond, since the second waits for the first one's purge.
func incarnationAt(req *Request) uint64 { return uint64(req.Time.UnixNano()) }

// builder collects new items.
type builder struct {
	req *Request
	ops []table.Op
	err error
}

func (b *builder) put(key keys.Raw, kind string, content any) *table.Item {
	it, err := b.req.body(key, kind, 1, nil, content)
	if err != nil {
		b.err = err
		return &table.Item{}
	}
	b.ops = append(b.ops, table.Put(it, table.Absent()))
	return it
}

func showOrg(it *table.Item) ([]byte, error) {
	e, err := stored.Decode[entity.Org](it)
	if err != nil {
		return nil, err
	}
	return shown(resource.OfOrg(it, e))
}

// ErrNoOrg is the fault of an org that is missing, deleted or beyond reach.
var ErrNoOrg = fault.New(fault.NotFound, "no such org")

// readOrg reads an org that is not being deleted.
func (w *Writer) readOrg(ctx context.Context, o rbac.OrgID) (entity.Org, *table.Item, error) {
	e, it, err := stored.Get(ctx, w.Table, keys.Org(o), table.Strong)
	if err == nil && (it == nil || e.Status == entity.OrgDeleting) {
		err = ErrNoOrg
	}
	return e, it, err
}

// orgOp replaces the org's item, conditioned on the version that was read.
func orgOp(req *Request, it *table.Item, next entity.Org) (table.Op, *table.Item, error) {
	after, err := req.body(it.Key, "Org", it.Version+1, it, next)
	if err != nil {
		return table.Op{}, nil, err
	}
	return table.Put(after, table.VersionIs(it.Version)), after, nil
}

// UpdateOrg changes an org's name and settings.
func (w *Writer) UpdateOrg(ctx context.Context, req *Request, o rbac.OrgID, pre Precondition, edit func(*entity.Org) error) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		old, it, err := w.readOrg(ctx, o)
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
		rev := revision.OfOrg(o).String()
		if next == old {
			return &plan{outcome: Outcome{Item: it, Unchanged: true, Revision: rev}}, nil
		}
		next.Edition++
		next.EditedAt = req.Time
		op, after, err := orgOp(req, it, next)
		if err != nil {
			return nil, err
		}
		after.Index[keys.GSI1-1] = keys.OrgByName(next.Name, o)
		p := &plan{outcome: Outcome{Item: after, Revision: rev}, ops: []table.Op{op}}
		if next.Name != old.Name {
			taken := keys.Unique(keys.UniqueOrgName, next.Name).Raw()
			name, err := req.body(taken, "Unique", 1, nil, entity.Unique{Owner: o})
			if err != nil {
				return nil, err
			}
			p.ops = append(p.ops, table.Put(name, table.Absent()), table.Delete(keys.Unique(keys.UniqueOrgName, old.Name).Raw(), table.Any()))
			p.refused = map[keys.Raw]error{taken: fault.InField(fault.AlreadyExists, "name", "an org of this name exists")}
		}
		p.event, err = updated(events.OrgUpdated, o, nil, events.Target{Type: "org", ID: o.String()}, it, after, showOrg)
		return p, err
	})
}

// updated is the event of a plain change from one item to another; nil for none.
func updated(kind string, o rbac.OrgID, s *rbac.ScopeID, target events.Target, before, after *table.Item, show func(*table.Item) ([]byte, error)) (e *events.Event, err error) {
	e = &events.Event{Type: kind, Org: o.String(), Target: target}
	if s != nil {
		e.Scope = new(s.String())
	}
	if before != nil {
		if e.Before, err = show(before); err != nil {
			return nil, err
		}
	}
	if after != nil {
		e.After, err = show(after)
	}
	return e, err
}

// DeleteOrg marks an org and then every scope of it as deleted; when it returns,
// every check in them denies. What they held is purged after. fault.InUse unless cascade, when the org has
// other scopes than an empty one.
func (w *Writer) DeleteOrg(ctx context.Context, req *Request, o rbac.OrgID, pre Precondition, cascade bool) (Outcome, error) {
	out, err := w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		old, it, err := w.readOrg(ctx, o)
		if err != nil {
			return nil, err
		}
		if err := pre.test(true, old.Edition); err != nil {
			return nil, err
		}
		if old.Scopes > 0 && !cascade {
			users := new(users)
			err := stored.All(ctx, w.Table, keys.Scopes(o), func(s stored.Row[entity.Scope]) bool {
				if !s.Entity.Deleting {
					users.add("scope", s.Entity.ID.String())
				}
				return !users.full()
			})
			if err != nil {
				return nil, err
			}
			if err := users.inUse("org"); err != nil {
				return nil, err
			}
		}
		next := old
		next.Status = entity.OrgDeleting
		op, after, err := orgOp(req, it, next)
		if err != nil {
			return nil, err
		}
		after.Index = it.Index
		after.Index[keys.GSI4-1] = keys.Due(req.Time, "org/"+o.String())
		e, err := updated(events.OrgDeleted, o, nil, events.Target{Type: "org", ID: o.String()}, it, nil, showOrg)
		return &plan{outcome: Outcome{Revision: revision.OfOrg(o).String()}, ops: []table.Op{op}, event: e}, err
	})
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return out, err
	}
	// Once the org is marked its scopes must follow, whether the caller stays or
	// not; what a crash leaves, the scheduler finishes.
	marking, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	if markErr := w.MarkScopes(marking, req, o); markErr != nil {
		return out, markErr
	}
	return out, err
}

// markTime bounds the marking of an org's scopes: below a function's timeout.
const markTime = 20 * time.Second

// MarkScopes marks every scope of an org that is being deleted, so that every
// check in them denies; it does nothing for any other org. Creating a scope
// conditions the org's item, so from the org's mark on the list of its scopes
// only shrinks.
func (w *Writer) MarkScopes(ctx context.Context, req *Request, o rbac.OrgID) error {
	org, it, err := stored.Get(ctx, w.Table, keys.Org(o), table.Strong)
	if err != nil || it == nil || org.Status != entity.OrgDeleting {
		return err
	}
	var ids []rbac.ScopeID
	err = stored.All(ctx, w.Table, keys.Scopes(o), func(s stored.Row[entity.Scope]) bool {
		ids = append(ids, s.Entity.ID)
		return true
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.markHead(ctx, req, o, id); err != nil {
			return err
		}
	}
	return nil
}
