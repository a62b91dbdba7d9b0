package delivery

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
)

const (
	// maxAge is how old an endpoint may be that an attempt is made with.
	maxAge = time.Second
	// maxEndpoints bounds how many are remembered.
	maxEndpoints = 10_000
)

// Endpoint is a webhook with what was sealed of it, as it was read.
type Endpoint struct {
	entity.Webhook
	Health webhook.Health

	header           http.Header
	secret, previous webhook.Secret
}

// Header are the endpoint's own headers, the caller's to change.
func (e *Endpoint) Header() http.Header {
	if e.header == nil {
		return http.Header{}
	}
	return e.header.Clone()
}

// Secrets are what an attempt at that time is signed with, the current one first.
func (e *Endpoint) Secrets(at time.Time) []webhook.Secret {
	if e.PreviousEnd == nil || !at.Before(*e.PreviousEnd) {
		return []webhook.Secret{e.secret}
	}
	return []webhook.Secret{e.secret, e.previous}
}

// Endpoints reads endpoints, and remembers them for a second. Safe for
// concurrent use.
type Endpoints struct {
	Table table.Store
	Vault Vault
	Clock clock.Clock

	mu      sync.Mutex
	entries map[keys.Raw]*entry
}

// entry is one endpoint that is remembered.
type entry struct {
	mu       sync.Mutex
	read     time.Time // when the read began
	endpoint *Endpoint // nil: there is none
	noted    time.Time // when a failure was noted last
}

// Get is the endpoint as it was at most a second ago, nil when there is none.
func (s *Endpoints) Get(ctx context.Context, o rbac.OrgID, sc rbac.ScopeID, w rbac.WebhookID) (*Endpoint, error) {
	e := s.entry(keys.Webhook(o, sc, w).Raw())
	e.mu.Lock()
	defer e.mu.Unlock()
	now := s.Clock.Now()
	if !e.read.IsZero() && now.Sub(e.read) < maxAge {
		return e.endpoint, nil
	}
	found, err := s.load(ctx, o, sc, w)
	if err != nil {
		return nil, err
	}
	e.read, e.endpoint = now, found
	return found, nil
}

func (s *Endpoints) entry(k keys.Raw) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[k]
	if e != nil {
		return e
	}
	if s.entries == nil || len(s.entries) >= maxEndpoints {
		s.entries = make(map[keys.Raw]*entry)
	}
	e = new(entry)
	s.entries[k] = e
	return e
}

// Drop forgets the endpoints among keys that were written.
func (s *Endpoints) Drop(written []keys.Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range written {
		delete(s.entries, k)
	}
}

func (s *Endpoints) load(ctx context.Context, o rbac.OrgID, sc rbac.ScopeID, w rbac.WebhookID) (*Endpoint, error) {
	items, err := s.Table.BatchGet(ctx, []keys.Raw{keys.Webhook(o, sc, w).Raw(), keys.WebhookState(sc, w).Raw()}, table.Strong)
	if err != nil || items[0] == nil {
		return nil, err
	}
	e := &Endpoint{}
	if e.Webhook, err = stored.Decode[entity.Webhook](items[0]); err != nil {
		return nil, err
	}
	if items[1] != nil {
		state, err := stored.Decode[entity.WebhookState](items[1])
		if err != nil {
			return nil, err
		}
		e.Health = state.Health
	}
	return e, s.open(ctx, e)
}

func (s *Endpoints) open(ctx context.Context, e *Endpoint) (err error) {
	if e.secret, err = s.Vault.openSecret(ctx, e.Webhook, e.Secret); err != nil {
		return err
	}
	if e.Previous != nil {
		if e.previous, err = s.Vault.openSecret(ctx, e.Webhook, e.Previous); err != nil {
			return err
		}
	}
	headers, err := s.Vault.OpenHeaders(ctx, e.Webhook)
	if err != nil || headers == nil {
		return err
	}
	e.header = make(http.Header, len(headers))
	for name, value := range headers {
		e.header.Set(name, value)
	}
	return nil
}
