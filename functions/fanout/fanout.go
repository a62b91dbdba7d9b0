// Package fanout takes events from the bus and makes a delivery of each to every
// endpoint that wants it: an item in the table with the bytes to send, and a
// message that asks for the first attempt.
//
// An event that comes twice makes each delivery once: an item is put if there is
// none. A message that is lost is made up for by the scheduler, to which a new
// delivery is due two minutes later.
package fanout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/httpapi/segment"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/webhook"
)

// Config is what the function works with.
type Config struct {
	Table   table.Store
	Queue   queue.Sender // deliveries
	Clock   clock.Clock
	Backoff retry.Backoff // for conflicts and throttles of the table
	BaseURL string        // of the API, for links in bodies that would be too large; empty: links are paths
	Log     *slog.Logger
}

// Fanout is the function.
type Fanout struct {
	Config

	hooks lists
}

// New makes the function.
func New(c Config) *Fanout { return &Fanout{Config: c} }

// Work is the queue's handler. A message's body is an event in its CloudEvents
// envelope.
func (f *Fanout) Work(ctx context.Context, batch []queue.Message) (failed []string) {
	arrived := f.Clock.Now()
	for _, m := range batch {
		if err := f.message(ctx, m.Body, arrived); err != nil {
			f.Log.ErrorContext(ctx, "an event was not fanned out", "message", m.ID, "error", err)
			failed = append(failed, m.ID)
		}
	}
	return failed
}

// happened is an event on its way to endpoints.
type happened struct {
	events.Event
	org   rbac.OrgID
	scope rbac.ScopeID // zero: the whole org
	at    time.Time
	body  []byte // what endpoints are sent
}

func (f *Fanout) message(ctx context.Context, envelope []byte, arrived time.Time) error {
	e, err := f.read(envelope)
	if err != nil {
		return err
	}
	hooks, err := f.wanted(ctx, e, arrived)
	if err != nil || len(hooks) == 0 {
		return err
	}
	return f.deliver(ctx, e, hooks)
}

func (f *Fanout) read(envelope []byte) (happened, error) {
	var cloud struct {
		Data jsontext.Value `json:"data"`
	}
	var e happened
	if err := json.Unmarshal(envelope, &cloud); err != nil {
		return e, fmt.Errorf("fanout: envelope: %w", err)
	}
	err := json.Unmarshal(cloud.Data, &e.Event)
	if err != nil {
		return e, fmt.Errorf("fanout: event: %w", err)
	}
	if e.at, err = time.Parse(time.RFC3339, e.Time); err != nil {
		return e, fmt.Errorf("fanout: event %s: %w", e.ID, err)
	}
	if e.org, err = rbac.ParseOrgID(e.Org); err != nil {
		return e, fmt.Errorf("fanout: event %s: %w", e.ID, err)
	}
	if e.Scope != nil {
		if e.scope, err = rbac.ParseScopeID(*e.Scope); err != nil {
			return e, fmt.Errorf("fanout: event %s: %w", e.ID, err)
		}
	}
	if e.body, err = webhook.Body(cloud.Data, f.link(e.Event)); err != nil {
		return e, fmt.Errorf("fanout: event %s: %w", e.ID, err)
	}
	return e, nil
}

// link leads to the whole event in the audit log.
func (f *Fanout) link(e events.Event) string {
	owner := "/v1/orgs/" + segment.Encode(e.Org)
	if e.Scope != nil {
		owner = "/v1/scopes/" + segment.Encode(*e.Scope)
	}
	query := url.Values{"target": {e.Target.Type + "/" + e.Target.ID}, "from": {e.Time}, "action": {e.Type}}
	return f.BaseURL + owner + "/audit?" + query.Encode()
}

// wants says whether an endpoint is sent an event: one that its filter chooses,
// and a test of it in any case. What happened before it was there is none of its,
// and that it was disabled is not told to itself.
func wants(w entity.Webhook, created time.Time, e happened) bool {
	itself := e.Target.Type == "webhook" && e.Target.ID == w.ID.String()
	switch {
	case e.at.Before(created), itself && e.Type == events.WebhookDisabled:
		return false
	case itself && e.Type == events.WebhookTest:
		return true
	}
	return w.Events.Matches(e.Type)
}

// piece is how many deliveries are made in one transaction: with the largest
// bodies it stays below 4 MB.
const piece = 50

// deliver makes the deliveries of one event, and asks for those that are pending.
func (f *Fanout) deliver(ctx context.Context, e happened, hooks []entity.Webhook) error {
	for len(hooks) > 0 {
		n := min(piece, len(hooks))
		asked, err := f.put(ctx, e, hooks[:n])
		if err != nil {
			return err
		}
		if err := delivery.Send(ctx, f.Queue, asked...); err != nil {
			return err
		}
		hooks = hooks[n:]
	}
	return nil
}

// put puts deliveries, those that are not there yet, and returns what to ask
// for: a message may have been lost of those that are.
func (f *Fanout) put(ctx context.Context, e happened, hooks []entity.Webhook) (asked []delivery.Message, err error) {
	now := f.Clock.Now().UTC()
	var tx table.Tx
	for _, w := range hooks {
		d := entity.Delivery{
			Org: w.Org, Scope: w.Scope, Webhook: w.ID, EventID: e.ID, EventTime: e.at.UTC(), Type: e.Type, Status: entity.DeliveryPending,
		}
		if w.Disabled != "" {
			d = delivery.Cancelled(d, entity.CancelledDisabled)
		}
		it, err := delivery.New(d, e.body, now)
		if err != nil {
			return nil, err
		}
		tx.Ops = append(tx.Ops, table.Put(it, table.Absent()))
		if d.Status == entity.DeliveryPending {
			asked = append(asked, delivery.Asking(d))
		}
	}
	found, err := f.transact(ctx, tx)
	if err != nil || found == nil {
		return asked, err
	}
	return f.putRest(ctx, tx, found)
}

// putRest puts those deliveries of a transaction that are not there.
func (f *Fanout) putRest(ctx context.Context, tx table.Tx, found []*table.Item) (asked []delivery.Message, err error) {
	var rest table.Tx
	for i, it := range found {
		if it == nil {
			rest.Ops = append(rest.Ops, tx.Ops[i])
			it = tx.Ops[i].Item
		}
		d, err := stored.Decode[entity.Delivery](it)
		if err != nil {
			return nil, err
		}
		if d.Status == entity.DeliveryPending && d.Tries == 0 {
			asked = append(asked, delivery.Asking(d))
		}
	}
	if len(rest.Ops) == 0 {
		return asked, nil
	}
	again, err := f.transact(ctx, rest)
	if err == nil && again != nil {
		err = delivery.ErrChanged // the same event at work elsewhere; what is left is there next time
	}
	return asked, err
}

// transact commits; found are the items that stood in the way, nil when none did.
func (f *Fanout) transact(ctx context.Context, tx table.Tx) (found []*table.Item, err error) {
	for n := 0; ; n++ {
		err = f.Table.Transact(ctx, tx)
		var canceled *table.CanceledError
		if errors.As(err, &canceled) {
			found = make([]*table.Item, len(canceled.Reasons))
			for i, r := range canceled.Reasons {
				found[i] = r.Found
			}
			return found, nil
		}
		if !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrThrottled) && !errors.Is(err, table.ErrUnknownOutcome) {
			return nil, err
		}
		if again, waitErr := f.Backoff.Wait(ctx, n); waitErr != nil || !again {
			return nil, errors.Join(err, waitErr)
		}
	}
}
