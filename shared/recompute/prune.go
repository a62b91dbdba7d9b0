package recompute

import (
	"context"
	"errors"
	"slices"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// RaiseFences makes every assignment in flight fail and start again: what
// commits from now on has read the definitions after now. The fences are read by
// a snapshot: a plain read may not show a raise from before yet, and one that is
// older than now stops nobody who read it.
func (e *Engine) RaiseFences(ctx context.Context, s rbac.ScopeID) error {
	wanted := make([]keys.Raw, keys.Fences)
	for k := range wanted {
		wanted[k] = keys.Fence(s, k).Raw()
	}
	items, err := e.Snapshots.Get(ctx, wanted)
	if err != nil {
		return err
	}
	now := e.Clock.Now().UTC()
	for k, old := range items {
		it := &table.Item{
			Key: wanted[k], Type: "Fence", Version: table.VersionOf(old) + 1, Format: entity.Format,
			CreatedAt: now, UpdatedAt: now, Actor: actor,
		}
		err := e.transact(ctx, table.Tx{Ops: []table.Op{table.Put(it, table.VersionIs(table.VersionOf(old)))}})
		if err != nil && !errors.Is(err, ErrChanged) { // changed: someone else raised it meanwhile, which serves as well
			return err
		}
	}
	return nil
}

// prune takes the entry out of flux, if it is unchanged. It raises HEAD's
// version, not its revision: no definition changed.
func (e *Engine) prune(ctx context.Context, r entity.Recompute) error {
	for n := 0; ; n++ {
		items, err := e.Snapshots.Get(ctx, []keys.Raw{keys.Head(r.Scope).Raw()})
		if err != nil || items[0] == nil {
			return err
		}
		h, err := head.Decode(items[0])
		if err != nil || inFlux(h, r.Name) != r.Revision || h.Incarnation != r.Incarnation {
			return err
		}
		next := *h
		if r.Name == 0 {
			next.All = head.Entry{}
		} else {
			next.Flux = slices.DeleteFunc(slices.Clone(h.Flux), func(f head.Entry) bool { return f.Name == r.Name })
		}
		next.Floor = max(next.Floor, r.Revision)
		it := *items[0]
		it.Version++
		it.UpdatedAt, it.Actor, it.RequestID = e.Clock.Now().UTC(), actor, ""
		it.Blob = next.Encode()
		tx := table.Tx{Ops: []table.Op{table.Put(&it, table.VersionIs(h.Version))}}
		err = e.transact(ctx, tx)
		e.changed(tx)
		if again, err := e.again(ctx, n, err); err != nil || !again {
			return err
		}
	}
}
