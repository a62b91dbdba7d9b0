// Package recompute keeps access documents true after definitions change
// (design rules 5 and 7): it brings the holders of a changed definition up, in
// pieces, and takes the definition's entry out of flux once no reader and no
// writer can come to an older document any more.
//
// A fan-out's progress is an item of its own. Every step can be done twice, by
// two workers, late, or from the beginning: documents are written on the
// version that was read, and the newest revision wins.
package recompute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// The waits of rule 7.
const (
	// Settle is how long an accepted transaction may take to become visible, with
	// margin; and how long a default reader may hold a document and HEAD.
	Settle = time.Minute
	// MinimumAge of an entry that leaves flux: margin for replicas.
	MinimumAge = 15 * time.Minute
)

// lease is how long a fan-out may rest before the scheduler takes it up again.
const lease = 2 * time.Minute

// Engine does fan-outs. Safe for concurrent use.
type Engine struct {
	Table     table.Store
	Snapshots *snapshot.Reader
	Clock     clock.Clock
	Backoff   retry.Backoff
	Changed   func([]keys.Raw) // told of documents and HEADs that were written; may be nil
}

// Job names a fan-out.
type Job struct {
	Scope rbac.ScopeID `json:"scope"`
	Name  uint64       `json:"name"`
}

// Begin notes that an entry stands in flux, and says whether there is something
// to do: a fan-out of the same definition at the same or a newer revision covers
// it, so bursts of edits become one. definition is zero for the collapsed entry.
func (e *Engine) Begin(ctx context.Context, scope rbac.ScopeID, h *head.Head, entry head.Entry, definition rbac.DefinitionID) (Job, bool, error) {
	job := Job{Scope: scope, Name: entry.Name}
	key := keys.Recompute(scope, entry.Name)
	now := e.Clock.Now().UTC()
	for n := 0; ; n++ {
		old, it, err := stored.Get(ctx, e.Table, key, table.Strong)
		if err != nil {
			return job, false, err
		}
		if it != nil && old.Incarnation == h.Incarnation && old.Revision >= entry.Revision {
			return job, old.Phase == entity.PhaseFirst, nil
		}
		next := entity.Recompute{
			Scope: scope, Incarnation: h.Incarnation, Kind: definition.Kind(), ID: definition.ID(), Name: entry.Name,
			Revision: entry.Revision, Since: entry.Since, Phase: entity.PhaseFirst, Started: now,
		}
		err = e.save(ctx, it, next, now.Add(lease))
		if again, err := e.again(ctx, n, err); err != nil || !again {
			return job, err == nil, err
		}
	}
}

// save writes a fan-out's progress on the version that was read.
func (e *Engine) save(ctx context.Context, old *table.Item, r entity.Recompute, due time.Time) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("recompute: %w", err)
	}
	now := e.Clock.Now().UTC()
	it := &table.Item{
		Key: keys.Recompute(r.Scope, r.Name).Raw(), Type: "Recompute", Version: table.VersionOf(old) + 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: actor, Body: body,
	}
	if old != nil {
		it.CreatedAt = old.CreatedAt
	}
	it.Index[keys.GSI4-1] = keys.Due(due, fmt.Sprintf("%s/%016x", r.Scope, r.Name))
	return e.transact(ctx, table.Tx{Ops: []table.Op{table.Put(it, table.VersionIs(table.VersionOf(old)))}})
}

// actor is who writes what no caller asked for.
const actor = "system:projector"

// ErrChanged says that what was read has changed since.
var ErrChanged = errors.New("recompute: changed since it was read")

// Commit commits what no caller asked for, and tells of it; a failed condition is
// ErrChanged.
func (e *Engine) Commit(ctx context.Context, tx table.Tx) error {
	err := e.transact(ctx, tx)
	e.changed(tx)
	return err
}

// transact commits; a failed condition is ErrChanged.
func (e *Engine) transact(ctx context.Context, tx table.Tx) error {
	for n := 0; ; n++ {
		err := e.Table.Transact(ctx, tx)
		var canceled *table.CanceledError
		if errors.As(err, &canceled) {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		if !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrThrottled) {
			return err
		}
		again, waitErr := e.Backoff.Wait(ctx, n)
		if waitErr != nil || !again {
			return errors.Join(err, waitErr)
		}
	}
}

// again says whether to read and try once more after ErrChanged.
func (e *Engine) again(ctx context.Context, n int, err error) (bool, error) {
	if !errors.Is(err, ErrChanged) {
		return false, err
	}
	again, waitErr := e.Backoff.Wait(ctx, n)
	if waitErr != nil || again {
		return again, waitErr
	}
	return false, err
}

// Next says how a fan-out goes on.
type Next struct {
	Done bool          // there is nothing left to do
	Wait time.Duration // before the next step
}

// Step does the next piece of a fan-out. A step that another worker did
// meanwhile is no error.
func (e *Engine) Step(ctx context.Context, job Job) (Next, error) {
	r, it, err := stored.Get(ctx, e.Table, keys.Recompute(job.Scope, job.Name), table.Strong)
	if err != nil || it == nil {
		return Next{Done: it == nil}, err
	}
	h, err := e.Head(ctx, job.Scope)
	if err != nil {
		return Next{}, err
	}
	if h == nil || h.Deleted || h.Incarnation != r.Incarnation || inFlux(h, r.Name) != r.Revision {
		return Next{Done: true}, e.forget(ctx, it) // gone, collapsed, or a newer fan-out's
	}
	now := e.Clock.Now().UTC()
	if now.Before(r.NotBefore) {
		return Next{Wait: r.NotBefore.Sub(now)}, nil
	}
	switch r.Phase {
	case entity.PhaseFirst, entity.PhaseSecond:
		err = e.pass(ctx, &r)
	case entity.PhaseFences:
		if err = e.RaiseFences(ctx, r.Scope); err == nil {
			r.Phase, r.NotBefore = entity.PhaseSecond, e.Clock.Now().UTC().Add(Settle)
		}
	case entity.PhasePrune:
		if err = e.prune(ctx, r); err == nil {
			return Next{Done: true}, e.forget(ctx, it)
		}
	default:
		err = fmt.Errorf("recompute: unknown phase %q of %s", r.Phase, it.Key)
	}
	if err != nil {
		return Next{}, err
	}
	due := now.Add(lease)
	if r.NotBefore.After(due) {
		due = r.NotBefore
	}
	if err := e.save(ctx, it, r, due); err != nil && !errors.Is(err, ErrChanged) {
		return Next{}, err
	}
	return Next{Wait: max(0, r.NotBefore.Sub(e.Clock.Now()))}, nil
}

// forget removes a fan-out that is over, unless a newer one took its place.
func (e *Engine) forget(ctx context.Context, it *table.Item) error {
	err := e.transact(ctx, table.Tx{Ops: []table.Op{table.Delete(it.Key, table.VersionIs(it.Version))}})
	if errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// inFlux is the revision of an entry, 0 when it is not there.
func inFlux(h *head.Head, name uint64) rbac.Revision {
	if name == 0 {
		return h.All.Revision
	}
	for _, f := range h.Flux {
		if f.Name == name {
			return f.Revision
		}
	}
	return 0
}

// Head reads HEAD as transactions see it; nil when there is none.
func (e *Engine) Head(ctx context.Context, s rbac.ScopeID) (*head.Head, error) {
	items, err := e.Snapshots.Get(ctx, []keys.Raw{keys.Head(s).Raw()})
	if err != nil || items[0] == nil {
		return nil, err
	}
	return head.Decode(items[0])
}
