package recompute

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Drift is a document, or what goes with it, that differs from what its policy
// and the definitions come to.
type Drift struct {
	Subject  rbac.SubjectID `json:"subject"`
	Kind     DriftKind      `json:"kind"`
	Repaired bool           `json:"repaired,omitzero"`
}

// DriftKind is what differs.
type DriftKind string

// The kinds of drift.
const (
	DriftNoDocument  DriftKind = "no-document" // a policy without a document
	DriftAssignments DriftKind = "assignments" // document and policy hold different assignments
	DriftGrants      DriftKind = "grants"      // not what its own revision's definitions grant
	DriftMember      DriftKind = "role-member" // a role held without its member item
	DriftScope       DriftKind = "subject-scope"
)

// Report is what a verification found.
type Report struct {
	Checked int     `json:"checked"`
	Drifted []Drift `json:"drifted"`
	Cursor  string  `json:"next_cursor,omitempty"` // where to go on; empty: all was looked at
}

// Verify compares one page of the scope's policies with their documents, and
// with repair writes what differs anew from the policy. A document that is stale
// by flux is no drift: its grants are not used.
func (e *Engine) Verify(ctx context.Context, scope rbac.ScopeID, limit int, cursor string, repair bool) (Report, error) {
	report := Report{Drifted: []Drift{}}
	rows, next, err := stored.List(ctx, e.Table, keys.Policies(scope), limit, cursor)
	if err != nil {
		return report, err
	}
	report.Cursor = next
	for _, row := range rows {
		d, drifted, err := e.Compare(ctx, scope, row.Entity.Subject, repair)
		if err != nil {
			return report, err
		}
		report.Checked++
		if drifted {
			report.Drifted = append(report.Drifted, d)
		}
	}
	return report, nil
}

// comparison is one subject's policy and document as they were together.
type comparison struct {
	state    snapshot.State
	policy   entity.Policy
	held     []rbac.Assignment
	resolved *rbac.Resolution // of the policy, by HEAD's definitions
}

const (
	withPolicy = iota
	withAccess
)

// Compare compares one subject's policy with its document, in one snapshot.
func (e *Engine) Compare(ctx context.Context, scope rbac.ScopeID, u rbac.SubjectID, repair bool) (Drift, bool, error) {
	d := Drift{Subject: u}
	for n := 0; ; n++ {
		c, err := e.compare(ctx, scope, u)
		if err != nil || c.state.Head == nil || c.state.Head.Deleted || c.state.With[withPolicy] == nil {
			return d, false, err
		}
		kind, err := c.drift()
		if err != nil {
			return d, false, err
		}
		ops, err := e.companions(ctx, scope, u, c, &kind)
		if err != nil || kind == "" {
			return d, false, err
		}
		d.Kind = kind
		if !repair {
			return d, true, nil
		}
		op, err := e.anew(scope, u, c)
		if err != nil {
			return d, false, err
		}
		tx := table.Tx{Ops: append(ops, op, table.Check(keys.Policy(scope, u).Raw(), table.VersionIs(c.state.With[withPolicy].Version)))}
		err = e.transact(ctx, tx)
		e.changed(tx)
		again, err := e.again(ctx, n, err)
		if err != nil {
			return d, true, err
		}
		if !again {
			d.Repaired = true
			return d, true, nil
		}
	}
}

func (e *Engine) compare(ctx context.Context, scope rbac.ScopeID, u rbac.SubjectID) (c comparison, err error) {
	c.state, err = e.Snapshots.Read(ctx, snapshot.Request{
		Scope: scope,
		With:  []keys.Raw{withPolicy: keys.Policy(scope, u).Raw(), withAccess: keys.Access(scope, u).Raw()},
		Wanted: func(s snapshot.State) ([]rbac.DefinitionID, error) {
			if s.With[withPolicy] == nil {
				return nil, nil
			}
			var err error
			if c.policy, err = stored.Decode[entity.Policy](s.With[withPolicy]); err != nil {
				return nil, err
			}
			c.held = c.policy.Domain()
			c.resolved = rbac.Resolve(c.held, s.Defs)
			return c.resolved.Missing, nil
		},
	})
	return c, err
}

// drift is how the document differs; empty: it does not.
func (c comparison) drift() (DriftKind, error) {
	h, it := c.state.Head, c.state.With[withAccess]
	if it == nil {
		return DriftNoDocument, nil
	}
	v, err := access.Parse(it.Blob)
	if errors.Is(err, access.ErrCorrupt) {
		return DriftGrants, nil
	}
	if err != nil {
		return "", err
	}
	as, err := v.Assignments()
	if err != nil || !v.Of(h.Org, h.Incarnation) || !rbac.SameAssignments(as, c.held) {
		return DriftAssignments, nil //nolint:nilerr // a document that can't be read differs
	}
	if v.GrantsKept() && h.Stale(&v) {
		return "", nil
	}
	want, err := access.Encode(access.Header{Org: h.Org, Incarnation: h.Incarnation, Revision: v.Revision()}, c.resolved)
	if err != nil {
		return "", fmt.Errorf("recompute: %s: %w", it.Key, err)
	}
	if !bytes.Equal(want, it.Blob) {
		return DriftGrants, nil
	}
	return "", nil
}

// companions are what is missing beside the document; kind is set when it was empty.
func (e *Engine) companions(ctx context.Context, scope rbac.ScopeID, u rbac.SubjectID, c comparison, kind *DriftKind) (ops []table.Op, err error) {
	where := keys.SubjectScope(c.state.Head.Org, u, scope)
	if _, it, err := stored.Get(ctx, e.Table, where, table.Strong); err != nil {
		return nil, err
	} else if it == nil {
		*kind = firstKind(*kind, DriftScope)
		ops = append(ops, e.put1(where.Raw(), "SubjectScope", entity.SubjectScope{Scope: scope}, &err))
	}
	done := make(map[rbac.RoleID]bool)
	for _, a := range c.held {
		if done[a.Role.ID] {
			continue
		}
		done[a.Role.ID] = true
		k := keys.RoleMember(scope, a.Role.ID, u)
		m, it, getErr := stored.Get(ctx, e.Table, k, table.Strong)
		if getErr != nil {
			return nil, getErr
		}
		if it != nil && m.Incarnation == a.Role.Incarnation {
			continue
		}
		*kind = firstKind(*kind, DriftMember)
		member := entity.RoleMember{Subject: u, Incarnation: a.Role.Incarnation}
		if !a.Expiry.Never() {
			member.ExpiresAt = new(a.Expiry.Time())
		}
		ops = append(ops, e.put1(k.Raw(), "RoleMember", member, &err))
	}
	return ops, err
}

func firstKind(old, found DriftKind) DriftKind {
	if old != "" {
		return old
	}
	return found
}

// put1 writes a companion anew.
func (e *Engine) put1(key keys.Raw, kind string, content any, failed *error) table.Op {
	body, err := json.Marshal(content)
	if err != nil {
		*failed = fmt.Errorf("recompute: %w", err)
	}
	now := e.Clock.Now().UTC()
	return table.Put(&table.Item{
		Key: key, Type: kind, Version: 1, Format: entity.Format, CreatedAt: now, UpdatedAt: now, Actor: actor, Body: body,
	}, table.Any())
}

// anew writes the document from the policy, above both versions.
func (e *Engine) anew(scope rbac.ScopeID, u rbac.SubjectID, c comparison) (table.Op, error) {
	h, old := c.state.Head, c.state.With[withAccess]
	blob, err := access.Encode(access.Header{Org: h.Org, Incarnation: h.Incarnation, Revision: h.Revision}, c.resolved)
	if err != nil {
		return table.Op{}, fmt.Errorf("recompute: %w", err)
	}
	base := old
	if base == nil {
		now := e.Clock.Now().UTC()
		base = &table.Item{Key: keys.Access(scope, u).Raw(), Type: "Access", Format: entity.Format, CreatedAt: now}
	}
	it := e.rewritten(base, blob)
	it.Version = max(table.VersionOf(old), c.state.With[withPolicy].Version) + 1
	return table.Put(it, table.VersionIs(table.VersionOf(old))), nil
}
