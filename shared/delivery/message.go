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

// Message asks for one attempt at one delivery. It is a hint: the table says
// what is to be done, and a message that is behind it asks for nothing.
type Message struct {
	Org     rbac.OrgID     `json:"org"`
	Scope   rbac.ScopeID   `json:"scope"`
	Webhook rbac.WebhookID `json:"webhook"`
	Event   string         `json:"event"`
	At      time.Time      `json:"at"`             // of the event
	Tries   int            `json:"tries,omitzero"` // attempts made when it was sent
	Asked   bool           `json:"asked,omitzero"` // somebody asked for it: it does not wait for a breaker
}

// Asking is the message for a delivery as it is.
func Asking(d entity.Delivery) Message {
	return Message{Org: d.Org, Scope: d.Scope, Webhook: d.Webhook, Event: d.EventID, At: d.EventTime, Tries: d.Tries}
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
