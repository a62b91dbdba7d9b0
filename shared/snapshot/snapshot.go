// Package snapshot reads HEAD and definitions of a scope as they were together
// at one revision (design rule 2). Whoever computes grants reads through it:
// policy writes, checks of stale documents, definition writes.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// restarts is how often a read starts again because HEAD moved between its pieces.
const restarts = 8

// Reader reads snapshots.
type Reader struct {
	Table   table.Reader
	Cache   *Cache
	Backoff retry.Backoff
	// Piece is how many definitions one transaction reads, 99 at most; 0 means that.
	Piece int
}

// State is what was read: all of it at Head's revision.
type State struct {
	Head *head.Head // nil: there is no such scope
	Defs *rbac.Definitions
	With []*table.Item // as asked for, in one snapshot with HEAD
}

// Request names what to read.
type Request struct {
	Scope rbac.ScopeID
	// With are further items to read in one snapshot with HEAD.
	With []keys.Raw
	// First are definitions that will be wanted whatever With holds.
	First []rbac.DefinitionID
	// Wanted returns the definitions that are still to be read, some maybe twice.
	// It is asked until it wants none; an error ends the read.
	Wanted func(State) ([]rbac.DefinitionID, error)
}

// Read reads HEAD and what the request names. It starts again when HEAD's
// revision moves in between, and gives up as fault.Busy.
func (r *Reader) Read(ctx context.Context, req Request) (State, error) {
	for range restarts {
		ids := unique(r.Cache.likely(req.Scope, req.First))
		s, err := r.first(ctx, req, ids)
		if err != nil || s.Head == nil {
			return s, err
		}
		done, err := r.complete(ctx, req.Scope, s, req.Wanted)
		if err != nil || done {
			return s, err
		}
	}
	return State{}, fault.BusyAfter(time.Second, errors.New("snapshot: HEAD keeps moving"))
}

// At completes definitions at the revision of a HEAD that was read before.
// moved says that they can't be read at that revision any more.
func (r *Reader) At(ctx context.Context, scope rbac.ScopeID, h *head.Head, wanted func(State) ([]rbac.DefinitionID, error)) (s State, moved bool, err error) {
	s = State{Head: h, Defs: new(rbac.Definitions)}
	done, err := r.complete(ctx, scope, s, wanted)
	return s, !done, err
}

func (r *Reader) first(ctx context.Context, req Request, ids []rbac.DefinitionID) (State, error) {
	ids = ids[:min(len(ids), max(0, r.piece()-len(req.With)))]
	h, items, err := r.transact(ctx, req.Scope, req.With, ids)
	if err != nil || h == nil {
		return State{}, err
	}
	s := State{Head: h, Defs: new(rbac.Definitions), With: items[:len(req.With)]}
	return s, r.keep(req.Scope, s, ids, items[len(req.With):])
}

// complete reads what is wanted, in pieces that all show HEAD's revision; done
// is false when one of them did not.
func (r *Reader) complete(ctx context.Context, scope rbac.ScopeID, s State, wanted func(State) ([]rbac.DefinitionID, error)) (done bool, err error) {
	for {
		ids, err := wanted(s)
		if err != nil || len(ids) == 0 {
			return true, err
		}
		missing := unique(r.Cache.fill(scope, s.Head, ids, s.Defs))
		for len(missing) > 0 {
			piece := missing[:min(len(missing), r.piece())]
			missing = missing[len(piece):]
			h, items, err := r.transact(ctx, scope, nil, piece)
			if err != nil {
				return false, err
			}
			if h == nil || h.Revision != s.Head.Revision || h.Incarnation != s.Head.Incarnation {
				return false, nil
			}
			if err := r.keep(scope, s, piece, items); err != nil {
				return false, err
			}
		}
	}
}

// unique leaves each id once: several documents may want the same definition,
// and a transaction names no item twice.
func unique(ids []rbac.DefinitionID) []rbac.DefinitionID {
	if len(ids) < 2 {
		return ids
	}
	seen := make(map[rbac.DefinitionID]bool, len(ids))
	out := ids[:0:0]
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

func (r *Reader) piece() int {
	if r.Piece > 0 {
		return r.Piece
	}
	return table.MaxSnapshotGet - 1
}

// transact reads HEAD, other items and definitions in one transaction.
func (r *Reader) transact(ctx context.Context, scope rbac.ScopeID, with []keys.Raw, ids []rbac.DefinitionID) (*head.Head, []*table.Item, error) {
	wanted := make([]keys.Raw, 0, 1+len(with)+len(ids))
	wanted = append(append(wanted, keys.Head(scope).Raw()), with...)
	for _, id := range ids {
		k, err := definitionKey(scope, id)
		if err != nil {
			return nil, nil, err
		}
		wanted = append(wanted, k)
	}
	items, err := r.Get(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	if items[0] == nil {
		return nil, items[1:], nil
	}
	h, err := head.Decode(items[0])
	return h, items[1:], err
}

// Get is TransactGet with its conflicts and throttles tried again, then fault.Busy.
func (r *Reader) Get(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	for n := 0; ; n++ {
		items, err := r.Table.TransactGet(ctx, wanted)
		if !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrThrottled) {
			return items, err
		}
		again, waitErr := r.Backoff.Wait(ctx, n)
		if waitErr != nil {
			return nil, waitErr
		}
		if !again {
			return nil, fault.BusyAfter(time.Second, err)
		}
	}
}

func (r *Reader) keep(scope rbac.ScopeID, s State, ids []rbac.DefinitionID, items []*table.Item) error {
	if len(ids) == 0 {
		return nil
	}
	got := make([]definition, len(ids))
	for i, id := range ids {
		d, err := decode(id, items[i])
		if err != nil {
			return err
		}
		got[i] = d
		put(s.Defs, id, d)
	}
	r.Cache.add(scope, s.Head, ids, got)
	return nil
}

func definitionKey(scope rbac.ScopeID, id rbac.DefinitionID) (keys.Raw, error) {
	if p, ok := id.Permission(); ok {
		return keys.Permission(scope, p).Raw(), nil
	}
	if r, ok := id.Role(); ok {
		return keys.Role(scope, r).Raw(), nil
	}
	return keys.Raw{}, fmt.Errorf("snapshot: no stored definition of kind %q", id.Kind())
}

func decode(id rbac.DefinitionID, it *table.Item) (d definition, err error) {
	if it == nil {
		return definition{}, nil
	}
	switch id.Kind() {
	case rbac.KindPermission:
		var e entity.Permission
		e, err = stored.Decode[entity.Permission](it)
		d.permission = &e.Permission
	case rbac.KindRole:
		var e entity.Role
		e, err = stored.Decode[entity.Role](it)
		d.role = &e.Role
	case rbac.KindMapping, rbac.KindConstraint:
	}
	return d, err
}
