// Package delivery is how deliveries of events to webhooks are stored: the item
// of one event on its way to one endpoint, with the bytes that are signed and
// sent, its attempts, and when the next one is due. The item is the truth;
// messages in queues only bring an attempt forward. It is also where endpoints
// are read from, for a second at most, and where their secrets are sealed.
package delivery

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	// Life is how long a delivery is kept after it was pending last.
	Life = 30 * 24 * time.Hour
	// Grace is how long after the moment at which an attempt is expected the
	// scheduler takes the delivery up: whoever was to make it must have crashed,
	// or its message is lost. Longer than an attempt takes.
	Grace = 2 * time.Minute
	// KeptAttempts is how many attempts a delivery shows, the latest.
	KeptAttempts = 20
	// MaxResponse is how much of a receiver's answer is kept, in bytes.
	MaxResponse = 2 << 10
)

const kind = "Delivery"

// ErrChanged says that the delivery is not as it was read.
var ErrChanged = errors.New("delivery: changed meanwhile")

// By is who changes a delivery.
type By struct {
	Actor     string // TYPE:ID
	RequestID string // empty: no request did
}

// System is a function of Warden's.
func System(function string) By { return By{Actor: "system:" + function} }

// New is the item of a delivery, of the bytes to send, that was not tried yet.
// One that is pending is expected to be attempted at once.
func New(d entity.Delivery, body []byte, now time.Time) (*table.Item, error) {
	it := &table.Item{
		Key: IDOf(d).Key(d.Scope, d.Webhook).Raw(), Type: kind, Format: entity.Format,
		CreatedAt: now, Blob: body, TTL: now.Add(Life).Unix(),
	}
	if d.Status == entity.DeliveryPending {
		d.NextAttempt = &now
	}
	return Next(it, d, System("fanout"), now, now.Add(Grace))
}

// Next is the item after a change: due then, if the delivery is pending, else
// out of the list of due work.
func Next(it *table.Item, d entity.Delivery, by By, now, due time.Time) (*table.Item, error) {
	next := *it
	next.Version++
	next.UpdatedAt, next.Actor, next.RequestID = now, by.Actor, by.RequestID
	next.Index[keys.GSI4-1] = keys.IndexKey{}
	if d.Status == entity.DeliveryPending {
		next.Index[keys.GSI4-1] = keys.Due(due, d.EventID+"/"+d.Webhook.String())
		next.TTL = now.Add(Life).Unix()
	} else {
		d.NextAttempt = nil
	}
	body, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("delivery: %w", err)
	}
	next.Body = body
	return &next, nil
}

// Replace is the operation that puts an item in the place of the one before it.
func Replace(next *table.Item) table.Op { return table.Put(next, table.VersionIs(next.Version-1)) }

// Tried adds an attempt.
func Tried(d entity.Delivery, a entity.Attempt) entity.Delivery {
	d.Round++
	d.Tries++
	d.Attempts = append(d.Attempts[:len(d.Attempts):len(d.Attempts)], a)
	d.Attempts = d.Attempts[max(0, len(d.Attempts)-KeptAttempts):]
	return d
}

// Cancelled ends a delivery without an attempt. It can be asked for again.
func Cancelled(d entity.Delivery, why entity.CancelReason) entity.Delivery {
	d.Status, d.Cancelled = entity.DeliveryCancelled, why
	return d
}

// Again makes a delivery pending, at the foot of the ladder; what it was
// attempted before stays.
func Again(d entity.Delivery, now time.Time) entity.Delivery {
	d.Status, d.Cancelled, d.Round, d.NextAttempt = entity.DeliveryPending, "", 0, &now
	return d
}

// Excerpt is what is kept of an answer's body: its first MaxResponse bytes, as
// text. cut says that there was more.
func Excerpt(body []byte, longer bool) (text string, cut bool) {
	if len(body) > MaxResponse {
		body, longer = body[:MaxResponse], true
	}
	text = strings.ToValidUTF8(string(body), "\uFFFD")
	if len(text) > MaxResponse { // what is no UTF-8 has become longer
		text, longer = strings.ToValidUTF8(text[:MaxResponse], ""), true
	}
	return text, longer
}
