// Package purge removes what deleted scopes and orgs held, in pieces, after
// their deletion took effect. Audit logs and events stay for as long as they are
// kept; a scope's HEAD stays for good and keeps its id from other orgs, and so do
// its fences: an assignment in flight that read them before they were raised must
// never find them as they were.
package purge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Piece is how many items one step looks at, at most.
const Piece = 200

// chunk is how many items one transaction removes.
const chunk = 50

// Purger purges. A step that was done twice, or by two workers, does no harm.
type Purger struct {
	Engine *recompute.Engine // for its table, clock and fences
}

// Next says how a purge goes on.
type Next struct {
	Done bool
	Wait time.Duration // before the next step
}

// Scope does the next piece of a deleted scope's purge: the fences are raised,
// a minute is waited, and then its contents go. Item is the scope's own.
func (p *Purger) Scope(ctx context.Context, it *table.Item, s entity.Scope) (Next, error) {
	now := p.Engine.Clock.Now().UTC()
	if !s.Deleting {
		return Next{Done: true}, nil
	}
	if s.PurgeAfter.IsZero() {
		if err := p.Engine.RaiseFences(ctx, s.ID); err != nil {
			return Next{}, err
		}
		s.PurgeAfter = p.Engine.Clock.Now().UTC().Add(recompute.Settle)
		return Next{Wait: recompute.Settle}, p.save(ctx, it, s, s.PurgeAfter)
	}
	if now.Before(s.PurgeAfter) {
		return Next{Wait: s.PurgeAfter.Sub(now)}, nil
	}
	for _, piece := range []func(context.Context, entity.Scope) (bool, error){
		p.webhooks,
		p.policies,
		in(p, func(s entity.Scope) keys.Range[entity.RoleMember] { return keys.AllRoleMembers(s.ID) }),
		in(p, func(s entity.Scope) keys.Range[entity.Role] { return keys.Roles(s.ID) }),
		in(p, func(s entity.Scope) keys.Range[entity.Permission] { return keys.Permissions(s.ID) }),
		in(p, func(s entity.Scope) keys.Range[entity.Recompute] { return keys.Recomputes(s.ID) }),
	} {
		if more, err := piece(ctx, s); more || err != nil {
			return Next{}, err
		}
	}
	return Next{Done: true}, p.close(ctx, it, s)
}

// policies removes policies with what goes with each: its document, who holds
// which role, and where the subject has policies.
func (p *Purger) policies(ctx context.Context, s entity.Scope) (more bool, err error) {
	rows, _, err := stored.List(ctx, p.Engine.Table, keys.Policies(s.ID), Piece, "")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	var gone []keys.Raw
	for _, row := range rows {
		u := row.Entity.Subject
		gone = append(gone, keys.Access(s.ID, u).Raw(), keys.SubjectScope(s.Org, u, s.ID).Raw())
		seen := make(map[rbac.RoleID]bool)
		for _, a := range row.Entity.Assignments {
			if !seen[a.Role] {
				seen[a.Role] = true
				gone = append(gone, keys.RoleMember(s.ID, a.Role, u).Raw())
			}
		}
		gone = append(gone, row.Item.Key) // last: what goes with it is found by it
	}
	return true, p.remove(ctx, gone)
}

// in makes a piece that removes a range.
func in[E any](p *Purger, of func(entity.Scope) keys.Range[E]) func(context.Context, entity.Scope) (bool, error) {
	return func(ctx context.Context, s entity.Scope) (bool, error) { return p.sweep(ctx, bounds(of(s))) }
}

// span is a range without its entity.
type span struct{ pk, prefix string }

func bounds[E any](r keys.Range[E]) span { return span{r.PK(), r.Prefix()} }

// sweep removes up to a piece of a range; more says that there may be more.
func (p *Purger) sweep(ctx context.Context, in span) (more bool, err error) {
	page, err := p.Engine.Table.Query(ctx, table.Query{PK: in.pk, Prefix: in.prefix, Limit: Piece, Consistency: table.Strong})
	if err != nil || len(page.Items) == 0 {
		return false, err
	}
	gone := make([]keys.Raw, len(page.Items))
	for i, it := range page.Items {
		gone[i] = it.Key
	}
	return true, p.remove(ctx, gone)
}

func (p *Purger) remove(ctx context.Context, gone []keys.Raw) error {
	for len(gone) > 0 {
		n := min(chunk, len(gone))
		var tx table.Tx
		for _, k := range gone[:n] {
			tx.Ops = append(tx.Ops, table.Delete(k, table.Any()))
		}
		if err := p.Engine.Commit(ctx, tx); err != nil {
			return err
		}
		gone = gone[n:]
	}
	return nil
}

// save keeps the progress in the scope's item.
func (p *Purger) save(ctx context.Context, it *table.Item, s entity.Scope, due time.Time) error {
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	next := *it
	next.Version++
	next.Body = body
	next.UpdatedAt = p.Engine.Clock.Now().UTC()
	next.Index[keys.GSI4-1] = keys.Due(due, "scope/"+s.ID.String())
	return ignoreChanged(p.Engine.Commit(ctx, table.Tx{Ops: []table.Op{table.Put(&next, table.VersionIs(it.Version))}}))
}

// close removes the scope's item and leaves its HEAD as a mark.
func (p *Purger) close(ctx context.Context, it *table.Item, s entity.Scope) error {
	at, err := p.Engine.Table.Get(ctx, keys.Head(s.ID).Raw(), table.Strong)
	if err != nil || at == nil {
		return err
	}
	h, err := head.Decode(at)
	if err != nil || h.Org != s.Org || !h.Deleted {
		return err
	}
	mark := head.Head{Org: h.Org, Incarnation: h.Incarnation, Revision: h.Revision, Deleted: true, Purged: true}
	next := *at
	next.Version++
	next.Blob = mark.Encode()
	next.UpdatedAt = p.Engine.Clock.Now().UTC()
	return ignoreChanged(p.Engine.Commit(ctx, table.Tx{Ops: []table.Op{
		table.Put(&next, table.VersionIs(at.Version)),
		table.Delete(it.Key, table.VersionIs(it.Version)),
	}}))
}

// Org does the next piece of a deleted org's purge: it goes when its scopes are gone.
func (p *Purger) Org(ctx context.Context, it *table.Item, o entity.Org) (Next, error) {
	if o.Status != entity.OrgDeleting {
		return Next{Done: true}, nil
	}
	scopes, _, err := stored.List(ctx, p.Engine.Table, keys.Scopes(o.ID), 1, "")
	if err != nil {
		return Next{}, err
	}
	if len(scopes) > 0 {
		return Next{Wait: recompute.Settle}, nil
	}
	for _, in := range []span{
		bounds(keys.APIKeys(o.ID)), bounds(keys.Members(o.ID)),
	} {
		if more, err := p.sweep(ctx, in); more || err != nil {
			return Next{}, err
		}
	}
	return Next{Done: true}, ignoreChanged(p.Engine.Commit(ctx, table.Tx{Ops: []table.Op{
		table.Delete(it.Key, table.VersionIs(it.Version)),
		table.Delete(keys.Unique(keys.UniqueOrgName, o.Name).Raw(), table.Any()),
	}}))
}

// ignoreChanged: another worker was there first.
func ignoreChanged(err error) error {
	if errors.Is(err, recompute.ErrChanged) {
		return nil
	}
	return err
}
