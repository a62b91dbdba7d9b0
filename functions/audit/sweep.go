package audit

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// actor is who notices what nobody asked for.
var actor = events.Actor{Type: "system", ID: "audit"}

// ErrUnsearched says that there were too many events around a change to look
// through for the one that claims it; it is looked for again.
var ErrUnsearched = errors.New("audit: the search for a change's event was not finished")

// lostAfter is how old an event is when it counts as one that the stream did not
// bring.
const lostAfter = 10 * time.Minute

// sweepEvery is how often Sweep looks for chains that were never begun.
const sweepEvery = time.Hour

// Checkpoint takes up every chain whose newest checkpoint is an hour old, whether
// events came or not: it appends the events that are ten minutes old and that the
// stream did not bring, and signs the next checkpoint. What fails does not keep
// other chains from theirs.
func (a *Audit) Checkpoint(ctx context.Context, now time.Time) error {
	return a.Log.Due(ctx, keys.CheckpointDue, now, func(it *table.Item) error {
		c, err := stored.Decode[entity.Chain](it)
		if err != nil {
			return err
		}
		id := trail.ID{Org: c.Org, Scope: c.Scope}
		swept, err := a.redrive(ctx, id, c.Swept, now)
		return errors.Join(err, a.Log.Sign(ctx, id, now, swept, a.Key))
	})
}

// redrive appends a chain's events that the stream did not bring, and returns
// until when none is missing now.
func (a *Audit) redrive(ctx context.Context, id trail.ID, from, now time.Time) (time.Time, error) {
	lost, until, err := a.Log.Lost(ctx, id, from, now.Add(-lostAfter), func(cause error) {
		a.Report.ErrorContext(ctx, "an event can't be read", "error", cause)
	})
	if err != nil || len(lost) == 0 {
		return until, err
	}
	a.Report.WarnContext(ctx, "events are taken up that the stream did not bring", "chain", id.String(), "events", len(lost), "oldest", lost[0].Event.Time)
	b := newAppends()
	for i, p := range lost {
		b.add(i, p)
	}
	for _, id := range b.order {
		if _, err := a.append(ctx, b.of[id]); err != nil {
			return from, err
		}
	}
	return until, nil
}

// Sweep takes up changes whose event did not come and, once an hour, chains
// whose very first events the stream did not bring. It is bounded; what is left
// waits for the next call, and what fails does not keep the rest from it.
func (a *Audit) Sweep(ctx context.Context, now time.Time) error {
	failed := a.Log.Due(ctx, keys.SuspicionDue, now, func(it *table.Item) error {
		return a.judge(ctx, it, now.UTC().Round(0))
	})
	if !a.sweepDue(now) {
		return failed
	}
	return errors.Join(failed, a.begin(ctx, now))
}

func (a *Audit) sweepDue(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.swept) < sweepEvery {
		return false
	}
	a.swept = now
	return true
}

// begin visits the chains of all orgs and scopes that have no events yet. The
// others are looked after with their checkpoints.
func (a *Audit) begin(ctx context.Context, now time.Time) error {
	var failed error
	visit := func(id trail.ID) {
		begun, err := a.Log.Begun(ctx, id)
		if err == nil && !begun {
			_, err = a.redrive(ctx, id, time.Time{}, now)
		}
		failed = errors.Join(failed, err)
	}
	err := stored.All(ctx, a.Table, keys.OrgsByName(), func(o stored.Row[entity.Org]) bool {
		visit(trail.ID{Org: o.Entity.ID})
		failed = errors.Join(failed, stored.All(ctx, a.Table, keys.Scopes(o.Entity.ID), func(s stored.Row[entity.Scope]) bool {
			visit(trail.ID{Org: o.Entity.ID, Scope: s.Entity.ID})
			return ctx.Err() == nil
		}))
		return ctx.Err() == nil
	})
	return errors.Join(err, failed)
}

// judge looks once more for the event that claims a change; without one the
// change becomes an event itself.
func (a *Audit) judge(ctx context.Context, it *table.Item, now time.Time) error {
	s, err := stored.Decode[entity.Suspicion](it)
	if err != nil {
		return err
	}
	claimed, err := a.claimed(ctx, s)
	if err != nil {
		return err
	}
	s.Settled, s.Audited = now, !claimed
	next, err := suspicionItem(it.Key, s, it, now)
	if err != nil {
		return err
	}
	tx := table.Tx{Ops: []table.Op{table.Put(next, table.VersionIs(it.Version))}}
	if !claimed {
		e, err := outOfBand(s)
		if err != nil {
			return err
		}
		put, err := trail.Outbox(e, now)
		if err != nil {
			return err
		}
		tx.Ops = append(tx.Ops, put)
		a.Report.ErrorContext(ctx, "a change has no event", "kind", s.Kind, "org", s.Org.String(), "event", s.EventID)
	}
	err = a.Table.Transact(ctx, tx)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return nil // judged by another worker
	}
	return err
}

// The bounds of a search.
const (
	searchAround  = 10 * time.Minute // so far from the change its event is looked for
	searchQueries = 40
	searchPage    = 1000
)

// claimed looks for the change's event in the outboxes it can be in, and through
// the org's log.
func (a *Audit) claimed(ctx context.Context, s entity.Suspicion) (bool, error) {
	written := s.After != nil
	if written && s.Claim == "" {
		return false, nil
	}
	if !written {
		if purged, err := a.beingPurged(ctx, s); purged || err != nil {
			return purged, err
		}
	}
	target := events.Target{Type: s.Kind, ID: s.ID}
	claims := func(e *events.Event) bool {
		if written {
			return e.ID == s.Claim
		}
		return e.Target == target && removes(e)
	}
	for _, id := range []trail.ID{{Org: s.Org, Scope: s.Scope}, {Org: s.Org}} {
		waiting, _, err := a.Log.Lost(ctx, id, s.At.Add(-searchAround), s.At.Add(searchAround), func(error) {})
		if err != nil {
			return false, err
		}
		for i := range waiting {
			if claims(&waiting[i].Event) {
				return true, nil
			}
		}
	}
	return a.inLog(ctx, s, claims)
}

func (a *Audit) inLog(ctx context.Context, s entity.Suspicion, claims func(*events.Event) bool) (bool, error) {
	w := a.Log.OrgWindow(s.At.Add(-searchAround), trail.Span{})
	reading, err := a.Log.Org(s.Org, w, trail.How{Ascending: true, Page: searchPage, Queries: searchQueries})
	if err != nil {
		return false, err
	}
	for {
		rec, ok, err := reading.Next(ctx)
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		if claims(&rec.Event) {
			return true, nil
		}
	}
	if _, more := reading.Rest(); more {
		return false, ErrUnsearched
	}
	return false, nil
}

func outOfBand(s entity.Suspicion) (events.Event, error) {
	e := events.Event{
		ID: s.EventID, Type: events.OutOfBand, Org: s.Org.String(), Actor: actor,
		Target: events.Target{Type: s.Kind, ID: s.ID},
	}
	if !s.Scope.IsZero() {
		e.Scope = new(s.Scope.String())
	}
	var err error
	if e.Before, err = shown(s.Before); err != nil {
		return e, err
	}
	e.After, err = shown(s.After)
	return e, err
}

func shown(t *entity.Trace) ([]byte, error) {
	if t == nil {
		return nil, nil
	}
	return json.Marshal(t)
}
