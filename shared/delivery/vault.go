package delivery

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/seal"
	"github.com/wardenhq/warden/shared/webhook"
)

// Vault seals what of a webhook nobody reads from the table, and opens it.
type Vault struct{ seal.Sealer }

// place binds a sealed value to its webhook. A secret and the one before it
// share a place: rotating moves one to the other.
func place(s rbac.ScopeID, w rbac.WebhookID, field string) seal.Place {
	return seal.Place{"webhook", s.String(), w.String(), field}
}

// SealSecret seals a webhook's secret.
func (v Vault) SealSecret(ctx context.Context, s rbac.ScopeID, w rbac.WebhookID, secret webhook.Secret) ([]byte, error) {
	return v.Seal(ctx, []byte(secret.Reveal()), place(s, w, "secret"))
}

func (v Vault) openSecret(ctx context.Context, e entity.Webhook, sealed []byte) (webhook.Secret, error) {
	text, err := v.Open(ctx, sealed, place(e.Scope, e.ID, "secret"))
	if err != nil {
		return webhook.Secret{}, fmt.Errorf("delivery: secret of webhook %s: %w", e.ID, err)
	}
	return webhook.ParseSecret(string(text))
}

// SealHeaders seals a webhook's own headers; none is nil.
func (v Vault) SealHeaders(ctx context.Context, s rbac.ScopeID, w rbac.WebhookID, headers map[string]string) ([]byte, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(headers)
	if err != nil {
		return nil, fmt.Errorf("delivery: headers: %w", err)
	}
	return v.Seal(ctx, text, place(s, w, "headers"))
}

// OpenHeaders opens a webhook's own headers.
func (v Vault) OpenHeaders(ctx context.Context, e entity.Webhook) (headers map[string]string, err error) {
	if len(e.Headers) == 0 {
		return nil, nil
	}
	text, err := v.Open(ctx, e.Headers, place(e.Scope, e.ID, "headers"))
	if err != nil {
		return nil, fmt.Errorf("delivery: headers of webhook %s: %w", e.ID, err)
	}
	if err := json.Unmarshal(text, &headers); err != nil {
		return nil, fmt.Errorf("delivery: headers of webhook %s: %w", e.ID, err)
	}
	return headers, nil
}
