package audit

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// outbox is an event item's Body.
type outbox struct {
	Event   jsontext.Value `json:"event"`
	Attempt int            `json:"attempt"`
	Seq     uint64         `json:"seq,omitzero"` // once it is in its chain
}

// Pending is an event that was committed, as its event item has it.
type Pending struct {
	Chain ID
	Event events.Event

	item     *table.Item
	body     outbox
	vanished bool // the event item is gone; it is put anew, marked
}

// IsOutbox says whether an item is an event item.
func IsOutbox(it *table.Item) bool { return it != nil && it.Type == typeEvent }

// ReadPending reads an event item; ErrOutbox when it can't be read.
func ReadPending(it *table.Item) (Pending, error) {
	if !IsOutbox(it) || it.Format != entity.Format {
		return Pending{}, fmt.Errorf("%w: %s of type %q, format %d", ErrOutbox, it.Key, it.Type, it.Format)
	}
	p := Pending{item: it}
	if err := json.Unmarshal(it.Body, &p.body); err != nil {
		return Pending{}, fmt.Errorf("%w: %s: %w", ErrOutbox, it.Key, err)
	}
	if err := json.Unmarshal(p.body.Event, &p.Event); err != nil {
		return Pending{}, fmt.Errorf("%w: %s: %w", ErrOutbox, it.Key, err)
	}
	if p.Event.ID == "" {
		return Pending{}, fmt.Errorf("%w: %s: no id", ErrOutbox, it.Key)
	}
	var err error
	p.Chain, err = IDOf(&p.Event)
	return p, err
}

// Marked says whether the event is in its chain already.
func (p *Pending) Marked() bool { return p.body.Seq > 0 }

// mark is the operation that notes the event's seq in its event item. It fails
// when someone was there first.
func (p *Pending) mark(seq uint64, now time.Time) (table.Op, error) {
	body := p.body
	body.Seq = seq
	text, err := json.Marshal(body)
	if err != nil {
		return table.Op{}, fmt.Errorf("audit: event %s: %w", p.Event.ID, err)
	}
	next := *p.item
	next.Version, next.UpdatedAt, next.Body = p.item.Version+1, now, text
	if p.vanished {
		return table.Put(&next, table.Absent()), nil
	}
	return table.Put(&next, table.VersionIs(p.item.Version)), nil
}

// seqIn is the seq that an event item is marked with, 0 for none.
func seqIn(it *table.Item) (uint64, error) {
	var o outbox
	if err := json.Unmarshal(it.Body, &o); err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrOutbox, it.Key, err)
	}
	return o.Seq, nil
}

// Outbox is the operation that commits an event which no change of an entity
// goes with: what the audit log itself noticed, at that moment. It fails when the
// event was committed before.
func Outbox(e events.Event, now time.Time) (table.Op, error) {
	id, err := IDOf(&e)
	if err != nil {
		return table.Op{}, err
	}
	e.Time = instant.At(now).String()
	text, err := json.Marshal(e)
	if err != nil {
		return table.Op{}, fmt.Errorf("audit: event %s: %w", e.ID, err)
	}
	body, err := json.Marshal(outbox{Event: text})
	if err != nil {
		return table.Op{}, fmt.Errorf("audit: event %s: %w", e.ID, err)
	}
	key := keys.OrgEvent(id.Org, now, e.ID).Raw()
	if !id.Scope.IsZero() {
		key = keys.ScopeEvent(id.Scope, 0, now, e.ID).Raw()
	}
	it := &table.Item{
		Key: key, Type: typeEvent, Version: 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: system, Body: body, TTL: now.Add(lateness).Unix(),
	}
	return table.Put(it, table.Absent()), nil
}
