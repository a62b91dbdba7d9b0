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
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Scope names one incarnation of a scope, as its HEAD showed it when the caller
// was let in. A scope that was deleted since, or taken by another org, is not found.
type Scope struct {
	Org         rbac.OrgID
	ID          rbac.ScopeID
	Incarnation uint64
}

// ErrNoScope is the fault of a scope that is missing, deleted or another org's.
var ErrNoScope = fault.New(fault.NotFound, "no such scope")

func (s Scope) check(h *head.Head) error {
	if h == nil || h.Deleted || h.Org != s.Org || h.Incarnation != s.Incarnation {
		return ErrNoScope
	}
	return nil
}

// Precondition tests what the caller demands of the resource as it is (If-Match
// and the like); a fault refuses the change. nil demands nothing.
type Precondition func(exists bool, version uint64) error

func (p Precondition) test(exists bool, version uint64) error {
	if p == nil {
		return nil
	}
	return p(exists, version)
}

// definition is one definition write (rule 1): what differs between permissions
// and roles.
type definition struct {
	scope  Scope
	id     rbac.DefinitionID
	key    keys.Raw
	kind   string // the item's type
	entity string // as events name it
	// wanted returns the definitions that deciding needs and that are not read yet.
	wanted func(snapshot.State) ([]rbac.DefinitionID, error)
	// decide plans the change of old, the item that stands there, nil when there
	// is none. It is asked again whenever HEAD moved.
	decide func(ctx context.Context, s snapshot.State, old *table.Item) (change, error)
}

// change is what a definition is to become.
type change struct {
	unchanged bool
	// content makes the new content given its state; nil deletes.
	content func(rbac.State) any
	old     rbac.State // the zero State: the id was never used before
	// show is the resource as events and answers show it.
	show  func(*table.Item) (any, error)
	count func(h *head.Head, by int) // the scope's counter of this kind
}

// writeDefinition writes the definition and HEAD in one transaction, conditioned
// on the HEAD that was read before validating: definition writes of a scope are
// serial, and what one of them validated still holds when it is committed.
func (w *Writer) writeDefinition(ctx context.Context, req *Request, d definition) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		s, err := w.Snapshots.Read(ctx, snapshot.Request{
			Scope: d.scope.ID,
			With:  []keys.Raw{d.key},
			Wanted: func(s snapshot.State) ([]rbac.DefinitionID, error) {
				if err := d.scope.check(s.Head); err != nil || d.wanted == nil {
					return nil, err
				}
				return d.wanted(s)
			},
		})
		if err != nil {
			return nil, err
		}
		if err := d.scope.check(s.Head); err != nil {
			return nil, err
		}
		if err := w.settled(ctx, d.scope.ID, s.Head); err != nil {
			return nil, err
		}
		c, err := d.decide(ctx, s, s.With[0])
		if err != nil {
			return nil, err
		}
		if c.unchanged {
			return &plan{outcome: Outcome{
				Item: s.With[0], Unchanged: true,
				Revision: revision.OfDefinition(d.scope.ID, s.Head.Revision).String(),
			}}, nil
		}
		return d.plan(req, s, c)
	})
}

func (d definition) plan(req *Request, s snapshot.State, c change) (*plan, error) {
	old := s.With[0]
	was := old != nil && !c.old.Deleted
	// An id that was used before needs an entry in flux, whoever holds it; one
	// never used before is in no document.
	next := s.Head.Raised(d.id, old != nil, req.Time)
	state := rbac.State{Incarnation: c.old.Incarnation, Revision: next.Revision}
	if !was {
		state.Incarnation = rbac.Incarnation(next.Revision)
	}
	e := &events.Event{Org: d.scope.Org.String(), Scope: new(d.scope.ID.String()), Target: events.Target{Type: d.entity, ID: d.id.ID()}}
	var it *table.Item
	var err error
	verb := "updated"
	if c.content == nil {
		verb = "deleted"
		state.Deleted = true
		c.count(&next, -1)
		it, err = req.tombstone(d, old, state)
	} else {
		if !was {
			verb = "created"
			c.count(&next, 1)
		}
		it, err = req.body(d.key, d.kind, table.VersionOf(old)+1, old, c.content(state))
		if err == nil && !was {
			it.CreatedAt = req.Time
		}
	}
	if err != nil {
		return nil, err
	}
	e.Type = d.entity + "." + verb
	if was {
		if e.Before, err = showItem(c.show, old); err != nil {
			return nil, err
		}
	}
	out := Outcome{Created: !was, Revision: revision.OfDefinition(d.scope.ID, next.Revision).String()}
	if !state.Deleted {
		out.Item = it
		if e.After, err = showItem(c.show, it); err != nil {
			return nil, err
		}
	}
	headItem := req.item(keys.Head(d.scope.ID).Raw(), "Head", next.Version, nil)
	headItem.Blob = next.Encode()
	return &plan{
		outcome: out,
		ops: []table.Op{
			table.Put(headItem, table.VersionIs(s.Head.Version)),
			table.Put(it, table.VersionIs(table.VersionOf(old))),
		},
		event: e,
	}, nil
}

// live is the definition that an item holds; a tombstone gives its state and
// false, no item the zero definition.
func live[E interface{ Tombstone() bool }](it *table.Item) (e E, exists bool, err error) {
	if it == nil {
		return e, false, nil
	}
	e, err = stored.Decode[E](it)
	return e, err == nil && !e.Tombstone(), err
}

// showing makes a change's show of how a resource shows an entity.
func showing[E, R any](of func(*table.Item, E) R) func(*table.Item) (any, error) {
	return func(it *table.Item) (any, error) {
		e, err := stored.Decode[E](it)
		return of(it, e), err
	}
}

func showItem(show func(*table.Item) (any, error), it *table.Item) ([]byte, error) {
	v, err := show(it)
	if err != nil {
		return nil, err
	}
	return shown(v)
}

// tombstone is what a deleted definition leaves: its id and state.
func (req *Request) tombstone(d definition, old *table.Item, state rbac.State) (*table.Item, error) {
	var content any
	if p, ok := d.id.Permission(); ok {
		content = entity.Permission{Permission: rbac.Permission{ID: p, State: state}}
	} else if r, ok := d.id.Role(); ok {
		content = entity.Role{Role: rbac.Role{ID: r, State: state}}
	}
	return req.body(d.key, d.kind, old.Version+1, old, content)
}

// settled waits until the definition written last shows in a plain read. Every
// definition write does so, also one that lists nothing: so whatever a
// consistent Query shows to the next one is complete up to HEAD's revision.
func (w *Writer) settled(ctx context.Context, scope rbac.ScopeID, h *head.Head) error {
	if h.Last.IsZero() {
		return nil
	}
	for n := range settleTries {
		at, err := w.revisionOf(ctx, scope, h.Last)
		if err != nil || at >= h.Revision {
			return err
		}
		if err := w.Clock.Sleep(ctx, min(time.Second, settleBase<<n)); err != nil {
			return err
		}
	}
	return fault.BusyAfter(time.Second, errors.New("write: the last definition is not visible yet"))
}

// An accepted transaction becomes visible to plain reads within milliseconds;
// the bound, about 20 s, is the protocol's.
const (
	settleTries = 26
	settleBase  = 10 * time.Millisecond
)
