package deliver

import (
	"context"
	"errors"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
	"github.com/wardenhq/warden/shared/write"
)

const (
	contentType = "application/json"
	userAgent   = "Warden-Webhooks/1"
)

// attempt makes one attempt at a delivery, if the table says that it is to be
// made. again makes the next one in this process, nil when that is left to the
// scheduler.
func (d *Deliverer) attempt(ctx context.Context, m delivery.Message) (r result, again func(), err error) {
	dv, it, err := stored.Get(ctx, d.Table, m.Key(), table.Strong)
	if err != nil || it == nil || behind(dv, m) {
		return nothing, nil, err
	}
	e, err := d.Endpoints.Get(ctx, m.Org, m.Scope, m.Webhook)
	if err != nil {
		return nothing, nil, err
	}
	if reason := refusal(e); reason != "" {
		return cancelled, nil, d.change(ctx, it, dv, func(dv entity.Delivery) (entity.Delivery, time.Time) {
			return delivery.Cancelled(dv, reason), time.Time{}
		})
	}
	tried, told, err := d.send(ctx, e, dv, it.Blob)
	if err != nil {
		return nothing, nil, err
	}
	next, err := d.record(ctx, it, dv, tried, told)
	r = failed
	if told.Delivered() {
		r = succeeded
	}
	err = errors.Join(err, d.judge(ctx, e, told, tried))
	return r, next, err
}

// behind says whether a message asks for what was done, or is not to be done.
func behind(dv entity.Delivery, m delivery.Message) bool {
	return dv.Status != entity.DeliveryPending || dv.Tries != m.Tries
}

// send sends the delivery's bytes. An error is one of ours; what the receiver
// does is in the attempt.
func (d *Deliverer) send(ctx context.Context, e *delivery.Endpoint, dv entity.Delivery, body []byte) (entity.Attempt, webhook.Attempt, error) {
	began := d.Clock.Now()
	tried, told := entity.Attempt{Time: began.UTC(), URL: e.URL}, webhook.Attempt{Number: dv.Round + 1}
	signed, err := webhook.Sign(e.Secrets(began), dv.EventID, began, body)
	if err != nil {
		return tried, told, err
	}
	header := e.Header()
	header.Set("Content-Type", contentType)
	header.Set("User-Agent", userAgent)
	signed.Set(header)
	answer, err := d.Sender.Do(ctx, egress.Request{Method: "POST", URL: e.URL, Header: header, Body: body})
	kind := egress.KindOf(err)
	if kind == egress.KindCanceled {
		return tried, told, err
	}
	tried.DurationMS = d.Clock.Now().Sub(began).Milliseconds()
	if err == nil {
		kind = egress.KindOfStatus(answer.Status)
		told.Status, told.RetryAfter = answer.Status, answer.Header.Get("Retry-After")
		tried.StatusCode = answer.Status
		tried.Response, tried.Cut = delivery.Excerpt(answer.Body, answer.Cut)
	} else {
		d.Log.InfoContext(ctx, "webhook attempt failed", "webhook", dv.Webhook.String(), "event", dv.EventID, "error", err)
	}
	told.TimedOut = kind == egress.KindTimeout
	tried.Error = string(kind)
	return tried, told, nil
}

// soon is up to when this process makes the next attempt itself, if it stays;
// maxLater bounds how many it has in mind.
const (
	soon     = 10 * time.Minute
	maxLater = 10_000
)

// record writes the attempt and what follows from it for the delivery.
func (d *Deliverer) record(ctx context.Context, it *table.Item, dv entity.Delivery, tried entity.Attempt, told webhook.Attempt) (again func(), err error) {
	now := d.Clock.Now()
	verdict := webhook.Next(told, now, d.Jitter)
	wait := verdict.At.Sub(now)
	here := verdict.Outcome == webhook.Retry && wait <= soon && d.reserve()
	// The receiver has the delivery, whether the process is being stopped or not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	var next delivery.Message
	err = d.change(ctx, it, dv, func(dv entity.Delivery) (entity.Delivery, time.Time) {
		dv = delivery.Tried(dv, tried)
		dv.NextAttempt = nil
		due := verdict.At
		switch verdict.Outcome {
		case webhook.Delivered:
			dv.Status = entity.DeliverySucceeded
		case webhook.Exhausted, webhook.Gone:
			dv.Status = entity.DeliveryFailed
		case webhook.Retry:
			dv.NextAttempt = new(verdict.At.UTC())
			if here {
				due = due.Add(delivery.Grace)
			}
		}
		next = delivery.Asking(dv)
		return dv, due
	})
	if !here {
		return nil, err
	}
	if err != nil {
		d.unreserve()
		return nil, err
	}
	return func() { d.retryHere(next, wait) }, nil
}

// recordTime bounds recording an attempt.
const recordTime = 5 * time.Second

func (d *Deliverer) reserve() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life == nil || d.after >= maxLater {
		return false
	}
	d.after++
	return true
}

func (d *Deliverer) unreserve() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.after--
}

// retryHere submits the next attempt after its wait. If the process is stopped
// before, the table has it.
func (d *Deliverer) retryHere(m delivery.Message, wait time.Duration) {
	ok := d.background(func(ctx context.Context) {
		err := d.Clock.Sleep(ctx, wait)
		d.unreserve()
		if err == nil {
			if err = <-d.submit(ctx, m); err != nil && !isStopped(ctx) {
				d.Log.ErrorContext(ctx, "a delivery could not be attempted; it stays due", "delivery", m.Key().Raw().String(), "error", err)
			}
		}
	})
	if !ok {
		d.unreserve()
	}
}

// changes is how often a change of a delivery is tried when others change it too.
const changes = 4

// change writes a delivery's next state. When it is not as it was read, and still
// waits for this attempt, the change is made on what it is.
func (d *Deliverer) change(ctx context.Context, it *table.Item, dv entity.Delivery, edit func(entity.Delivery) (entity.Delivery, time.Time)) error {
	asked := delivery.Asking(dv)
	for range changes {
		after, due := edit(dv)
		next, err := delivery.Next(it, after, delivery.System("deliver"), d.Clock.Now().UTC(), due)
		if err != nil {
			return err
		}
		found, err := d.replace(ctx, next)
		if err != nil || found == nil {
			return err
		}
		it = found
		if dv, err = stored.Decode[entity.Delivery](it); err != nil || behind(dv, asked) {
			return err
		}
	}
	return delivery.ErrChanged
}

// replace puts the next state; found is what stands there instead of the one
// before, nil when it was put, or the delivery is gone.
func (d *Deliverer) replace(ctx context.Context, next *table.Item) (found *table.Item, err error) {
	for n := 0; ; n++ {
		err = d.Table.Transact(ctx, table.Tx{Ops: []table.Op{delivery.Replace(next)}})
		var canceled *table.CanceledError
		if errors.As(err, &canceled) {
			return canceled.Reasons[0].Found, nil
		}
		if !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrThrottled) && !errors.Is(err, table.ErrUnknownOutcome) {
			return nil, err
		}
		if again, waitErr := d.Backoff.Wait(ctx, n); waitErr != nil || !again {
			return nil, errors.Join(err, waitErr)
		}
	}
}

// cancel ends a delivery that no attempt is made at.
func (d *Deliverer) cancel(ctx context.Context, m delivery.Message, why entity.CancelReason) error {
	dv, it, err := stored.Get(ctx, d.Table, m.Key(), table.Strong)
	if err != nil || it == nil || behind(dv, m) {
		return err
	}
	return d.change(ctx, it, dv, func(dv entity.Delivery) (entity.Delivery, time.Time) {
		return delivery.Cancelled(dv, why), time.Time{}
	})
}

// origin is who disables endpoints here.
var origin = write.Origin{Actor: events.Actor{Type: "system", ID: "deliver"}}

// judge says what an attempt means for the endpoint: 410 disables it, and so do
// days without a success.
func (d *Deliverer) judge(ctx context.Context, e *delivery.Endpoint, told webhook.Attempt, tried entity.Attempt) error {
	ended := tried.Time.Add(time.Duration(tried.DurationMS) * time.Millisecond)
	health, err := d.Endpoints.Note(ctx, e, told.Delivered(), ended)
	if err != nil {
		return err
	}
	var why entity.DisabledReason
	switch {
	case told.Status == 410:
		why = entity.DisabledGone
	case !told.Delivered() && health.Hopeless(ended):
		why = entity.DisabledFailing
	default:
		return nil
	}
	s := write.Scope{Org: e.Org, ID: e.Scope}
	_, err = d.Writer.DisableWebhook(ctx, d.Writer.NewRequest(origin), s, e.ID, why, nil)
	d.Endpoints.Drop([]keys.Raw{keys.Webhook(e.Org, e.Scope, e.ID).Raw()})
	if fault.CodeOf(err) == fault.NotFound {
		err = nil // deleted meanwhile
	}
	return err
}

// Due takes up a delivery whose attempt is due: it asks for one, and looks again
// later in case that is lost. It is the scheduler's handler.
func (d *Deliverer) Due(ctx context.Context, it *table.Item) error {
	dv, err := stored.Decode[entity.Delivery](it)
	if err != nil {
		return err
	}
	now := d.Clock.Now().UTC()
	known := d.knows(it.Key)
	due := now.Add(delivery.Grace)
	if known { // it waits in this process for its endpoint
		due = now.Add(longestProbe)
	}
	next, err := delivery.Next(it, dv, delivery.System("scheduler"), now, due)
	if err != nil {
		return err
	}
	found, err := d.replace(ctx, next)
	if err != nil || found != nil || known || dv.Status != entity.DeliveryPending {
		return err // changed meanwhile: whoever did it saw to what is next
	}
	return delivery.Send(ctx, d.Queue, delivery.Asking(dv))
}
