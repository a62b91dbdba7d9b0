package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
)

// noteEvery is the least time between two failures that are noted: what counts
// is for how long an endpoint fails, not how fast.
const noteEvery = time.Second

// Note keeps what an attempt that ended then says of its endpoint, and returns
// the endpoint's health with it. Only changes are written: the first failures of
// a run, until they are enough to disable the endpoint, and the success that
// ends it.
func (s *Endpoints) Note(ctx context.Context, of *Endpoint, delivered bool, ended time.Time) (webhook.Health, error) {
	e := s.entry(keys.Webhook(of.Org, of.Scope, of.ID).Raw())
	e.mu.Lock()
	defer e.mu.Unlock()
	known := of.Health
	if e.endpoint != nil {
		known = e.endpoint.Health
	}
	switch {
	case delivered && known.Failures == 0,
		!delivered && known.Failures >= webhook.DisableAttempts,
		!delivered && !e.noted.IsZero() && ended.Sub(e.noted) < noteEvery:
		return known, nil
	}
	next, err := s.note(ctx, of.Webhook, delivered, ended)
	if errors.Is(err, ErrChanged) || errors.Is(err, table.ErrConflict) {
		return known, nil // another process notes the same; the next attempt says it again
	}
	if err != nil {
		return known, err
	}
	if !delivered {
		e.noted = ended
	}
	if e.endpoint != nil {
		now := *e.endpoint
		now.Health = next
		e.endpoint = &now
	}
	return next, nil
}

// note writes the state, given that the webhook still stands.
func (s *Endpoints) note(ctx context.Context, w entity.Webhook, delivered bool, ended time.Time) (webhook.Health, error) {
	key := keys.WebhookState(w.Scope, w.ID)
	state, it, err := stored.Get(ctx, s.Table, key, table.Strong)
	if err != nil {
		return webhook.Health{}, err
	}
	state.Health = state.After(delivered, ended.UTC())
	change := table.Delete(key.Raw(), table.VersionIs(table.VersionOf(it)))
	if !delivered {
		body, err := json.Marshal(state)
		if err != nil {
			return webhook.Health{}, fmt.Errorf("delivery: state: %w", err)
		}
		next := &table.Item{
			Key: key.Raw(), Type: "WebhookState", Version: table.VersionOf(it) + 1, Format: entity.Format,
			CreatedAt: ended.UTC(), UpdatedAt: ended.UTC(), Actor: "system:deliver", Body: body,
		}
		change = table.Put(next, table.VersionIs(table.VersionOf(it)))
	}
	err = s.Table.Transact(ctx, table.Tx{Ops: []table.Op{
		change, table.Check(keys.Webhook(w.Org, w.Scope, w.ID).Raw(), table.Present()),
	}})
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return webhook.Health{}, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return state.Health, err
}
