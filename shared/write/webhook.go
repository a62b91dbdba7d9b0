package write

import (
	"bytes"
	"context"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// ErrNoWebhook is the fault of a webhook that does not exist.
var ErrNoWebhook = fault.New(fault.NotFound, "no such webhook")

// CreateWebhook makes a webhook of a scope. fault.LimitExceeded is for a scope
// with too many.
func (w *Writer) CreateWebhook(ctx context.Context, req *Request, s Scope, hook entity.Webhook) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		scope, scopeItem, _, err := w.readScope(ctx, s)
		if err != nil {
			return nil, err
		}
		if scope.Webhooks >= rbac.MaxWebhooksInScope {
			return nil, limit("webhooks a scope", rbac.MaxWebhooksInScope)
		}
		scope.Webhooks++
		counted, err := req.body(scopeItem.Key, "Scope", scopeItem.Version+1, scopeItem, scope)
		if err != nil {
			return nil, err
		}
		it, err := req.body(keys.Webhook(s.Org, s.ID, hook.ID).Raw(), "Webhook", 1, nil, hook)
		if err != nil {
			return nil, err
		}
		p, err := webhookPlan(events.WebhookCreated, s, hook.ID, nil, it)
		if err != nil {
			return nil, err
		}
		p.outcome.Created = true
		p.ops = []table.Op{table.Put(counted, table.VersionIs(scopeItem.Version)), table.Put(it, table.Absent())}
		return p, nil
	})
}

// webhookPlan is a plan's outcome and event; the operations are the caller's.
func webhookPlan(kind string, s Scope, id rbac.WebhookID, before, after *table.Item) (*plan, error) {
	e, err := updated(kind, s.Org, &s.ID, events.Target{Type: "webhook", ID: id.String()}, before, after, showWebhook)
	return &plan{outcome: Outcome{Item: after, Revision: revision.OfScope(s.ID).String()}, event: e}, err
}

func showWebhook(it *table.Item) ([]byte, error) {
	e, err := stored.Decode[entity.Webhook](it)
	if err != nil {
		return nil, err
	}
	return shown(resource.OfWebhook(it, e))
}

// UpdateWebhook changes where a webhook is, what it is sent and how.
func (w *Writer) UpdateWebhook(ctx context.Context, req *Request, s Scope, id rbac.WebhookID, pre Precondition, edit func(*entity.Webhook) error) (Outcome, error) {
	return w.changeWebhook(ctx, req, s, id, pre, events.WebhookUpdated, edit)
}

// RotateWebhookSecret gives a webhook a new secret, sealed. The old one signs
// too for the overlap; one that was replaced before that does not any more.
func (w *Writer) RotateWebhookSecret(ctx context.Context, req *Request, s Scope, id rbac.WebhookID, sealed []byte, overlap time.Duration, pre Precondition) (Outcome, error) {
	return w.changeWebhook(ctx, req, s, id, pre, events.WebhookSecretRotated, func(hook *entity.Webhook) error {
		old := hook.Secret
		hook.Secret, hook.Previous, hook.PreviousEnd = sealed, nil, nil
		if overlap > 0 {
			hook.Previous, hook.PreviousEnd = old, new(req.Time.Add(overlap))
		}
		return nil
	})
}

// DisableWebhook stops what is sent to a webhook. One that is disabled stays so,
// for the reason it has.
func (w *Writer) DisableWebhook(ctx context.Context, req *Request, s Scope, id rbac.WebhookID, why entity.DisabledReason, pre Precondition) (Outcome, error) {
	return w.changeWebhook(ctx, req, s, id, pre, events.WebhookDisabled, func(hook *entity.Webhook) error {
		if hook.Disabled == "" {
			hook.Disabled = why
		}
		return nil
	})
}

// EnableWebhook lets a webhook be sent events again, and forgets how its
// receiver failed.
func (w *Writer) EnableWebhook(ctx context.Context, req *Request, s Scope, id rbac.WebhookID, pre Precondition) (Outcome, error) {
	return w.changeWebhook(ctx, req, s, id, pre, events.WebhookEnabled, func(hook *entity.Webhook) error {
		hook.Disabled = ""
		return nil
	})
}

func (w *Writer) changeWebhook(ctx context.Context, req *Request, s Scope, id rbac.WebhookID, pre Precondition, kind string, edit func(*entity.Webhook) error) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		hook, it, err := w.readWebhook(ctx, s, id, pre)
		if err != nil {
			return nil, err
		}
		if err := edit(&hook); err != nil {
			return nil, err
		}
		after, err := req.body(it.Key, "Webhook", it.Version+1, it, hook)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(after.Body, it.Body) {
			return &plan{outcome: Outcome{Item: it, Unchanged: true, Revision: revision.OfScope(s.ID).String()}}, nil
		}
		p, err := webhookPlan(kind, s, id, it, after)
		if err != nil {
			return nil, err
		}
		p.ops = []table.Op{table.Put(after, table.VersionIs(it.Version))}
		if kind == events.WebhookEnabled {
			p.ops = append(p.ops, table.Delete(keys.WebhookState(s.ID, id).Raw(), table.Any()))
		}
		return p, nil
	})
}

// DeleteWebhook removes a webhook. What is on its way to it is cancelled.
func (w *Writer) DeleteWebhook(ctx context.Context, req *Request, s Scope, id rbac.WebhookID, pre Precondition) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		scope, scopeItem, _, err := w.readScope(ctx, s)
		if err != nil {
			return nil, err
		}
		_, it, err := w.readWebhook(ctx, s, id, pre)
		if err != nil {
			return nil, err
		}
		scope.Webhooks--
		counted, err := req.body(scopeItem.Key, "Scope", scopeItem.Version+1, scopeItem, scope)
		if err != nil {
			return nil, err
		}
		p, err := webhookPlan(events.WebhookDeleted, s, id, it, nil)
		if err != nil {
			return nil, err
		}
		p.ops = []table.Op{
			table.Put(counted, table.VersionIs(scopeItem.Version)),
			table.Delete(it.Key, table.VersionIs(it.Version)),
			table.Delete(keys.WebhookState(s.ID, id).Raw(), table.Any()),
		}
		return p, nil
	})
}

// TestWebhook announces that a test delivery is asked for: its event is the
// delivery. Nothing changes.
func (w *Writer) TestWebhook(ctx context.Context, req *Request, s Scope, id rbac.WebhookID) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		_, it, err := w.readWebhook(ctx, s, id, nil)
		if err != nil {
			return nil, err
		}
		return webhookPlan(events.WebhookTest, s, id, nil, it)
	})
}

func (w *Writer) readWebhook(ctx context.Context, s Scope, id rbac.WebhookID, pre Precondition) (entity.Webhook, *table.Item, error) {
	hook, it, err := stored.Get(ctx, w.Table, keys.Webhook(s.Org, s.ID, id), table.Strong)
	switch {
	case err != nil:
		return hook, nil, err
	case it == nil:
		return hook, nil, ErrNoWebhook
	}
	return hook, it, pre.test(true, it.Version)
}
