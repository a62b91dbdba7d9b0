package recompute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Piece is how many documents one step brings up, at most.
const Piece = 50

// manyRoles is from how many roles on every policy of the scope is looked at,
// and not the members of each role.
const manyRoles = 40

// pass does one piece of listing the holders and bringing them up. When all are
// listed, the fan-out's next phase begins.
func (e *Engine) pass(ctx context.Context, r *entity.Recompute) error {
	if !r.Listed {
		if err := e.plan(ctx, r); err != nil {
			return err
		}
	}
	subjects, err := e.list(ctx, r)
	if err != nil {
		return err
	}
	wrote, err := e.catchUp(ctx, r, subjects)
	if err != nil {
		return err
	}
	r.Seen += len(subjects)
	r.Written += wrote
	if r.Everyone || len(r.Roles) > 0 {
		return nil
	}
	now := e.Clock.Now().UTC()
	r.Listed, r.Cursor = false, ""
	if r.Phase == entity.PhaseFirst {
		r.Phase = entity.PhaseFences
		return nil
	}
	r.Phase, r.NotBefore = entity.PhasePrune, now.Add(Settle)
	if old := r.Since.Add(MinimumAge); old.After(r.NotBefore) {
		r.NotBefore = old
	}
	return nil
}

// plan finds whose members hold the definition: the roles that reach it now. Of
// a permission these are the roles that have it and all that inherit them.
func (e *Engine) plan(ctx context.Context, r *entity.Recompute) error {
	r.Listed, r.Cursor, r.Roles, r.Everyone = true, "", nil, false
	if r.Kind != rbac.KindRole && r.Kind != rbac.KindPermission {
		r.Everyone = true // the collapsed entry, and what has no members of its own
		return nil
	}
	heirs := make(map[string][]rbac.RoleID) // by what is referred to: role ids, and permission ids after a NUL
	err := stored.All(ctx, e.Table, keys.Roles(r.Scope), func(row stored.Row[entity.Role]) bool {
		if row.Entity.Deleted {
			return true
		}
		for _, p := range row.Entity.Inherits {
			heirs[p.ID.String()] = append(heirs[p.ID.String()], row.Entity.ID)
		}
		for _, p := range row.Entity.Permissions {
			heirs["\x00"+p.ID.String()] = append(heirs["\x00"+p.ID.String()], row.Entity.ID)
		}
		return true
	})
	if err != nil {
		return err
	}
	seen := make(map[rbac.RoleID]bool)
	var todo []rbac.RoleID
	if r.Kind == rbac.KindPermission {
		todo = heirs["\x00"+r.ID]
	} else {
		id, err := rbac.ParseRoleID(r.ID) // a deleted one still has members whose documents name it
		if err != nil {
			return fmt.Errorf("recompute: %w", err)
		}
		todo = []rbac.RoleID{id}
	}
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		r.Roles = append(r.Roles, id)
		todo = append(todo, heirs[id.String()]...)
	}
	if len(r.Roles) > manyRoles {
		r.Roles, r.Everyone = nil, true
	}
	return nil
}

// list is the next piece of subjects. It takes what is exhausted off the plan.
func (e *Engine) list(ctx context.Context, r *entity.Recompute) (subjects []rbac.SubjectID, err error) {
	var next string
	switch {
	case r.Everyone:
		subjects, next, err = page(ctx, e, keys.Policies(r.Scope), r.Cursor, func(p entity.Policy) rbac.SubjectID { return p.Subject })
		r.Everyone = next != ""
	case len(r.Roles) > 0:
		subjects, next, err = page(ctx, e, keys.RoleMembers(r.Scope, r.Roles[0]), r.Cursor, func(m entity.RoleMember) rbac.SubjectID { return m.Subject })
		if next == "" {
			r.Roles = r.Roles[1:]
		}
	}
	r.Cursor = next
	return subjects, err
}

func page[E any](ctx context.Context, e *Engine, in keys.Range[E], cursor string, subject func(E) rbac.SubjectID) ([]rbac.SubjectID, string, error) {
	rows, next, err := stored.List(ctx, e.Table, in, Piece, cursor)
	if err != nil {
		return nil, "", err
	}
	out := make([]rbac.SubjectID, len(rows))
	for i, row := range rows {
		out[i] = subject(row.Entity)
	}
	return out, next, nil
}

// catchUpTries is how often documents that others write meanwhile, or that are
// not visible yet, are read again.
const catchUpTries = 12

// catchUp brings the subjects' documents to the fan-out's revision, and says
// how many it wrote. It writes from a document's own assignments only, and only
// on the version that it read; it creates none.
func (e *Engine) catchUp(ctx context.Context, r *entity.Recompute, subjects []rbac.SubjectID) (wrote int, err error) {
	for n := 0; len(subjects) > 0; n++ {
		if n == catchUpTries {
			return wrote, fmt.Errorf("%w: documents of %d subjects of %s", ErrChanged, len(subjects), r.Scope)
		}
		if n > 0 {
			if err := e.Clock.Sleep(ctx, min(time.Second, 5*time.Millisecond<<n)); err != nil {
				return wrote, err
			}
		}
		ops, open, err := e.behind(ctx, r, subjects)
		if err != nil {
			return wrote, err
		}
		failed, err := e.put(ctx, ops)
		if err != nil {
			return wrote, err
		}
		wrote += len(ops) - len(failed)
		subjects = open
		for _, i := range failed {
			subjects = append(subjects, ops[i].subject)
		}
	}
	return wrote, nil
}

type write struct {
	subject rbac.SubjectID
	op      table.Op
}

// behind reads documents and definitions in one snapshot and makes new documents
// of those below the revision; open are the subjects whose document is not
// visible yet.
func (e *Engine) behind(ctx context.Context, r *entity.Recompute, subjects []rbac.SubjectID) (ops []write, open []rbac.SubjectID, err error) {
	wanted := make([]keys.Raw, len(subjects))
	for i, u := range subjects {
		wanted[i] = keys.Access(r.Scope, u).Raw()
	}
	resolutions := make([]*rbac.Resolution, len(subjects))
	s, err := e.Snapshots.Read(ctx, snapshot.Request{Scope: r.Scope, With: wanted, Wanted: func(s snapshot.State) (missing []rbac.DefinitionID, err error) {
		for i, it := range s.With {
			resolutions[i] = nil
			if it == nil {
				continue
			}
			v, err := access.Parse(it.Blob)
			if err != nil {
				return nil, fmt.Errorf("recompute: %s: %w", it.Key, err)
			}
			if v.Revision() >= r.Revision || !v.Of(s.Head.Org, s.Head.Incarnation) {
				continue
			}
			as, err := v.Assignments()
			if err != nil {
				return nil, fmt.Errorf("recompute: %s: %w", it.Key, err)
			}
			resolutions[i] = rbac.Resolve(as, s.Defs)
			missing = append(missing, resolutions[i].Missing...)
		}
		return missing, nil
	}})
	if err != nil {
		return nil, nil, err
	}
	if s.Head == nil || s.Head.Deleted || s.Head.Incarnation != r.Incarnation {
		return nil, nil, nil // the scope went: there is nothing to bring up
	}
	for i, u := range subjects {
		if s.With[i] == nil {
			open = append(open, u) // half of a transaction: the document always comes with the member
			continue
		}
		if resolutions[i] == nil {
			continue
		}
		blob, err := access.Encode(access.Header{Org: s.Head.Org, Incarnation: s.Head.Incarnation, Revision: s.Head.Revision}, resolutions[i])
		if err != nil {
			return nil, nil, fmt.Errorf("recompute: %s: %w", s.With[i].Key, err)
		}
		ops = append(ops, write{u, table.Put(e.rewritten(s.With[i], blob), table.VersionIs(s.With[i].Version))})
	}
	return ops, open, nil
}

// rewritten is the document anew: who changed what it says stays as it was.
func (e *Engine) rewritten(old *table.Item, blob []byte) *table.Item {
	it := *old
	it.Version++
	it.UpdatedAt = e.Clock.Now().UTC()
	it.Actor, it.RequestID = actor, ""
	it.Blob = blob
	return &it
}

// Chunk is how many documents one transaction writes: enough to share a commit,
// few enough to let other writers in between.
const Chunk = Piece

// put writes documents; failed are those whose version had changed.
func (e *Engine) put(ctx context.Context, writes []write) (failed []int, err error) {
	for from := 0; from < len(writes); from += Chunk {
		part := writes[from:min(from+Chunk, len(writes))]
		skip := make([]bool, len(part))
		for {
			var tx table.Tx
			var at []int
			for i, w := range part {
				if !skip[i] {
					tx.Ops = append(tx.Ops, w.op)
					at = append(at, i)
				}
			}
			if len(tx.Ops) == 0 {
				break
			}
			err := e.transact(ctx, tx)
			e.changed(tx)
			var canceled *table.CanceledError
			if err == nil {
				break
			}
			if !errors.As(err, &canceled) {
				return nil, err
			}
			for i, reason := range canceled.Reasons {
				if reason.Failed {
					skip[at[i]] = true
					failed = append(failed, from+at[i])
				}
			}
		}
	}
	return failed, nil
}

func (e *Engine) changed(tx table.Tx) {
	if e.Changed == nil {
		return
	}
	ks := make([]keys.Raw, len(tx.Ops))
	for i, op := range tx.Ops {
		ks[i] = op.Key
	}
	e.Changed(ks)
}
