package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	// MaxAppend is how many events one transaction appends: two items each, and
	// the head.
	MaxAppend = 45
	// maxAppendBytes bounds their event items; each is written twice, and a
	// transaction has at most 4 MB.
	maxAppendBytes = 1_500_000
	// rounds bounds how often one transaction is built anew.
	rounds = 20
)

// checkpointEvery is how old a chain's newest checkpoint gets.
const checkpointEvery = time.Hour

// Append puts events of one chain into it, in their order, and returns all of
// them as the chain has them: also those that were there before. One whose audit
// item is past its retention is left out. Errors: table.ErrThrottled and the
// like once retries are used up, ErrOccupied, ErrOutbox.
func (l *Log) Append(ctx context.Context, batch []Pending) ([]events.Event, error) {
	batch = once(batch)
	done := make([]events.Event, 0, len(batch))
	for len(batch) > 0 {
		n, bytes := 0, 0
		for n < len(batch) && n < MaxAppend && (n == 0 || bytes+table.Size(batch[n].item) <= maxAppendBytes) {
			bytes += table.Size(batch[n].item)
			n++
		}
		part, err := l.appendPart(ctx, batch[0].Chain, batch[:n])
		done = append(done, part...)
		if err != nil {
			return done, err
		}
		batch = batch[n:]
	}
	return done, nil
}

// once leaves out what the stream told twice.
func once(batch []Pending) []Pending {
	seen := make(map[string]bool, len(batch))
	kept := make([]Pending, 0, len(batch))
	for _, p := range batch {
		if !seen[p.Event.ID] {
			seen[p.Event.ID] = true
			kept = append(kept, p)
		}
	}
	return kept
}

// appendPart appends what fits one transaction.
func (l *Log) appendPart(ctx context.Context, id ID, batch []Pending) ([]events.Event, error) {
	a := attempt{log: l, id: id, waiting: make([]Pending, 0, len(batch)), seqs: make(map[string]uint64, len(batch))}
	for _, p := range batch {
		if p.Marked() {
			a.seqs[p.Event.ID] = p.body.Seq
		} else {
			a.waiting = append(a.waiting, p)
		}
	}
	if err := a.run(ctx); err != nil {
		return nil, err
	}
	return a.result(ctx, batch)
}

// attempt is one transaction until it is committed.
type attempt struct {
	log     *Log
	id      ID
	head    entity.Chain
	item    *table.Item // of head; nil: the chain has no events
	known   bool        // head was read
	waiting []Pending
	seqs    map[string]uint64       // of events that are in the chain already, by their ids
	sealed  map[string]events.Event // by this attempt
}

func (a *attempt) run(ctx context.Context) error {
	failures := 0
	for range rounds {
		if len(a.waiting) == 0 {
			return nil
		}
		if !a.known {
			var err error
			if a.head, a.item, err = stored.Get(ctx, a.log.Table, a.id.head(), table.Strong); err != nil {
				return err
			}
			a.known = true
		}
		tx, sealed, err := a.build(ctx)
		if err != nil {
			return err
		}
		err = a.log.Table.Transact(ctx, tx)
		var canceled *table.CanceledError
		switch {
		case err == nil:
			a.sealed = sealed
			return nil
		case errors.As(err, &canceled):
			if err := a.learn(canceled); err != nil {
				return err
			}
		case errors.Is(err, table.ErrConflict), errors.Is(err, table.ErrThrottled), errors.Is(err, table.ErrUnknownOutcome):
			// A transaction whose answer was lost has marked its event items: the next one finds that.
			again, waitErr := a.log.Backoff.Wait(ctx, failures)
			if waitErr != nil {
				return waitErr
			}
			if failures++; !again {
				return err
			}
			a.known = false
		default:
			return err
		}
	}
	return fault.BusyAfter(time.Second, fmt.Errorf("audit: the chain of %s keeps changing", a.id))
}

// build makes the transaction: for each event its audit item and the mark of its
// event item, then the head.
func (a *attempt) build(ctx context.Context) (tx table.Tx, sealed map[string]events.Event, err error) {
	keep, err := a.log.keep(ctx, a.id.Org)
	if err != nil {
		return tx, nil, err
	}
	now := a.log.Clock.Now().UTC().Round(0)
	if now.Before(a.head.Recorded) { // by another process's clock
		now = a.head.Recorded
	}
	at := chain.Head{Seq: a.head.Seq}
	if a.item != nil {
		if err := at.Hash.UnmarshalText([]byte(a.head.Hash)); err != nil {
			return tx, nil, fmt.Errorf("audit: the head of %s: %w", a.id, err)
		}
	}
	sealed = make(map[string]events.Event, len(a.waiting))
	for i := range a.waiting {
		p := &a.waiting[i]
		var e events.Event
		if e, at, err = chain.Seal(p.Event, at, newSalt()); err != nil {
			return tx, nil, fmt.Errorf("%w: event %s: %w", ErrOutbox, p.Event.ID, err)
		}
		it, err := a.auditItem(&e, now, keep)
		if err != nil {
			return tx, nil, err
		}
		mark, err := p.mark(e.Seq, now)
		if err != nil {
			return tx, nil, err
		}
		tx.Ops = append(tx.Ops, table.Put(it, table.Absent()), mark)
		sealed[e.ID] = e
	}
	head, err := a.headItem(at, now)
	if err != nil {
		return tx, nil, err
	}
	tx.Ops = append(tx.Ops, table.Put(head, table.VersionIs(table.VersionOf(a.item))))
	return tx, sealed, nil
}

func (a *attempt) auditItem(e *events.Event, now time.Time, keep time.Duration) (*table.Item, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("%w: event %s: %w", ErrOutbox, e.ID, err)
	}
	it := &table.Item{
		Key: a.id.event(e.Seq), Type: typeAudit, Version: 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: system, Body: body, TTL: now.Add(keep).Unix(),
	}
	it.Index[keys.GSI2-1] = keys.OrgAuditAt(a.id.Org, now, e.Seq, e.ID)
	return it, nil
}

func (a *attempt) headItem(at chain.Head, now time.Time) (*table.Item, error) {
	next := entity.Chain{Org: a.id.Org, Scope: a.id.Scope, Seq: at.Seq, Hash: at.Hash.String(), Recorded: now, Swept: a.head.Swept}
	it, err := chainItem(a.id, next, a.item, now)
	if err != nil {
		return nil, err
	}
	if it.Index[keys.GSI4-1].IsZero() { // the first event, or the first after a long rest
		it.Index[keys.GSI4-1] = keys.AuditWorkAt(keys.CheckpointDue, now.Add(checkpointEvery), a.id.due())
	}
	return it, nil
}

// chainItem is a chain's head after old, nil for none, with its place among due work.
func chainItem(id ID, c entity.Chain, old *table.Item, now time.Time) (*table.Item, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("audit: the head of %s: %w", id, err)
	}
	it := &table.Item{
		Key: id.head().Raw(), Type: typeChain, Version: table.VersionOf(old) + 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: system, Body: body,
	}
	if old != nil {
		it.CreatedAt, it.Index = old.CreatedAt, old.Index
	}
	return it, nil
}

// learn takes over what stood in the transaction's way.
func (a *attempt) learn(canceled *table.CanceledError) error {
	last := len(a.waiting) * 2
	if len(canceled.Reasons) != last+1 {
		return fmt.Errorf("audit: %d reasons for %d operations", len(canceled.Reasons), last+1)
	}
	var waiting []Pending
	occupied := false
	for i := range a.waiting {
		p := a.waiting[i]
		occupied = occupied || canceled.Reasons[2*i].Failed
		mark := canceled.Reasons[2*i+1]
		switch {
		case !mark.Failed:
			waiting = append(waiting, p)
		case mark.Found != nil:
			seq, err := seqIn(mark.Found)
			if err != nil {
				return err
			}
			if seq > 0 {
				a.seqs[p.Event.ID] = seq
				continue
			}
			p.vanished, p.item = false, mark.Found
			waiting = append(waiting, p)
		case p.item.TTL != 0 && !a.log.Clock.Now().Before(time.Unix(p.item.TTL, 0)):
			// Too old to tell whether it was appended: by now the sweeper was there.
		default:
			p.vanished = true // taken away before its time; the change happened all the same
			waiting = append(waiting, p)
		}
	}
	moved := canceled.Reasons[last].Failed
	if moved {
		a.known, a.item, a.head = true, canceled.Reasons[last].Found, entity.Chain{}
		if a.item != nil {
			var err error
			if a.head, err = stored.Decode[entity.Chain](a.item); err != nil {
				return err
			}
		}
	}
	if occupied && !moved && len(waiting) == len(a.waiting) {
		return fmt.Errorf("%w: %s, seq %d", ErrOccupied, a.id, a.head.Seq+1)
	}
	a.waiting = waiting
	return nil
}

// result is the batch as the chain has it. Events that others appended are read.
func (a *attempt) result(ctx context.Context, batch []Pending) ([]events.Event, error) {
	var wanted []keys.Raw
	for _, p := range batch {
		if seq := a.seqs[p.Event.ID]; seq > 0 {
			wanted = append(wanted, a.id.event(seq))
		}
	}
	others := make(map[string]events.Event, len(wanted))
	if len(wanted) > 0 {
		items, err := a.log.snapshot(ctx, wanted)
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			if it == nil {
				continue // past its retention
			}
			e, err := stored.Decode[events.Event](it)
			if err != nil {
				return nil, err
			}
			others[e.ID] = e
		}
	}
	done := make([]events.Event, 0, len(batch))
	for _, p := range batch {
		if e, ok := a.sealed[p.Event.ID]; ok {
			done = append(done, e)
		} else if e, ok := others[p.Event.ID]; ok {
			done = append(done, e)
		}
	}
	return done, nil
}

// snapshot reads items as they are once all accepted transactions are visible.
func (l *Log) snapshot(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	for n := 0; ; n++ {
		items, err := l.Table.TransactGet(ctx, wanted)
		if !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrThrottled) {
			return items, err
		}
		again, waitErr := l.Backoff.Wait(ctx, n)
		if waitErr != nil {
			return nil, waitErr
		}
		if !again {
			return nil, err
		}
	}
}
