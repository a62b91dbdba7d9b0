package delivery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Message asks for one attempt at one delivery, or at several to one webhook. It
// is a hint: the table says what is to be done, and a message that is behind it
// asks for nothing.
type Message struct {
	Org     rbac.OrgID     `json:"org"`
	Scope   rbac.ScopeID   `json:"scope"`
	Webhook rbac.WebhookID `json:"webhook"`
	Of
	Asked bool `json:"asked,omitzero"` // somebody asked for it: it does not wait for a breaker
	Then  []Of `json:"then,omitempty"` // further ones, in the order they are to be made
}

// Of is one delivery of a message.
type Of struct {
	Event string    `json:"event"`
	At    time.Time `json:"at"`             // of the event
	Tries int       `json:"tries,omitzero"` // attempts made when the message was sent
}

// Each are messages for one delivery each.
func (m Message) Each() []Message {
	all := []Message{m}
	all[0].Then = nil
	for _, of := range m.Then {
		next := all[0]
		next.Of = of
		all = append(all, next)
	}
	return all
}

// maxTogether is how many deliveries one message asks for.
const maxTogether = 50

// Together puts messages for deliveries to one webhook together, so that they are
// made in their order.
func Together(messages []Message) (out []Message) {
	for some := range slices.Chunk(messages, maxTogether) {
		m := some[0]
		for _, next := range some[1:] {
			m.Then = append(m.Then, next.Of)
		}
		out = append(out, m)
	}
	return out
}

// Asking is the message for a delivery as it is.
func Asking(d entity.Delivery) Message {
	return Message{Org: d.Org, Scope: d.Scope, Webhook: d.Webhook, Of: Of{d.EventID, d.EventTime, d.Tries}}
}

// AskingFor is the message of somebody who asked for a delivery.
func AskingFor(d entity.Delivery) Message {
	m := Asking(d)
	m.Asked = true
	return m
}

// Key leads to the delivery.
func (m Message) Key() keys.Key[entity.Delivery] {
	return keys.Delivery(m.Scope, m.Webhook, m.At, m.Event)
}

// Queue is the message as a queue takes it. Its group is the tenant.
func (m Message) Queue() (queue.Message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return queue.Message{}, fmt.Errorf("delivery: message: %w", err)
	}
	return queue.Message{Group: m.Org.String(), Body: body}, nil
}

// ReadMessage reads a queue's message.
func ReadMessage(q queue.Message) (m Message, err error) {
	if err := json.Unmarshal(q.Body, &m); err != nil {
		return m, fmt.Errorf("delivery: message %s: %w", q.ID, err)
	}
	return m, nil
}

// Send sends messages in batches that the queue takes.
func Send(ctx context.Context, q queue.Sender, messages ...Message) error {
	for batch := range slices.Chunk(messages, queue.MaxBatch) {
		out := make([]queue.Message, len(batch))
		for i, m := range batch {
			var err error
			if out[i], err = m.Queue(); err != nil {
				return err
			}
		}
		if err := q.Send(ctx, out); err != nil {
			return err
		}
	}
	return nil
}
