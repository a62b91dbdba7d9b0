// Package write changes the table: definitions and policies by the protocol of
// the design (rules 1, 2, 5, 6), and everything else by plain versioned
// transactions. Every change carries its event item, and a request takes effect
// at most once whatever answers are lost.
package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// plans is how often a change is planned anew because what it read had changed:
// enough for as many writers of one scope or subject at once, each a plan ahead
// of the others in turn.
const plans = 24

// Writer writes.
type Writer struct {
	Table     table.Store
	Snapshots *snapshot.Reader
	Clock     clock.Clock
	Backoff   retry.Backoff          // for conflicts and throttles
	EventID   func(time.Time) string // a new event's id
	Changed   func([]keys.Raw)       // told of every key that may have been written, before the answer; may be nil
}

// Origin is who asks for a change and how it came.
type Origin struct {
	Actor      events.Actor
	OnBehalfOf string
	RequestID  string
	SourceIP   string
}

// Request is one request for a change. Its event's id and time are fixed before
// the first try, so that it can take effect once only.
type Request struct {
	Origin
	Time    time.Time
	EventID string

	once *Once // the Idempotency-Key it was sent with; nil: none
}

// NewRequest fixes a request's event.
func (w *Writer) NewRequest(o Origin) *Request {
	now := w.Clock.Now().UTC().Round(0)
	return &Request{Origin: o, Time: now, EventID: w.EventID(now)}
}

// Outcome is what a change came to.
type Outcome struct {
	Item      *table.Item // the resource's item as it is now; nil after a deletion
	Created   bool
	Replaced  bool   // an assignment stood there before; its expiry was replaced
	Unchanged bool   // nothing was written
	Revision  string // for X-Warden-Revision
}

// plan is one attempt at a change.
type plan struct {
	outcome Outcome
	ops     []table.Op
	event   *events.Event      // Type, Org, Scope, Target, Before, After are filled in
	refused map[keys.Raw]error // what a failed condition on that item means, instead of planning anew
}

// commit plans and commits until it took effect, is refused, or retries are
// used up (fault.Busy: then it may have happened).
func (w *Writer) commit(ctx context.Context, req *Request, make func(context.Context) (*plan, error)) (Outcome, error) {
	var tried []*plan
	for n := range plans {
		if n > 0 { // others are at work on the same: each waits for a time of its own
			wait := min(w.Backoff.Max, w.Backoff.Base<<min(n-1, 20))
			if err := w.Clock.Sleep(ctx, time.Duration(w.Backoff.Jitter()*float64(wait))); err != nil {
				return Outcome{}, err
			}
		}
		p, err := make(ctx)
		if err != nil {
			return Outcome{}, err
		}
		if p.outcome.Unchanged {
			return p.outcome, nil
		}
		tried = append(tried, p)
		ops, event, err := w.complete(req, p, len(tried)-1)
		if err != nil {
			return Outcome{}, err
		}
		err = w.transact(ctx, table.Tx{Ops: ops})
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			if err != nil {
				return Outcome{}, err
			}
			return p.outcome, nil
		}
		if own, err := ownSuccess(canceled, ops, event, tried); own != nil || err != nil {
			if err != nil {
				return Outcome{}, err
			}
			return own.outcome, nil
		}
		for i, r := range canceled.Reasons {
			if !r.Failed {
				continue
			}
			if e := p.refused[ops[i].Key]; e != nil {
				return Outcome{}, e
			}
			if req.once != nil && ops[i].Key == req.once.key {
				return Outcome{}, errInProgress // another request took the key over
			}
		}
	}
	return Outcome{}, fault.BusyAfter(time.Second, errors.New("write: what was read keeps changing"))
}

// transact commits one transaction; conflicts, throttles and lost answers are
// tried again with the very same operations: they commit, or fail on what the
// first try wrote.
func (w *Writer) transact(ctx context.Context, tx table.Tx) error {
	if w.Changed != nil {
		touched := make([]keys.Raw, len(tx.Ops))
		for i, op := range tx.Ops {
			touched[i] = op.Key
		}
		defer w.Changed(touched)
	}
	for n := 0; ; n++ {
		err := w.Table.Transact(ctx, tx)
		if !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrThrottled) && !errors.Is(err, table.ErrUnknownOutcome) {
			return err
		}
		again, waitErr := w.Backoff.Wait(ctx, n)
		if waitErr != nil {
			return waitErr
		}
		if !again {
			return fault.BusyAfter(time.Second, err)
		}
	}
}

// complete adds the event item and the answer to the request's Idempotency-Key.
func (w *Writer) complete(req *Request, p *plan, attempt int) (ops []table.Op, event keys.Raw, err error) {
	ops = p.ops
	it, err := req.eventItem(p.event, attempt)
	if err != nil {
		return nil, keys.Raw{}, err
	}
	ops = append(ops, table.Put(it, table.Absent()))
	if req.once != nil {
		answered, err := req.once.answered(p.outcome)
		if err != nil {
			return nil, keys.Raw{}, err
		}
		ops = append(ops, answered)
	}
	return ops, it.Key, nil
}

// item makes an item that this request writes. old is what stands there, nil
// for a new item.
func (req *Request) item(key keys.Raw, kind string, version uint64, old *table.Item) *table.Item {
	it := &table.Item{
		Key: key, Type: kind, Version: version, Format: entity.Format,
		CreatedAt: req.Time, UpdatedAt: req.Time,
		Actor: req.Actor.Type + ":" + req.Actor.ID, RequestID: req.RequestID, LastEvent: req.EventID,
	}
	if old != nil {
		it.CreatedAt, it.Index = old.CreatedAt, old.Index
	}
	return it
}

// body is item with its content.
func (req *Request) body(key keys.Raw, kind string, version uint64, old *table.Item, content any) (*table.Item, error) {
	it := req.item(key, kind, version, old)
	b, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write: %s: %w", kind, err)
	}
	it.Body = b
	return it, nil
}
